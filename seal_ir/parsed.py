"""Whole files of JSON and TOML, whatever is in them: what cannot be parsed is one kind of error."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seal_ir.errors import one_line

_LONGEST = 300  # characters of a parser's message


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
