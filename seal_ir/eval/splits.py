"""A table's figures over parts of its topics, from the values that it has already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from seal_ir.convert.overlap import overlap_splits, read_overlap
from seal_ir.errors import InputError
from seal_ir.eval.measures import aggregate
from seal_ir.eval.questions import Questions
from seal_ir.eval.tables import Result, Table
from seal_ir.formats.io.files import shown

Value = TypeVar("Value")


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
    results: list[Result] = []
    for result in table.results:
        values = {
            name: {qid: value for qid, value in found.items() if qid in qids}
            for name, found in result.values.items()
        }
        if not all(values.values()):
            return None
        figures = {column.name: aggregate(column, values[column.name].values()) for column in table.columns}
        results.append(replace(result, figures=figures, values=values))
    return replace(table, questions=_some(table.questions, label, qids), results=tuple(results))


def _some(questions: Questions, label: str, qids: Collection[str]) -> Questions:
    topics = [qid for qid in questions.topics if qid in qids]
    return Questions(
        label, topics, _of(questions.answers, qids), _of(questions.qrels, qids), _of(questions.evidence, qids)
    )


def _of(values: Mapping[str, Value] | None, qids: Collection[str]) -> dict[str, Value] | None:
    return None if values is None else {qid: value for qid, value in values.items() if qid in qids}
