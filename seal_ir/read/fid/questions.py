"""Questions to train a reader on: each with its answers and with the passages that a run gives it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.runs.trec import read_run, trec_order
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index
from seal_ir.read.records import Context


@dataclass(frozen=True, slots=True)
class FitQuestion:
    """One question.

    Attributes:
        text: as it was written.
        passages: numbers of documents, best first; at least one.
        answers: any of them is right; at least one.
    """

    text: str
    passages: tuple[int, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FitSources:
    """Where questions come from.

    Attributes:
        run: of the topics, in TREC's format.
        topics: questions by id.
        answers: answers by the same ids.
    """

    run: Path
    topics: Path
    answers: Path


def read_fit_questions(sources: FitSources, index: Index, n_contexts: int) -> list[FitQuestion]:
    """Questions with answers and passages, in the order of the topics; how many have neither goes to stderr.

    Args:
        sources: the files.
        index: that of the run's collection.
        n_contexts: passages of a question at most.

    Raises:
        InputError: a file cannot be read, the run is empty or of other topics, or no question is left.
    """
    queries = read_topics(sources.topics)
    answers = read_answers(sources.answers)
    run = read_run(sources.run)
    if not run:
        raise InputError(f"{sources.run}: the run is empty; a reader is trained on passages")
    for path, known in ((sources.run, run.keys()), (sources.answers, answers.keys())):
        if not any(query.id in known for query in queries):
            raise InputError(f"{path}: none of its topics are in {sources.topics}; the ids must be equal")
    found: list[FitQuestion] = []
    n_unanswered = n_without = n_absent = 0
    for query in queries:
        given = tuple(dict.fromkeys(text for answer in answers.get(query.id, ()) if (text := answer.strip())))
        ranking = trec_order(run.get(query.id, ()))[:n_contexts]
        numbers = [index.number(docid) for docid, _ in ranking]
        passages = tuple(number for number in numbers if number is not None)
        n_absent += len(numbers) - len(passages)
        n_unanswered += not given
        n_without += bool(given) and not passages
        if given and passages:
            found.append(FitQuestion(query.text, passages, given))
    left_out = (
        f"{n_unanswered:,} without answers, {n_without:,} without passages;"
        f" passages that are not in the index: {n_absent:,}"
    )
    if not found:
        raise InputError(
            f"no question is left: {left_out}; {index.directory} must be the index of the run's collection"
        )
    sys.stderr.write(f"questions: {len(found):,}; left out: {left_out}\n")
    return found


def contexts_of(index: Index, passages: tuple[int, ...]) -> list[Context]:
    """Documents as a reader takes them."""
    return [Context(document.id, document.title, document.text) for document in index.documents(passages)]
