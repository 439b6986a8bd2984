"""Records that belong to a topic: their ids, what they ask, what answers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from seal_ir.errors import InputError
from seal_ir.formats.files import iter_lines, shown
from seal_ir.formats.jsonlines import Malformed, as_object, identifier, is_text, iter_values, parse_object

ID_KEYS = ("id", "qid", "_id")
TEXT_KEYS = ("question", "title", "text", "input", "query")
ANSWER_KEYS = ("answers", "answer")

JsonRecord = dict[str, object]
Value = TypeVar("Value")


def json_records(path: Path) -> Iterator[tuple[int, str, JsonRecord]]:
    """Line numbers, topic ids and objects of a file of JSON lines.

    Where no record has an id, as in Anserini's DPR files, the id is the line number from 0.

    Raises:
        InputError: a line is not a JSON object, its id cannot be used, or only some records have one.
    """
    lines = ((number, line) for number, line in iter_lines(path) if line and not line.isspace())
    return _identified(path, ((number, number - 1, parse_object(line)) for number, line in lines))


def array_records(path: Path) -> Iterator[tuple[int, str, JsonRecord]]:
    """The same of a file that is one JSON array; ids that are not there are positions from 0.

    Raises:
        InputError: as `json_records`, or the file breaks JSON's syntax.
    """
    values = enumerate(iter_values(path))
    return _identified(path, ((line, position, as_object(value)) for position, (line, value) in values))


def _identified(
    path: Path, records: Iterable[tuple[int, int, JsonRecord | Malformed]]
) -> Iterator[tuple[int, str, JsonRecord]]:
    numbered: bool | None = None
    for line, position, record in records:
        if isinstance(record, Malformed):
            raise InputError(f"{path}:{line}: {record.reason}")
        qid = identifier(record, ID_KEYS)
        if isinstance(qid, Malformed):
            raise InputError(f"{path}:{line}: {qid.reason}")
        if numbered not in (None, qid is None):
            raise InputError(
                f"{path}:{line}: some records have an id and some have none; give all of them one"
            )
        numbered = qid is None
        yield line, str(position) if qid is None else qid, record


def by_topic(path: Path, records: Iterable[tuple[int, str, Value]]) -> dict[str, Value]:
    """Values by topic id, in the order of the records of line number, topic id and value.

    Raises:
        InputError: a topic comes twice.
    """
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for number, qid, value in records:
        if qid in lines:
            raise InputError(
                f"{path}:{number}: topic {shown(qid)} comes twice, first at {path}:{lines[qid]};"
                " make ids unique"
            )
        lines[qid], values[qid] = number, value
    return values


def text_of(record: JsonRecord) -> str | Malformed:
    """What a record asks, under the first of `TEXT_KEYS` that it has."""
    name = next((name for name in TEXT_KEYS if name in record), None)
    if name is None:
        keys = ", ".join(record)
        return Malformed(f'no question (its keys: {shown(keys)}); write it under "{TEXT_KEYS[0]}"')
    text = record[name]
    if not isinstance(text, str) or not is_text(text):
        return Malformed(f'"{name}" is {shown(text)}; it must be a string')
    return text


def answers_of(record: JsonRecord) -> list[str] | Malformed:
    """The strings under "answers", or "answer" as in the files of NQ-open."""
    name = next((name for name in ANSWER_KEYS if name in record), None)
    value = record[name] if name else None
    if not isinstance(value, list):
        seen = f'"{name}" is {shown(value)}' if name else 'no "answers"'
        return Malformed(f"{seen}; it must be a list of strings")
    odd = next((item for item in value if not isinstance(item, str) or not is_text(item)), None)
    strings = [item for item in value if isinstance(item, str) and is_text(item)]
    if len(strings) != len(value):
        return Malformed(f"answer {shown(odd)} is not a string; put it in quotes")
    return strings
