"""Conditions on stored fields as text, for commands: `FIELD OP VALUE`, joined by `and`."""

from __future__ import annotations

import operator
import shlex
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import pyarrow.compute as pc

from seal_ir.errors import UsageError, shown
from seal_ir.formats.collections.stored import STORED_TYPES, StoredValue

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)
_AND = "and"
FORM = "FIELD OP VALUE, joined by 'and', such as 'year >= 2000 and lang == en'"


def is_condition(text: str) -> bool:
    """Whether a text looks like a condition, and not like a file's name."""
    return any(word in _OPERATORS for word in text.split())


def condition(text: str, types: Mapping[str, str]) -> pc.Expression:
    """The condition that a text says.

    Words are separated by white space, and quoted where they hold some, as in a shell.

    Args:
        text: see `FORM`; operators are ==, !=, <, <=, > and >=.
        types: of the fields that there are, by name; `id` is a string and always there.

    Raises:
        UsageError: the text has another form, names an unknown field, or compares with another type.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:  # a quote that is not closed
        raise UsageError(f"condition {shown(text)}: {error}; write {FORM}") from error
    parts = [_comparison(words[at : at + 3], text, types) for at in range(0, len(words), 4)]
    if not parts or len(words) % 4 != 3 or any(word != _AND for word in words[3::4]):
        raise UsageError(f"condition {shown(text)}: write {FORM}")
    return reduce(operator.and_, parts)


def _comparison(words: list[str], text: str, types: Mapping[str, str]) -> pc.Expression:
    if len(words) < 3 or words[1] not in _OPERATORS:
        raise UsageError(f"condition {shown(text)}: write {FORM}; OP is one of {', '.join(_OPERATORS)}")
    name, symbol, value = words
    known = {"id": STORED_TYPES[0], **types}
    if name not in known:
        raise UsageError(
            f"condition {shown(text)}: no stored field {shown(name)}; there are"
            f" {', '.join(known)} (--store, when indexing, adds others)"
        )
    return _OPERATORS[symbol](pc.field(name), _value(value, known[name], name, text))


def _value(word: str, kind: str, name: str, text: str) -> StoredValue:
    try:
        if kind == "int":
            return int(word)
        if kind == "float":
            return float(word)
    except ValueError as error:
        raise UsageError(
            f"condition {shown(text)}: {name} is stored as {kind}, and {shown(word)} is none"
        ) from error
    if kind == "bool":
        if word not in ("true", "false"):
            raise UsageError(f"condition {shown(text)}: {name} is true or false, and not {shown(word)}")
        return word == "true"
    return word
