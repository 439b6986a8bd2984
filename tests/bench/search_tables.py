"""Tables of runs/bench/search.json for docs/performance.md: `python tests/bench/search_tables.py [FILE]`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PARTS = ("model", "read", "constraint", "locate", "text", "score", "other")
END_TO_END = ("end_to_end_demo_model", "end_to_end_small", "end_to_end_large")
Row = dict[str, Any]
Cells = Sequence[str]


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/bench/search.json")
    rows: list[Row] = json.loads(path.read_text(encoding="utf-8"))
    print("\n\n".join((end_to_end(rows), parts(rows), scoring(rows), stream(rows), scaling(rows))))


def end_to_end(rows: list[Row]) -> str:
    """Both sides, model by model."""
    head = "CPU s/query, index, tokens, batch, published, ours, ratio, outside the model, constraint"
    return table(
        head.split(", "),
        [
            (
                *named(row),
                seconds(row["baseline"]),
                seconds(row["ours"]),
                f"{row['ratio']:.1f}",
                share(beside(rows, row, "share_outside_model")),
                share(beside(rows, row, "share_constraint")),
            )
            for row in rows
            if row["metric"] in END_TO_END
        ],
    )


def parts(rows: list[Row]) -> str:
    """Milliseconds of each part, published and ours."""
    return table(
        ["ms/query, published / ours", "index", "tokens", "batch", *PARTS],
        [
            (
                *named(row),
                *(
                    " / ".join(f"{1000 * beside(rows, row, f'part_{part}')[side]:.0f}" for side in SIDES)
                    for part in PARTS
                ),
            )
            for row in rows
            if row["metric"] in END_TO_END
        ],
    )


def scoring(rows: list[Row]) -> str:
    """Locating, reading and scoring candidates."""
    return table(
        ["scoring", "index", "tokens", "batch", "published", "ours", "ratio"],
        [
            (*named(row), seconds(row["baseline"]), seconds(row["ours"]), f"{row['ratio']:.1f}")
            for row in rows
            if row["metric"] == "scoring"
        ],
    )


def stream(rows: list[Row]) -> str:
    """All queries of a run from its first one on."""
    return table(
        ["queries", "index", "tokens", "s/query", "outside the model", "texts", "constraint"],
        [
            (
                str(row["n_queries"]),
                row["index"],
                f"{row['n_tokens']:,}",
                seconds(row["ours"]),
                *(
                    share(beside(rows, row, f"stream_share_{part}"))
                    for part in ("outside_model", "text", "constraint")
                ),
            )
            for row in rows
            if row["metric"] == "stream_end_to_end"
        ],
    )


def scaling(rows: list[Row]) -> str:
    """Ours by index, batch, beam and threads."""
    about = ("index", "n_tokens", "batch", "beam", "threads")
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        if row["metric"].startswith("scaling"):
            found.setdefault(tuple(row[name] for name in about), {})[row["metric"]] = row
    lines = []
    for (index, n_tokens, *numbers), by_metric in found.items():
        per_second = by_metric.get("scaling_queries_per_second") or by_metric["scaling_threads"]
        cpu = by_metric.get("scaling")
        lines.append(
            (
                index,
                f"{n_tokens:,}",
                *map(str, numbers),
                seconds(cpu["ours"]) if cpu else "",
                f"{per_second['ours']:.2f}",
                *(
                    share(by_metric[name]) if name in by_metric else ""
                    for name in ("scaling_share_outside_model", "scaling_share_constraint")
                ),
            )
        )
    head = "index, tokens, batch, beam, threads, CPU s/query, queries/s, outside the model, constraint"
    return table(head.split(", "), lines)


SIDES = ("baseline", "ours")


def named(row: Row) -> tuple[str, str, str, str]:
    """Model, index, tokens and batch of a comparison."""
    after = f", after {row['before']} others" if row.get("before") else ""
    return row["model"], row["index"], f"{row['n_tokens']:,}", f"{row['batch_size']}{after}"


def beside(rows: list[Row], row: Row, metric: str) -> Row:
    """The row of another metric of the same measurement."""
    about = ("model", "index", "batch_size", "beam", "n_queries", "before")
    return next(r for r in rows if r["metric"] == metric and all(r.get(n) == row.get(n) for n in about))


def seconds(value: float) -> str:
    """With three digits that count, from a millisecond to minutes."""
    return f"{value:.3f}" if value < 1 else f"{value:.2f}"


def share(row: Row) -> str:
    """In percent."""
    return f"{100 * row['ours']:.1f} %"


def table(head: Cells, lines: Sequence[Cells]) -> str:
    """In Markdown."""
    words = head.index("index") + 1  # in the columns up to there
    marks = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, marks, *lines))


if __name__ == "__main__":
    main()
