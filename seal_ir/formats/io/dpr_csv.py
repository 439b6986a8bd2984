"""Tab-separated rows with csv quoting, as in DPR's files; a quote that does not close swallows no rows."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from seal_ir.formats.io.files import iter_lines, shown
from seal_ir.formats.io.jsonlines import Malformed

_QUOTED = re.compile(r'"([^"]*+(?:""[^"]*+)*+)"')
_MAX_LINES = 1000  # of one row; a quote that is open for longer was not meant to open a cell


def quoted_rows(path: Path) -> Iterator[tuple[int, list[str] | Malformed]]:
    """Line numbers and cells of the rows that are not blank; a quoted cell may hold tabs and line breaks.

    A cell that begins with a quote ends at the next quote that is not doubled, which a tab or the line's
    end must follow; doubled ones inside are one quote. A row that breaks this is malformed, and reading
    goes on with the next line. Any other quote is text.

    Raises:
        InputError: the file cannot be read, or a line is not UTF-8.
    """
    lines = iter_lines(path)
    waiting: deque[tuple[int, str]] = deque()  # read ahead for a cell that did not end, and given back
    while line := waiting.popleft() if waiting else next(lines, None):
        number, text = line
        if not text.strip(" "):
            continue
        cells = split_row(text)
        ahead: list[tuple[int, str]] = []
        while cells is None and len(ahead) < _MAX_LINES:
            more = waiting.popleft() if waiting else next(lines, None)
            if more is None:
                break
            ahead.append(more)
            text += "\n" + more[1]
            if '"' in more[1]:
                cells = split_row(text)
        if cells is None or isinstance(cells, Malformed):
            waiting.extendleft(reversed(ahead))
        yield number, _unclosed(text) if cells is None else cells


def split_row(text: str) -> list[str] | Malformed | None:
    """Cells of a row; None while a quoted one is open."""
    if '"' not in text:
        return text.split("\t")
    cells = []
    at = 0
    while True:
        if text.startswith('"', at):
            cell = _QUOTED.match(text, at)
            if cell is None:
                return None
            end = cell.end()
            if text[end : end + 1] not in ("", "\t"):
                return _unclosed(text)
            cells.append(cell[1].replace('""', '"'))
        else:
            end = text.find("\t", at)
            end = len(text) if end < 0 else end
            cells.append(text[at:end])
        if end == len(text):
            return cells
        at = end + 1


def _unclosed(text: str) -> Malformed:
    return Malformed(
        f"a quote opens a cell, and none closes it before a tab or the end of a line (seen {shown(text)});"
        " put cells with a quote in quotes and double the quotes inside"
    )
