"""Measures of a row that no judgement is needed for: the size of its index, the time it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, shown
from seal_ir.reproduce.fields import Fields
from seal_ir.reproduce.spec import Topics
from seal_ir.structured import load_json

_MOST = 1e15  # seconds or topics; JSON has integers that no float holds

# Names as tables give them, with the unit in the name, and how they are headed.
LABELS = {
    "IndexGB": "index GB",
    "BuildHours": "build h",
    "SearchMinutes": "search min",
    "SecondsPerQuery": "s/query",
    "CpuSecondsPerQuery": "CPU s/query",
}


def index_gb(paths: Sequence[Path]) -> float | None:
    """Gigabytes (10^9 bytes) of files and folders; None where one is not there."""
    if not paths or not all(path.exists() for path in paths):
        return None
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e9


def search_cost(measure: str, runs: Sequence[Path]) -> float | None:
    """`SearchMinutes`, `SecondsPerQuery` or `CpuSecondsPerQuery` of runs, from the settings beside them.

    Args:
        measure: one of these.
        runs: what was searched one after the other, so that the costs add up.

    Returns:
        None where there are no runs, or one of them does not say.

    Raises:
        InputError: a file of settings is damaged.
    """
    told = [_search_cost(measure, run) for run in runs]
    costs = [cost for cost in told if cost is not None]
    return sum(costs) if costs and len(costs) == len(told) else None


def _search_cost(measure: str, run: Path) -> float | None:
    path = run.with_name(f"{run.name}.config.json")
    if not path.is_file():
        return None
    try:
        values = load_json(path)
        seconds, n_topics = _number(values, "seconds"), _number(values, "n_topics")
        # Runs that were made before it was measured have none.
        cpu_seconds = _number(values, "cpu_seconds") if "cpu_seconds" in values else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no settings of a run ({error}); make the run again") from error
    if not n_topics:
        return None
    if measure == "SearchMinutes":
        return seconds / 60
    total = cpu_seconds if measure == "CpuSecondsPerQuery" else seconds
    return None if total is None else total / n_topics


def _number(values: Mapping[str, Any], name: str) -> float:
    value = values[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MOST:
        raise ValueError(f"{name} is {shown(value)}")
    return float(value)


def runs_of_costs(
    fields: Fields, topics: Sequence[Topics], runs: Mapping[str, Path], made: frozenset[Path]
) -> dict[str, tuple[Path, ...]]:
    """`Row.costs` as the section of a row names them.

    Raises:
        InputError: the row has no run, or no step makes one of them.
    """
    names = fields.texts("costs")
    if names and not runs:
        raise InputError(f"{fields.where}: costs is for a row with a run; name that, or leave costs out")
    found = {known.name: tuple(known.runs / name for name in names) for known in topics if known.name in runs}
    for path in (path for paths in found.values() for path in paths):
        if path not in made:
            raise InputError(f"{fields.where}: costs: no step makes {shown(path.name)} on {path.parent.name}")
    return found
