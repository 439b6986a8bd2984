"""Questions to train a reader on: each with its answers and with the passages that a run gives it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics
from seal_ir.read.contexts import Passages, check_passages, read_heads


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """One question.

    Attributes:
        text: as it was written.
        passages: ids of documents, best first; at least one.
        answers: any of them is right; at least one.
    """

    text: str
    passages: tuple[str, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FitSources:
    """Where questions come from.

    Attributes:
        run: of the topics, in TREC's format or KILT's.
        topics: questions by id.
        answers: answers by the same ids.
    """

    run: Path
    topics: Path
    answers: Path


def read_fit_questions(sources: FitSources, passages: Passages, n_contexts: int) -> list[FitQuestion]:
    """Questions with answers and passages, in the order of the topics; how many have neither goes to stderr.

    Args:
        sources: the files.
        passages: where those of the run are.
        n_contexts: passages of a question at most.

    Raises:
        InputError: a file cannot be read; the run is empty, of other topics or of other passages; or no
            question is left.
    """
    queries = read_topics(sources.topics)
    answers = read_answers(sources.answers)
    heads = read_heads(sources.run, queries, n_contexts)
    check_passages(sources.run, heads, passages)
    found: list[FitQuestion] = []
    n_unanswered = n_without = 0
    for query in queries:
        given = tuple(dict.fromkeys(text for answer in answers.get(query.id, ()) if (text := answer.strip())))
        n_unanswered += not given
        n_without += bool(given) and not heads[query.id]
        if given and heads[query.id]:
            found.append(FitQuestion(query.text, tuple(heads[query.id]), given))
    left_out = f"{n_unanswered:,} without answers, {n_without:,} without passages"
    if not found:
        raise InputError(
            f"{sources.answers}: no question is left: {left_out}; ids must be those of {sources.topics}"
        )
    sys.stderr.write(f"questions: {len(found):,}; left out: {left_out}\n")
    return found
