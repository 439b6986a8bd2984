"""Topics as an object from ids to questions: Pyserini's `{"1": {"title": "..."}}`, or `{"1": "..."}`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import id_fault, shown
from seal_ir.formats.io.json_records import ID_KEYS, TEXT_KEYS, JsonRecord
from seal_ir.formats.io.jsonlines import Malformed, as_object, iter_texts


def is_keyed(record: JsonRecord) -> bool:
    """Whether an object's keys are topic ids: its values are objects with a question, or all are strings.

    A record of a topic, with a string under one of the usual names, is none.
    """
    usual = any(isinstance(record.get(name), str) for name in (*ID_KEYS, *TEXT_KEYS))
    values = list(record.values())
    return bool(values) and not usual and (all(map(_asks, values)) or _is_plain(values))


def read_keyed(path: Path) -> Iterator[tuple[int, str, JsonRecord]]:
    """Line numbers of the objects, topic ids, and records; a plain string becomes a record's question.

    Raises:
        InputError: the file cannot be read, breaks JSON's syntax, or an object is not as above or has a key
            twice; or there are several objects of plain strings, which cannot be told from records.
    """
    for number, (line, value, text) in enumerate(iter_texts(path)):
        record = as_object(value)
        fault = record.reason if isinstance(record, Malformed) else _fault(record, text)
        if isinstance(record, dict) and not fault and number and _is_plain(list(record.values())):
            fault = f"no question (its keys: {shown(', '.join(record))}); write it under {TEXT_KEYS[0]!r}"
        if fault or isinstance(record, Malformed):
            raise InputError(f"{path}:{line}: {fault}")
        for qid, asked in record.items():
            yield line, qid, asked if isinstance(asked, dict) else {TEXT_KEYS[0]: asked}


def _fault(record: JsonRecord, text: str) -> str:
    """What is wrong with an object of topics, "" for nothing."""
    if not is_keyed(record):
        return f"no object from ids to questions (its keys: {shown(', '.join(record))})"
    for qid in record:
        fault = id_fault(qid)
        if fault:
            return f"the topic id {fault}"
    try:
        json.loads(text, object_pairs_hook=_unique)
    except ValueError as error:
        return f"{error}; make ids unique"
    return ""


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object; JSON's usual reading keeps the last of equal keys without a word."""
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"key {shown(name)} comes twice")
        found[name] = value
    return found


def _asks(value: object) -> bool:
    return isinstance(value, dict) and any(name in value for name in TEXT_KEYS)


def _is_plain(values: list[object]) -> bool:
    return all(isinstance(value, str) for value in values)
