"""Questions with their answers, `question <TAB> ['answer', ...]`: Anserini's NQ format, and DPR's CSV."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.dpr_csv import quoted_rows
from seal_ir.formats.io.files import filled_lines, shown
from seal_ir.formats.io.jsonlines import sound


class NqRecord(NamedTuple):
    """One question; `qid` is its number from 0."""

    line: int
    qid: str
    question: str
    answers: list[str]


def read_nq(path: Path) -> Iterator[NqRecord]:
    """Questions of a file in the NQ format, in file order; blank lines count in the numbering only.

    Raises:
        InputError: the file cannot be read, or a line is not a question, a tab and a list of strings.
    """
    for number, line in filled_lines(path):
        parsed = parse_nq_line(line)
        if parsed is None:
            raise InputError(
                f"{path}:{number}: not a question, a tab and a Python list of strings (seen {shown(line)});"
                " mend the line, or name another topics format"
            )
        yield NqRecord(number, str(number - 1), *parsed)


def read_dpr_csv(path: Path) -> Iterator[NqRecord]:
    """Questions of DPR's CSV files, which have csv quoting; they are numbered by row, blank lines left out.

    Raises:
        InputError: the file cannot be read, or a row is not a question and a list of strings.
    """
    for number, (line, row) in enumerate(quoted_rows(path)):
        cells = sound(row, path, line)
        answers = _string_list(cells[1].strip()) if len(cells) == 2 else None
        if answers is None:
            seen = shown("\t".join(cells))
            raise InputError(
                f"{path}:{line}: not a question, a tab and a Python list of strings (seen {seen}); mend the"
                " row, or name another topics format"
            )
        yield NqRecord(line, str(number), cells[0], answers)


def parse_nq_line(line: str) -> tuple[str, list[str]] | None:
    """Question and answers of one line; None when it is not in the NQ format."""
    cells = line.split("\t")
    if len(cells) != 2:
        return None
    question, answers = cells[0], cells[1].strip()
    if answers[:2] == '"[' and answers[-2:] == ']"':  # a csv writer made this line
        answers = answers[1:-1].replace('""', '"')
        if len(question) > 1 and question[0] == question[-1] == '"':
            question = question[1:-1].replace('""', '"')
    else:
        question = _uncsv(question)
    strings = _string_list(answers)
    return None if strings is None else (question, strings)


def _uncsv(cell: str) -> str:
    """The cell without the quoting that csv writers give to cells with a quote in them.

    They double every inner quote; a cell in quotes without a doubled one was not written so and stays.
    """
    if len(cell) < 2 or cell[0] != '"' or cell[-1] != '"':
        return cell
    inner = cell[1:-1]
    return cell if '""' not in inner or '"' in inner.replace('""', "") else inner.replace('""', '"')


def _string_list(cell: str) -> list[str] | None:
    """The strings of a Python list literal; None when the cell is anything else."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # answers that are regular expressions hold unknown escapes
            value = ast.literal_eval(cell)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, list) and all(isinstance(item, str) for item in value) else None
