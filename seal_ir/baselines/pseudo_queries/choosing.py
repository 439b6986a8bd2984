"""Which questions of a document are written, and what became of all."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from seal_ir.formats.topics.questions import question_words


@dataclass(slots=True)
class QuestionCounts:
    """What became of the questions.

    Attributes:
        documents: those written.
        with_questions: those of them with at least one.
        questions: all that were written.
        repeated: those that a document had already, by their words, and those without words.
        excluded: those that were left out, once for each document.
        excluded_words: their distinct words.
    """

    documents: int = 0
    with_questions: int = 0
    questions: int = 0
    repeated: int = 0
    excluded: int = 0
    excluded_words: set[str] = field(default_factory=set)


def kept(questions: Iterable[str], excluded: frozenset[str], counts: QuestionCounts) -> list[str]:
    """The questions of one document that are written: each once, none that is excluded; all are counted."""
    chosen: dict[str, str] = {}
    for question in questions:
        words = question_words(question)
        if words in excluded:
            counts.excluded += 1
            counts.excluded_words.add(words)
        elif not words or words in chosen:
            counts.repeated += 1
        else:
            chosen[words] = " ".join(question.split())
    counts.documents += 1
    counts.with_questions += bool(chosen)
    counts.questions += len(chosen)
    return list(chosen.values())
