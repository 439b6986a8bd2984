"""Answers that a system wrote, by topic: JSON lines `{"qid", "answer"}`, or KILT's datapoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seal_ir.formats.io.files import by_topic, first_line, is_text, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import JsonRecord, json_records
from seal_ir.formats.io.jsonlines import Malformed, parse_object, sound
from seal_ir.formats.kilt import read_guessed_answers


def read_predictions(path: Path) -> dict[str, str]:
    """The answer of each topic, in file order; KILT's datapoints without one are left out.

    Raises:
        InputError: the file cannot be read, a record has no answer or one that is no string, a datapoint has
            not exactly one output, or a topic comes twice; says on which line and of which topic.
    """
    path = rereadable(path)
    if "output" in _first_record(path):
        return read_guessed_answers(path)
    return by_topic(path, _records(path))


def has_predictions(path: Path) -> bool:
    """Whether a file holds answers and no ranking: its first line is an object with an answer of its own.

    Raises:
        InputError: the file cannot be read.
    """
    first = _first_record(path)
    return "answer" in first and "output" not in first


def brings_answers(path: Path) -> bool:
    """Whether a file holds answers that a system wrote: nothing else, or in KILT's datapoints.

    Raises:
        InputError: the file cannot be read, or a datapoint breaks its format.
    """
    path = rereadable(path)
    return has_predictions(path) or ("output" in _first_record(path) and bool(read_guessed_answers(path)))


def _first_record(path: Path) -> JsonRecord:
    """The object on the first line; an empty one where there is none."""
    first = first_line(path)
    record = parse_object(first) if first.lstrip().startswith("{") else None
    return record if isinstance(record, dict) else {}


def _records(path: Path) -> Iterator[tuple[int, str, str]]:
    for number, qid, record in json_records(path):
        yield number, qid, sound(_answer(qid, record), path, number)


def _answer(qid: str, record: JsonRecord) -> str | Malformed:
    answer = record.get("answer")
    if isinstance(answer, str) and is_text(answer):
        return answer
    seen = f'"answer" is {shown(answer)}' if "answer" in record else 'no "answer"'
    return Malformed(f"topic {shown(qid)}: {seen}; it must be a string")
