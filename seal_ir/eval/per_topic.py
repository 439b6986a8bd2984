"""Figures of every topic, as lines of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from seal_ir.errors import UsageError
from seal_ir.eval.tables import Table
from seal_ir.formats.io.files import atomic_writer
from seal_ir.structured import json_line

ROW_SUFFIXES = (".tsv", ".jsonl")
Cells = tuple[str | float, ...]


def check_rows_path(path: Path, option: str = "") -> None:
    """Refuse a name that does not say how rows are written.

    Raises:
        UsageError: it ends in none of `ROW_SUFFIXES`.
    """
    if path.suffix not in ROW_SUFFIXES:
        raise UsageError(f"{option} {path}: must end in {' or '.join(ROW_SUFFIXES)}".lstrip())


def write_per_topic(path: Path, table: Table) -> None:
    """Every topic's figure by measure and system, one line each: TSV or JSON lines.

    Topics are all those that the measure is over; one without results has the measure's value for none,
    mostly 0.

    Raises:
        UsageError: the name ends in neither, or the file cannot be written.
    """
    write_rows(path, ("topic", "system", "measure", "value"), _rows(table))


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Cells]) -> None:
    """Rows as TSV with a head, or as JSON lines, by the name; what is no number is `nan`, in JSON `null`.

    Raises:
        UsageError: the name ends in neither, or the file cannot be written.
    """
    check_rows_path(path)
    with atomic_writer(path) as file:
        if path.suffix == ".tsv":
            file.write("\t".join(columns) + "\n")
        for cells in rows:
            if path.suffix == ".tsv":
                file.write("\t".join(map(str, cells)) + "\n")
            else:
                record = dict(zip(columns, cells, strict=True))
                file.write(f"{json_line(record)}\n")


def _rows(table: Table) -> Iterator[Cells]:
    for column in table.columns:
        for result in table.results:
            for qid, value in result.values[column.name].items():
                yield qid, result.system, column.name, value
