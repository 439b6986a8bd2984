"""Curves of a training run as PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seal_ir.formats.io.disk import writing
from seal_ir.train.fit.retrieval import PREFIX
from seal_ir.train.fit.trainer import DEV_LOSS

TRAIN_LOSS = "train_loss_smoothed_nats_per_token"


def curves(log: Sequence[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """Steps and values of each figure in the Trainer's log, under names that say what it is."""
    found: dict[str, list[tuple[int, float]]] = {}
    for entry in log:
        for name, value in entry.items():
            label = TRAIN_LOSS if name == "loss" else name
            if label in (TRAIN_LOSS, DEV_LOSS) or label.startswith(PREFIX):
                found.setdefault(label, []).append((int(entry["step"]), float(value)))
    return {name: sorted(points, key=lambda point: point[0]) for name, points in found.items()}


def draw(log: Sequence[dict[str, Any]], folder: Path, best: int | None = None) -> list[Path]:
    """Write `loss.png` and, where retrieval was measured, `dev_retrieval.png`; returns what was written.

    Args:
        log: the Trainer's.
        folder: where.
        best: step of the weights that were taken, to be marked; None where these are simply the last ones.
    """
    found = curves(log)
    losses = {name: points for name, points in found.items() if not name.startswith(PREFIX)}
    shares = {name: points for name, points in found.items() if "@" in name}
    written = []
    for name, lines, label in (
        ("loss.png", losses, "nats per target token"),
        ("dev_retrieval.png", shares, "share of questions"),
    ):
        if lines:
            _plot(lines, label, folder / name, best)
            written.append(folder / name)
    return written


def _plot(lines: dict[str, list[tuple[int, float]]], label: str, path: Path, best: int | None) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name, points in lines.items():
        steps, values = zip(*points, strict=True)
        axes.plot(steps, values, label=name, marker="." if len(points) < 30 else None)
    if best is not None:
        axes.axvline(best, color="grey", linestyle="--", label=f"weights taken: step {best}")
    axes.set_xlabel("step")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    with writing(path):
        try:
            figure.savefig(path, dpi=120)
        except OSError:
            path.unlink(missing_ok=True)
            raise
