"""The systems of a table beside one of them: differences by topic, their intervals and p values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path

import numpy as np

from seal_ir.arrays import Floats
from seal_ir.errors import UsageError
from seal_ir.eval.measures import Column, aggregate
from seal_ir.eval.per_topic import Cells, write_rows
from seal_ir.eval.significance import DEFAULTS, Resampling, bootstrap_intervals, holm, randomisation_p
from seal_ir.eval.tables import Comparison, Interval, Result, Statistics, Table
from seal_ir.formats.io.files import named, shown


def find_result(table: Table, name: str) -> Result:
    """The result that a name in the table, or the path of its run, means.

    Raises:
        UsageError: there is none.
    """
    found = [result for result in table.results if name == str(result.path) or named(name) == result.system]
    if not found:
        known = ", ".join(result.system for result in table.results)
        raise UsageError(f"baseline {shown(name)}: no such system in the table; its systems are {known}")
    return found[0]


def with_statistics(
    table: Table, options: Resampling, baseline: Result | None = None, others: Sequence[Result] = ()
) -> Table:
    """The table and its parts with intervals, and with comparisons of the others with a baseline, if given.

    Raises:
        UsageError: see `compare`.
    """
    comparisons = compare(table, baseline, others, options) if baseline is not None else ()
    statistics = Statistics(options, figure_intervals(table, options), comparisons)
    parts = tuple(with_statistics(part, options) for part in table.parts)
    return replace(table, parts=parts, statistics=statistics)


def figure_intervals(table: Table, options: Resampling = DEFAULTS) -> list[dict[str, Interval]]:
    """The interval of each figure, one mapping a result of the table, by notation of the measure."""
    found: list[dict[str, Interval]] = [{} for _ in table.results]
    for column in table.columns:
        values = [np.array(list(result.values.get(column.name, {}).values())) for result in table.results]
        sound = [i for i, series in enumerate(values) if len(series) and np.isfinite(series).all()]
        for i, interval in zip(sound, _intervals(column, [values[i] for i in sound], options), strict=True):
            found[i][column.name] = interval
    return found


def compare(
    table: Table, baseline: Result, systems: Sequence[Result], options: Resampling = DEFAULTS
) -> list[Comparison]:
    """Each system beside the baseline, by measure; Holm's correction is over the systems of a measure.

    A measure that either has nothing for is left out, and a topic for which that of either is not defined;
    a topic without results has the measure's value for none, mostly 0, as everywhere.

    Raises:
        UsageError: there is no topic for which a measure of both is defined.
    """
    found: list[Comparison] = []
    for column in table.columns:
        having = _having(column, systems, baseline)
        differences = [np.array(list(_differences(column, result, baseline).values())) for result in having]
        raw = [randomisation_p(series, options) for series in differences]
        corrected, intervals = holm(raw), _intervals(column, differences, options)
        for i, (result, series) in enumerate(zip(having, differences, strict=True)):
            found.append(
                Comparison(
                    system=result.system,
                    baseline=baseline.system,
                    measure=column.name,
                    n=len(series),
                    delta=float(series.mean()) * _scale(column, len(series)),
                    interval=intervals[i],
                    p=raw[i],
                    p_holm=corrected[i],
                    wins=int((series > 0).sum()),
                    ties=int((series == 0).sum()),
                    losses=int((series < 0).sum()),
                )
            )
    return found


def write_deltas(path: Path, table: Table, baseline: Result, systems: Sequence[Result]) -> None:
    """Every topic's difference from the baseline, one line a topic, system and measure: TSV or JSON lines.

    Raises:
        UsageError: the name ends in neither, or the file cannot be written.
    """
    columns = ("topic", "system", "baseline", "measure", "value", "baseline_value", "delta")
    write_rows(path, columns, _delta_rows(table, baseline, systems))


def _delta_rows(table: Table, baseline: Result, systems: Sequence[Result]) -> Iterator[Cells]:
    for column in table.columns:
        for result in _having(column, systems, baseline):
            theirs, ours = baseline.values[column.name], result.values[column.name]
            for qid, delta in _differences(column, result, baseline).items():
                yield qid, result.system, baseline.system, column.name, ours[qid], theirs[qid], delta


def _having(column: Column, systems: Sequence[Result], baseline: Result) -> list[Result]:
    """The systems that have something for a measure; none where the baseline has not."""
    return [result for result in systems if column.name in result.values and column.name in baseline.values]


def _differences(column: Column, result: Result, baseline: Result) -> dict[str, float]:
    """The system's value less the baseline's, of the topics for which both are numbers."""
    theirs = baseline.values[column.name]
    found = {
        qid: value - theirs[qid]
        for qid, value in result.values[column.name].items()
        if qid in theirs and isfinite(value - theirs[qid])
    }
    if not found:
        raise UsageError(
            f"{column.name}: {result.system} and {baseline.system} have no topic for which both are defined;"
            " leave the measure out"
        )
    return found


def _intervals(column: Column, series: Sequence[Floats], options: Resampling) -> list[Interval]:
    """The interval of each series; those of equal length are sampled together."""
    found: dict[int, Interval] = {}
    for length in {len(values) for values in series}:
        places = [i for i, values in enumerate(series) if len(values) == length]
        ends = bootstrap_intervals(np.stack([series[i] for i in places], axis=1), options)
        found |= {
            i: Interval(float(lo), float(hi))
            for i, (lo, hi) in zip(places, ends * _scale(column, length), strict=True)
        }
    return [found[i] for i in range(len(series))]


def _scale(column: Column, n_topics: int) -> float:
    """What makes the figure of the mean over topics: 1, or their number where figures are sums."""
    return n_topics if aggregate(column, [1.0, 1.0]) == 2 else 1.0
