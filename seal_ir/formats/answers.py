"""Gold answers by topic: JSON lines `{"qid", "answers"}`, or a topics file in Anserini's NQ format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.files import shown
from seal_ir.formats.jsonlines import is_text
from seal_ir.formats.nq import read_nq
from seal_ir.formats.topics import by_topic, detect_format, numbered_records


def read_answers(path: Path) -> dict[str, list[str]]:
    """Answers of each topic, in file order; an answer may be a regular expression and is kept as it is.

    Raises:
        InputError: the file cannot be read, holds no answers, breaks its format, or has a topic twice.
    """
    path = Path(path)
    name = detect_format(path)
    if name == "tsv":
        raise InputError(
            f'{path}:1: topics without answers; name a file of JSON lines with "qid" and "answers"'
        )
    return by_topic(path, _read_jsonl(path) if name == "jsonl" else _read_nq(path))


def _read_nq(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    for record in read_nq(path):
        yield record.line, record.qid, record.answers


def _read_jsonl(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    for number, qid, record in numbered_records(path):
        value = record.get("answers")
        if not isinstance(value, list):
            seen = f'"answers" is {shown(value)}' if "answers" in record else 'no "answers"'
            raise InputError(f"{path}:{number}: {seen}; it must be a list of strings")
        strings = [item for item in value if isinstance(item, str) and is_text(item)]
        if len(strings) != len(value):
            odd = next(item for item in value if item not in strings)
            raise InputError(f"{path}:{number}: answer {shown(odd)} is not a string; put it in quotes")
        yield number, qid, strings
