"""Fields of JSON records that an index stores to filter by: their names, types and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from seal_ir.errors import UsageError, shown
from seal_ir.formats.io.files import is_text
from seal_ir.formats.io.jsonlines import Malformed

STORED_TYPES = ("string", "int", "float", "bool")
_OWN = "id"  # predicates know it anyway
_INT64 = 1 << 63


class StoredField(NamedTuple):
    """A field to store, by its name in JSON records, and its type, one of `STORED_TYPES`."""

    name: str
    type: str


StoredFields = tuple[StoredField, ...]
StoredValue = str | int | float | bool


def stored_fields(given: Sequence[str]) -> StoredFields:
    """The fields of "NAME" or "NAME:TYPE" each; without a type it is a string.

    Raises:
        UsageError: a type is unknown, or a name empty, given twice, or "id".
    """
    found: dict[str, StoredField] = {}
    for text in given:
        name, colon, kind = text.rpartition(":")
        field = StoredField(name, kind) if colon else StoredField(text, STORED_TYPES[0])
        if field.type not in STORED_TYPES:
            raise UsageError(
                f"stored field {shown(text)}: unknown type {shown(kind)}; choose one of"
                f" {', '.join(STORED_TYPES)}, as in year:int"
            )
        if not field.name.strip() or field.name == _OWN:
            raise UsageError(
                f"stored field {shown(text)}: give a name other than {_OWN}, which is always there"
            )
        if field.name in found:
            raise UsageError(f"stored field {shown(field.name)} is named twice; name each once")
        found[field.name] = field
    return tuple(found.values())


def stored_values(
    record: Mapping[str, object], fields: StoredFields
) -> tuple[tuple[str, StoredValue], ...] | Malformed:
    """Names and values of a record's stored fields, those that are absent or null left out."""
    found: list[tuple[str, StoredValue]] = []
    for name, kind in fields:
        value = record.get(name)
        if value is None:
            continue
        known = _of_type(value, kind)
        if known is None:
            wanted = {"string": "a string", "int": "an integer of 64 bits", "float": "a number"}
            return Malformed(
                f'"{name}" is {shown(value)}; it is stored as {kind} and must be'
                f" {wanted.get(kind, 'true or false')}, or null"
            )
        found.append((name, known))
    return tuple(found)


def _of_type(value: object, kind: str) -> StoredValue | None:
    """The value as one of the type; None where it is none."""
    if kind == "string":
        return value if isinstance(value, str) and is_text(value) else None
    if isinstance(value, bool) or kind == "bool":
        return value if isinstance(value, bool) and kind == "bool" else None
    if kind == "int":
        return value if isinstance(value, int) and -_INT64 <= value < _INT64 else None
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # an integer beyond all floats
        return None
    return number if isfinite(number) else None
