"""JSON records: one a line, the elements of an array, or values in a row; never a whole file at once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO, TypeVar

from seal_ir.errors import InputError
from seal_ir.formats.io.files import BOM, id_fault, iter_lines, open_text, shown
from seal_ir.formats.io.inputs import open_bytes, rereadable

Value = TypeVar("Value")
_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()
_WINDOW = 1 << 20
_CUT = 16  # no JSON token but a string is longer; an error nearer to the end of the window may be its cut


class Malformed(NamedTuple):
    """A record that cannot be used, and why."""

    reason: str


def sound(value: Value | Malformed, path: Path, line: int) -> Value:
    """The value itself.

    Raises:
        InputError: it is malformed; says where and why.
    """
    if isinstance(value, Malformed):
        raise InputError(f"{path}:{line}: {value.reason}")
    return value


def parse_object(text: str) -> dict[str, object] | Malformed:
    """The JSON object that the text holds."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Malformed(f"not JSON ({_told(error)}), seen {shown(text)}; write one JSON object a line")
    return as_object(value)


def as_object(value: object) -> dict[str, object] | Malformed:
    """The value if it is a JSON object."""
    if isinstance(value, dict):
        return value
    return Malformed(f"a JSON object is needed, seen {shown(value)}; write one JSON object a record")


def identifier(record: dict[str, object], names: tuple[str, ...]) -> str | None | Malformed:
    """The id under the first of the names that is there, as a string; None when none is.

    A JSON integer is taken by its decimal digits; every other string stays as it is, byte for byte.
    """
    name = next((name for name in names if name in record), None)
    if name is None:
        return None
    value = record[name]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        return Malformed(f'"{name}" is {shown(value)}; it must be a string')
    fault = id_fault(value)
    return Malformed(f'"{name}" {fault}') if fault else value


def first_mark(path: Path) -> str:
    """The first character of a file that is not white space; `""` when there is none."""
    with open_bytes(path) as stream:
        while head := stream.read(1 << 12):
            text = head.removeprefix(BOM).lstrip()
            if text:
                return chr(text[0])
    return ""


def iter_values(path: Path) -> Iterator[tuple[int, object]]:
    """`iter_texts` without the texts."""
    return ((line, value) for line, value, _ in iter_texts(path))


def iter_texts(path: Path) -> Iterator[tuple[int, object, str]]:
    """Line numbers, JSON values and their texts, of a file that is one array or values one after another.

    Reads a window that grows to the largest value, so memory does not depend on the file's size.

    Raises:
        InputError: the file breaks JSON's syntax; what follows the fault cannot be trusted.
    """
    path = rereadable(path)  # a fault is looked for again
    with open_text(path) as stream:
        scanner = _Scanner(path, stream)
        if scanner.peek() != "[":
            while scanner.peek():
                yield (scanner.line, *scanner.value())
            return
        scanner.skip("[")
        if scanner.peek() != "]":
            yield (scanner.line, *scanner.value())
            while scanner.peek() == ",":
                scanner.skip(",")
                scanner.peek()
                yield (scanner.line, *scanner.value())
        scanner.skip("]")
        if scanner.peek():
            raise scanner.fault("text after the array's end")


class _Scanner:
    """A window over a text stream, with the line number of where it stands."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        self._path, self._stream = path, stream
        self._text, self._at = "", 0
        self.line = 1

    def peek(self) -> str:
        """The next character that is not white space; `""` at the end of the file."""
        while True:
            blank = _SPACE.match(self._text, self._at)
            self._move(blank.end() if blank else self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def skip(self, mark: str) -> None:
        """Steps over one expected character."""
        seen = self.peek()
        if seen != mark:
            raise self.fault(f"{shown(mark)} expected, seen {shown(seen)}")
        self._move(self._at + 1)

    def value(self) -> tuple[object, str]:
        """The JSON value that starts here, and its text."""
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                cut = error.pos >= len(self._text) - _CUT or error.msg.startswith("Unterminated")
                if cut and self._grow():
                    continue
                raise self.fault(_told(error)) from error
            except (ValueError, RecursionError) as error:
                raise self.fault(_told(error)) from error
            # A number at the very end of the window may go on behind it.
            if end == len(self._text) and not isinstance(value, dict | list) and self._grow():
                continue
            text = self._text[self._at : end]
            self._move(end)
            return value, text

    def fault(self, what: str) -> InputError:
        """The error for a fault in the value that starts here."""
        return InputError(
            f"{self._path}:{self.line}: not JSON ({what}); the file must be one array or objects"
        )

    def _move(self, at: int) -> None:
        self.line += self._text.count("\n", self._at, at)
        self._at = at

    def _grow(self) -> bool:
        """Whether more text came; the window doubles, so that a long value is scanned few times."""
        try:
            more = self._stream.read(max(_WINDOW, len(self._text) - self._at))
        except UnicodeDecodeError:
            for _ in iter_lines(self._path):  # names the line
                pass
            raise
        self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)


def _told(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return error.msg
    if isinstance(error, RecursionError):
        return "nested too deeply"
    # The only other fault: Python's limit on the digits of an integer, which keeps reading fast.
    return "an integer with thousands of digits; put it in quotes"
