"""Measures of a row that no judgement is needed for: the size of its index, the time it took."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from seal_ir.errors import InputError

# Names as tables give them, with the unit in the name, and how they are headed.
LABELS = {
    "IndexGB": "index GB",
    "BuildHours": "build h",
    "SearchMinutes": "search min",
    "SecondsPerQuery": "s/query",
}


def index_gb(paths: Sequence[Path]) -> float | None:
    """Gigabytes (10^9 bytes) of files and folders; None where one is not there."""
    if not paths or not all(path.exists() for path in paths):
        return None
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e9


def search_seconds(run: Path) -> tuple[float, int] | None:
    """Seconds that a run took, and its number of topics, from the settings beside it; None without them.

    Raises:
        InputError: the file of settings is damaged.
    """
    path = run.with_name(f"{run.name}.config.json")
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        return float(values["seconds"]), int(values["n_topics"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: no settings of a run ({error}); make the run again") from error


def search_cost(measure: str, run: Path | None) -> float | None:
    """`SearchMinutes` or `SecondsPerQuery` of a run; None where nothing says."""
    told = search_seconds(run) if run is not None else None
    if told is None or not told[1]:
        return None
    seconds, n_topics = told
    return seconds / 60 if measure == "SearchMinutes" else seconds / n_topics
