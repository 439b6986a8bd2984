"""JSON and TOML: read with one kind of error, whatever is in them, and written in one way.

What is no number, for which JSON has no word, is written as null or is an error.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seal_ir.errors import one_line

_LONGEST = 300  # characters of a parser's message
_BYTES = re.compile("[\udc80-\udcff]+")  # how Python holds bytes of names that its locale cannot read
_HALVES = re.compile("[\ud800-\udfff]")


def load_json(path: Path) -> Any:
    """The value in a file of JSON.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no JSON in UTF-8, or is nested deeper than any that is meant; says in a line which.
    """
    return _parsed(json.loads, path.read_text(encoding="utf-8"))


def load_toml(path: Path) -> dict[str, Any]:
    """The tables in a file of TOML.

    Raises:
        OSError, ValueError: as `load_json`.
    """
    return parse_toml(path.read_text(encoding="utf-8"))


def parse_toml(text: str) -> dict[str, Any]:
    """The tables in a text of TOML.

    Raises:
        ValueError: it is none, or is nested deeper than any that is meant; says in a line which.
    """
    tables: dict[str, Any] = _parsed(tomllib.loads, text)
    return tables


def _parsed(parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        if type(error) is ValueError:  # Python's limit, in words for programmers
            raise ValueError("a number has thousands of digits") from error
        told = one_line(error)  # names of TOML may be of any length
        if len(told) > _LONGEST:
            raise ValueError(f"{told[:_LONGEST]}...") from error
        raise


def json_file(value: Any, **options: Any) -> str:
    """The text of a JSON file: indented by two, in UTF-8, with a line feed at the end.

    Names of files are the same in every locale: what they have in UTF-8 stands as such, other bytes as JSON's
    escapes, which are read back as Python holds them.

    Args:
        value: of JSON's types, tuples included.
        **options: as `json_line` takes them.
    """
    text = f"{_json(value, indent=2, **options)}\n"
    text = _BYTES.sub(
        lambda found: found[0].encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape"), text
    )
    return _escaped(text)


def json_line(value: Any, **options: Any) -> str:
    """JSON in one line, unless it is indented, that UTF-8 can write, whatever a record from elsewhere holds.

    NaN and the infinities are written as null, half a surrogate pair as JSON's escape.

    Args:
        value: of JSON's types, tuples included.
        **options: as `exact_json` takes them.

    Raises:
        TypeError: a value of another type, without `default`.
    """
    return _escaped(_json(value, **options))


def _escaped(text: str) -> str:
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _json(value: Any, **options: Any) -> str:
    try:
        return exact_json(value, **options)
    except ValueError:
        return exact_json(_without_odd(value), **options)


def exact_json(
    value: Any,
    *,
    indent: int | None = None,
    compact: bool = False,
    ascii_only: bool = False,
    sort_keys: bool = False,
    default: Callable[[Any], Any] | None = None,
) -> str:
    """`json_line` for what must be read back as it was.

    Args:
        value: of JSON's types, tuples included.
        indent: blanks a level.
        compact: whether no blank follows a comma or a colon.
        ascii_only: whether other characters are escaped.
        sort_keys: whether objects are written in the order of their keys.
        default: what to write for a value of another type.

    Raises:
        TypeError: a value of another type, without `default`.
        ValueError: a float is no finite number.
    """
    return json.dumps(
        value,
        indent=indent,
        separators=(",", ":") if compact else None,
        ensure_ascii=ascii_only,
        sort_keys=sort_keys,
        default=default,
        allow_nan=False,
    )


def _without_odd(value: Any) -> Any:
    """The value with None for every float that is no finite number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_odd(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd(item) for item in value]
    return value
