"""A table as it is printed: aligned text, Markdown or JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from seal_ir.eval.grids import Grid, aligned, piped
from seal_ir.eval.tables import ALL, Interval, Result, Statistics, Table, versions
from seal_ir.formats.io.files import utf8
from seal_ir.structured import json_file

Block = tuple[Grid, int, Sequence[str]]  # a grid, how many of its columns are words, the notes below it


def as_text(table: Table) -> str:
    """Aligned columns, four decimals, then the notes, each after a `#`; then the further blocks likewise."""
    blocks = ([*aligned(grid, n), *(f"# {note}" for note in notes)] for grid, n, notes in _blocks(table))
    return "\n\n".join(map("\n".join, blocks)) + "\n"


def as_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, four decimals, then the notes as a list; then parts and comparisons."""
    blocks = (
        [*piped(grid, n), *([""] if notes else []), *(f"- {note}" for note in notes)]
        for grid, n, notes in _blocks(table)
    )
    return "\n\n".join(map("\n".join, blocks)) + "\n"


def as_json(table: Table) -> str:
    """An object with `rows` and what they rest on; figures are not rounded, one that is no number is null."""
    value: dict[str, Any] = {
        "topics": table.questions.label,
        "n_topics": len(table.questions.topics),
        "n_answered": None if table.matching is None else len(table.questions.answers or ()),
        "matching": table.matching,
        "level": table.level,
        "delimiter": table.delimiter,
        "average": table.average,
        "versions": versions(),
        "warnings": [asdict(finding) for finding in table.findings],
        "systems": {
            result.system: {"run": utf8(result.path), **asdict(result.coverage)} for result in table.results
        },
        "rows": table.rows(),
    }
    if table.statistics:
        value["statistics"] = asdict(table.statistics.options)
        value["comparisons"] = [asdict(comparison) for comparison in table.statistics.comparisons]
    return json_file(value)


def shown_p(p: float) -> str:
    """A p value as tables have it: four decimals, never 0."""
    return f"{p:.4f}" if p >= 0.0001 else "<0.0001"


FORMATS: dict[str, Callable[[Table], str]] = {"text": as_text, "markdown": as_markdown, "json": as_json}


def _blocks(table: Table) -> list[Block]:
    """The figures; then those of parts; then comparisons, or without any the intervals of written answers."""
    blocks: list[Block] = [(_grid(table), 1, table.notes())]
    if table.parts:
        blocks.append((_parts_grid(table), 2, ()))
    if table.statistics and table.statistics.comparisons:
        blocks.append((_comparison_grid(table, table.statistics), 2, [table.statistics.note()]))
    elif table.statistics and any(column.written for column in table.columns):
        blocks.append((_interval_grid(table, table.statistics), 2, [table.statistics.note()]))
    return blocks


def _grid(table: Table) -> list[list[str]]:
    return [
        ["system", *_heads(table)],
        *([result.system, *_figures(table, result, counted=_differ(table))] for result in table.results),
    ]


def _parts_grid(table: Table) -> list[list[str]]:
    """Part by part: each system's figures, behind the number of the part's topics."""
    return [
        ["topics", "system", "n", *(column.label for column in table.columns)],
        *(
            [
                part.questions.label,
                result.system,
                str(len(part.questions.topics)),
                *_figures(part, result, counted=table.average != ALL),
            ]
            for part in table.parts
            for result in part.results
        ),
    ]


def _figures(table: Table, result: Result, *, counted: bool) -> list[str]:
    """The cells of a row; `counted` puts the number of topics behind each."""
    return [
        f"{result.figures[column.name]:.4f}" + (f" (n={len(result.values[column.name])})" if counted else "")
        for column in table.columns
    ]


def _differ(table: Table) -> bool:
    """Whether systems are averaged over different numbers of topics."""
    return any(
        len({len(result.values[column.name]) for result in table.results}) > 1 for column in table.columns
    )


def _heads(table: Table) -> list[str]:
    """The measures; with how many topics they are over where these are not all, and the same for all rows."""
    if table.average == ALL or _differ(table):
        return [column.label for column in table.columns]
    values = table.results[0].values
    return [f"{column.label} (n={len(values[column.name])})" for column in table.columns]


def _interval_grid(table: Table, statistics: Statistics) -> list[list[str]]:
    """Measure by measure: each system with its interval."""
    rows = [
        [column.label, result.system, f"{result.figures[column.name]:.4f}", _shown(found.get(column.name))]
        for column in table.columns
        for result, found in zip(table.results, statistics.intervals, strict=True)
    ]
    return [["measure", "system", "figure", f"{100 * statistics.options.level:g} %"], *rows]


def _comparison_grid(table: Table, statistics: Statistics) -> list[list[str]]:
    """Measure by measure: the baseline, then each system with its difference from it."""
    by_key = {(found.measure, found.system): found for found in statistics.comparisons}
    baseline = statistics.comparisons[0].baseline
    percent = f"{100 * statistics.options.level:g} %"
    head = ["measure", "system", "figure", percent, f"less {baseline}", percent, "p", "p (Holm)", "w/t/l"]
    rows = []
    for column in table.columns:
        for result, intervals in zip(table.results, statistics.intervals, strict=True):
            figure = [f"{result.figures[column.name]:.4f}", _shown(intervals.get(column.name))]
            cells = [column.label, result.system, *figure]
            found = by_key.get((column.name, result.system))
            if found is not None:
                wins = f"{found.wins}/{found.ties}/{found.losses}"
                cells += [f"{found.delta:+.4f}", _shown(found.interval, "+"), shown_p(found.p)]
                rows.append([*cells, shown_p(found.p_holm), wins])
            elif result.system == baseline:
                rows.append([*cells, *[""] * 5])
    return [head, *rows]


def _shown(interval: Interval | None, sign: str = "") -> str:
    return "" if interval is None else f"[{interval.lo:{sign}.4f}, {interval.hi:{sign}.4f}]"
