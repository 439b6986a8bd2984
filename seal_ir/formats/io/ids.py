"""Ids: which of them a run file can carry, and values by the topics that they belong to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from seal_ir.errors import InputError
from seal_ir.formats.io.files import BOM_TEXT, shown

Value = TypeVar("Value")


def id_fault(value: str) -> str:
    """What is wrong with an id, as the end of a sentence; `""` when it can be written to a run."""
    if not value:
        return "is empty; every record needs an id"
    if BOM_TEXT in value:
        return f"has a byte order mark (seen {shown(value)}), as where files were put together; remove it"
    if value.split() != [value]:
        return f"has white space (seen {shown(value)}); a run file cannot carry it, choose another id"
    return "" if is_text(value) else f"has half a surrogate pair (seen {shown(value)}); mend the \\u escape"


def is_text(value: str) -> bool:
    """Whether the string can be written as UTF-8: JSON escapes may hide half a surrogate pair."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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
