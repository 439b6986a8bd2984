"""Questions for rank training: each with the documents that answer it, its answers, and hard negatives."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.json_records import answers_of, json_records, text_of
from seal_ir.formats.io.jsonlines import sound
from seal_ir.formats.runs.trec import read_run
from seal_ir.formats.topics.questions import (
    excluded_questions,
    judged_questions,
    paired_questions,
    question_words,
)
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index

_DEPTH = 20  # documents of a run that negatives are drawn from


@dataclass(frozen=True, slots=True)
class RankQuestion:
    """One question.

    Attributes:
        text: as it was written.
        positives: numbers of documents that answer it, ascending.
        answers: strings, one of which makes a document no negative; may be empty.
        negatives: numbers of documents to be told apart from the positives, best first; may be empty.
    """

    text: str
    positives: tuple[int, ...]
    answers: tuple[str, ...] = ()
    negatives: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionSources:
    """Where questions come from.

    Attributes:
        pairs: JSON lines `{"question", "positive_ids"}`.
        judged: topics and judgements.
        exclude: topics whose questions are left out.
        answers: JSON lines `{"question", "answers"}`.
        negatives: topics and a run for them.
    """

    pairs: Sequence[Path] = ()
    judged: Sequence[tuple[Path, Path]] = ()
    exclude: Sequence[Path] = ()
    answers: Sequence[Path] = ()
    negatives: Sequence[tuple[Path, Path]] = ()


def read_questions(sources: QuestionSources, index: Index) -> list[RankQuestion]:
    """The questions that have a document in the index, each once, in the order of the sources.

    Questions are equal whose words are (`question_words`). What is left out is told on stderr.

    Raises:
        InputError: a file cannot be read, or no question is left.
    """
    texts: dict[str, str] = {}
    positives: dict[str, set[int]] = {}
    excluded = excluded_questions(sources.exclude)
    left_out: set[str] = set()
    n_absent = 0
    for question, docid in _known(sources):
        words, number = question_words(question), index.number(docid)
        if words in excluded:
            left_out.add(words)
        elif number is None:
            n_absent += 1
        elif words:
            texts.setdefault(words, question)
            positives.setdefault(words, set()).add(number)
    if not positives:
        raise InputError(
            f"no question is left: {len(left_out)} are excluded, and {n_absent} passages are not in"
            f" {index.directory}; name the index of the collection that the questions were made for"
        )
    sys.stderr.write(
        f"questions: {len(positives):,}; excluded: {len(left_out):,};"
        f" passages that are not in the index: {n_absent:,}\n"
    )
    answers = _answers(sources.answers)
    negatives = _negatives(sources.negatives, index)
    return [
        RankQuestion(texts[words], tuple(sorted(found)), answers.get(words, ()), negatives.get(words, ()))
        for words, found in positives.items()
    ]


def _known(sources: QuestionSources) -> Iterable[tuple[str, str]]:
    for path in sources.pairs:
        yield from paired_questions(path)
    for topics, qrels in sources.judged:
        yield from judged_questions(topics, qrels)


def _answers(paths: Sequence[Path]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for path in paths:
        for line, _, record in json_records(path):
            words = question_words(sound(text_of(record), path, line))
            found[words] = tuple(
                dict.fromkeys([*found.get(words, ()), *sound(answers_of(record), path, line)])
            )
    return found


def _negatives(sources: Sequence[tuple[Path, Path]], index: Index) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for topics, run in sources:
        rankings = read_run(run)
        queries = {query.id: query.text for query in read_topics(topics)}
        if not any(qid in queries for qid in rankings):
            raise InputError(f"{run}: none of its topics are in {topics}; the ids must be equal")
        for qid, ranking in rankings.items():
            numbers = [index.number(docid) for docid, _ in ranking[:_DEPTH]]
            if qid in queries:
                found[question_words(queries[qid])] = tuple(n for n in numbers if n is not None)
    return found
