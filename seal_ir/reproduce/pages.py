"""Putting a table into a Markdown page, between two comments that stay where they are."""

from __future__ import annotations

from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import atomic_writer

_END = "<!-- end of table -->"


def read_page(path: Path, table: str) -> str:
    """The text of a page that has a place for a table.

    Raises:
        InputError: it cannot be read, or has no such place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{path}: cannot be read ({reason})") from error
    start = _start(table)
    if text.count(start) != 1 or _END not in text.split(start)[1].split("<!-- table ")[0]:
        raise InputError(f"{path}: has no place for the table; write {start} and {_END} where it belongs")
    return text


def insert(path: Path, table: str, markdown: str) -> None:
    """Replace what stands in the table's place; all else of the page stays as it is.

    Raises:
        InputError: as `read_page`.
    """
    before, after = read_page(path, table).split(_start(table))
    after = after.split(_END, 1)[1]
    with atomic_writer(path) as file:
        file.write(f"{before}{_start(table)}\n{markdown.strip()}\n{_END}{after}")


def _start(table: str) -> str:
    return f"<!-- table {table} -->"
