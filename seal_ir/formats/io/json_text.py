"""The one way in which JSON is written: what is no number becomes null, since JSON has no word for it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any


def json_file(value: Any, **options: Any) -> str:
    """The text of a JSON file: indented by two, in UTF-8, with a line feed at the end.

    Args:
        value: of JSON's types, tuples included.
        **options: as `json_line` takes them.
    """
    return f"{json_line(value, indent=2, **options)}\n"


def json_line(
    value: Any,
    *,
    indent: int | None = None,
    ascii_only: bool = False,
    sort_keys: bool = False,
    default: Callable[[Any], Any] | None = None,
) -> str:
    """JSON in one line, unless it is indented.

    Args:
        value: of JSON's types, tuples included. NaN and the infinities are written as null.
        indent: blanks a level.
        ascii_only: whether other characters are escaped.
        sort_keys: whether objects are written in the order of their keys.
        default: what to write for a value of another type.

    Raises:
        TypeError: a value of another type, without `default`.
    """

    def text(sound: Any) -> str:
        return json.dumps(
            sound,
            indent=indent,
            ensure_ascii=ascii_only,
            sort_keys=sort_keys,
            default=default,
            allow_nan=False,
        )

    try:
        return text(value)
    except ValueError:
        return text(_without_odd(value))


def _without_odd(value: Any) -> Any:
    """The value with None for every float that is no finite number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_odd(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_odd(item) for item in value]
    return value
