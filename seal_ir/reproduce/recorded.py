"""Figures that a table file keeps of what was last measured: compared with fresh ones, and written there.

Lines of the file are edited as text: tomlkit (0.15.2), which else keeps remarks and layout, puts [[step]] and
[[row]] sections that alternate into two groups.
"""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError
from seal_ir.eval.answer_measures import answer_measure
from seal_ir.formats.io.files import atomic_writer
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.figures import Measured
from seal_ir.reproduce.spec import TableSpec, Topics
from seal_ir.structured import parse_toml

Points = Mapping[str, Mapping[str, float]]  # a row's figures by set of topics and measure, as files have them

_ROUNDING = 1e-9  # points; far below the hundredth that figures are recorded to
_ROW = re.compile(r"\s*\[\[\s*row\s*\]\]")
_SECTION = re.compile(r"\s*\[\[?\s*[\w\"'][^=,]*\]\s*(#.*)?$")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def in_points(measure: str, value: float) -> float:
    """A figure as table files have it: shares in percent to a hundredth, costs in their unit to 3 digits."""
    return float(f"{value:.3g}") if measure in LABELS else round(100 * value, 2)


def drifts(spec: TableSpec, measured: Measured) -> list[str]:
    """One line for each share that is further from what is recorded than its row's, or reader's, tolerance.

    Costs are recorded too, but they are the machine's, and are not compared.
    """
    rows = {row.system: row for row in spec.rows}
    lines = []
    for figure in measured.figures:
        if figure.value is None or figure.recorded is None or figure.measure in LABELS:
            continue
        now, then = in_points(figure.measure, figure.value), in_points(figure.measure, figure.recorded)
        row = rows[figure.system]
        is_read = row.reader is not None and answer_measure(figure.measure) is not None
        tolerance = row.reader.tolerance if row.reader and is_read else row.tolerance
        if abs(now - then) > tolerance + _ROUNDING:
            where = f"{figure.system}, {figure.topics}, {figure.measure}"
            lines.append(f"{where}: recorded {then:g}, measured {now:g}, tolerance {tolerance:g}")
    return lines


def record(path: Path, spec: TableSpec, measured: Measured) -> int:
    """Write what was measured into the table file, a line for each row and set; no other line changes.

    Rows and measures that were not measured keep what is recorded of them.

    Args:
        path: the file that the table was read from.
        spec: the table, or those of its rows that were asked for.
        measured: its figures.

    Returns:
        How many figures were recorded.

    Raises:
        InputError: the file is no table any more, or is written so that only a person can put figures in.
        UsageError: it cannot be written.
    """
    fresh: dict[str, dict[str, dict[str, float]]] = {}
    for figure in measured.figures:
        if figure.value is not None:
            of_row = fresh.setdefault(figure.system, {}).setdefault(figure.topics, {})
            of_row[figure.measure] = in_points(figure.measure, figure.value)
    try:
        text = path.read_bytes().decode("utf-8")  # with its own ends of lines
        before = parse_toml(text)
        merged = {
            row["system"]: _merged(row, fresh.get(row["system"], {}), spec.topics) for row in before["row"]
        }
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: not a table any more: {error}") from error
    after = _edited(text, merged, spec.topics)
    if not _says(after, before, merged, spec.topics):
        raise InputError(
            f"{path}: nothing recorded; a row may have its figures only as measured = {{ ... }} or"
            " measured.TOPICS = { ... }, each on one line"
        )
    if after != text:
        with atomic_writer(path) as file:
            file.write(after)
    return sum(len(values) for of_row in fresh.values() for values in of_row.values())


def _by_set(row: Mapping[str, Any], topics: Sequence[Topics]) -> Points:
    """What a row of the file has recorded, also where it does not name the only set."""
    known: Mapping[str, Any] = row.get("measured", {})
    if known and not any(isinstance(value, dict) for value in known.values()):
        return {topics[0].name: known}
    return known


def _merged(row: Mapping[str, Any], fresh: Points, topics: Sequence[Topics]) -> Points:
    """Fresh figures over those that are recorded, in the order of the table."""
    known = _by_set(row, topics)
    found: dict[str, dict[str, float]] = {}
    for part in topics:
        values = {**known.get(part.name, {}), **fresh.get(part.name, {})}
        if values:
            found[part.name] = {measure: values[measure] for measure in part.measures if measure in values}
    return found


def _edited(text: str, merged: Mapping[str, Points], topics: Sequence[Topics]) -> str:
    """The text with the figures of each row; only lines of figures differ from what they were."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    starts = [i for i, line in enumerate(lines) if _ROW.match(line)]
    for start, points in reversed(list(zip(starts, merged.values(), strict=False))):
        sections = (i for i, line in enumerate(lines) if i > start and _SECTION.match(line))
        stop = next(sections, len(lines))
        lines[start:stop] = _with_figures(lines[start:stop], points, topics, newline)
    return "".join(lines)


def _with_figures(
    lines: Sequence[str], points: Points, topics: Sequence[Topics], newline: str
) -> Sequence[str]:
    """A row's lines with figures over those that are there, else on a line after its last value."""
    found = list(lines)
    for name, values in points.items():
        keys = [f"measured.{name if _BARE.fullmatch(name) else _quoted(name)}"]
        if len(topics) == 1:
            keys.append("measured")
        key = "|".join(map(re.escape, keys))
        at = next((i for i, line in enumerate(found) if re.match(rf"\s*({key})\s*=", line)), None)
        pairs = ", ".join(f"{_quoted(measure)} = {value}" for measure, value in values.items())
        if at is None:
            end = max(i for i, line in enumerate(found, start=1) if line.strip() and line.lstrip()[0] != "#")
            if not found[end - 1].endswith("\n"):
                found[end - 1] += newline
            found.insert(end, f"{keys[-1]} = {{ {pairs} }}{newline}")
        elif not _holds(found[at], values):
            head, _, rest = found[at].partition("{")
            found[at] = f"{head}{{ {pairs} }}{rest.partition('}')[2]}"
    return found


def _says(
    text: str, before: Mapping[str, Any], merged: Mapping[str, Points], topics: Sequence[Topics]
) -> bool:
    """Whether an edited file says what the one before said, and has the figures where they belong."""
    try:
        after = parse_toml(text)
    except tomllib.TOMLDecodeError:
        return False
    wanted = copy.deepcopy(dict(before))
    for values in (after, wanted):
        for row in values["row"]:
            row["measured"] = _by_set(row, topics) if values is after else merged[row["system"]]
    return after == wanted


def _holds(line: str, values: Mapping[str, float]) -> bool:
    """Whether a line `key = { ... }` has these figures already, however it is written."""
    try:
        return tomllib.loads(f"x {line[line.index('=') :]}") == {"x": values}
    except tomllib.TOMLDecodeError:
        return False


def _quoted(name: str) -> str:
    return f'"{name}"'
