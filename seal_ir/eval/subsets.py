"""A table's figures over some of its topics only, from the values that it has already."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from seal_ir.convert.overlap import overlap_splits, read_overlap
from seal_ir.errors import InputError, UsageError
from seal_ir.eval.measures import Column, aggregate
from seal_ir.eval.questions import Questions
from seal_ir.eval.tables import ALL, IN_RUN, JUDGED, Result, Table
from seal_ir.formats.io.files import shown

AVERAGES = (ALL, JUDGED, IN_RUN)
Value = TypeVar("Value")


def averaged(table: Table, over: str) -> Table:
    """The table of all topics with its figures over some of them only.

    Args:
        table: as `evaluate` makes it.
        over: ALL changes nothing. JUDGED leaves out topics without answers (other measures are over judged
            topics as they are). IN_RUN leaves out, besides, each run's topics without results, as trec_eval
            does without `-c`; runs may then have different topics.

    Raises:
        UsageError: no topic is left for a measure.
    """
    if over == ALL:
        return table
    questions = table.questions

    def counts(result: Result, column: Column, qid: str) -> bool:
        answered = (questions.golds if column.written else questions.answers) or {}
        return (column.judged or qid in answered) and (over == JUDGED or qid in result.in_run)

    results: list[Result] = []
    for result in table.results:
        narrowed, empty = _narrowed(result, table, counts)
        if empty:
            raise UsageError(
                f"{empty}: {result.system} has results for no topic that it could be averaged over; leave out"
                f" the run, or --average {over}"
            )
        results.append(narrowed)
    return replace(table, results=tuple(results), average=over)


def with_overlap(table: Table, path: Path) -> Table:
    """The table with a part for each label of the annotations, such as `question overlap`.

    A part without topics, or without any that a measure is over, is left out.

    Raises:
        InputError: the annotations cannot be read, or are of none of the topics.
    """
    annotations = read_overlap(path)
    topics = table.questions.topics
    if not any(qid in annotations for qid in topics):
        seen = f"these like {shown(next(iter(annotations)))}" if annotations else "the file is blank"
        raise InputError(
            f"{path}: 0 of {len(topics)} topics have annotations here (the topics are like"
            f" {shown(topics[0])}, {seen}); the ids must be equal"
        )
    splits = overlap_splits(annotations, topics)
    parts = (part_of(table, label.replace("_", " "), set(qids)) for label, qids in splits.items())
    return replace(table, parts=tuple(part for part in parts if part is not None))


def part_of(table: Table, label: str, qids: Collection[str]) -> Table | None:
    """The table over some of its topics; None where a measure is over none of them."""
    found = [_narrowed(result, table, lambda _, __, qid: qid in qids) for result in table.results]
    if any(empty for _, empty in found):
        return None
    results = tuple(result for result, _ in found)
    return replace(table, questions=_some(table.questions, label, qids), results=results)


def _narrowed(
    result: Result, table: Table, counts: Callable[[Result, Column, str], bool]
) -> tuple[Result, str]:
    """A result over the topics that count for each measure; and the first measure that has none, or ""."""
    values = {
        column.name: {qid: v for qid, v in result.values[column.name].items() if counts(result, column, qid)}
        for column in table.columns
    }
    empty = next((name for name, found in values.items() if not found), "")
    if empty:
        return result, empty
    figures = {column.name: aggregate(column, values[column.name].values()) for column in table.columns}
    return replace(result, figures=figures, values=values), ""


def _some(questions: Questions, label: str, qids: Collection[str]) -> Questions:
    topics = [qid for qid in questions.topics if qid in qids]
    return Questions(
        label,
        topics,
        answers=_of(questions.answers, qids),
        qrels=_of(questions.qrels, qids),
        evidence=_of(questions.evidence, qids),
        golds=_of(questions.golds, qids),
    )


def _of(values: Mapping[str, Value] | None, qids: Collection[str]) -> dict[str, Value] | None:
    return None if values is None else {qid: value for qid, value in values.items() if qid in qids}
