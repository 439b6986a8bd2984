"""The Trainer's log: the figures in it, under names that say what they are, and what they decide.

A token accuracy in a training log has been taken for accuracy@k before. So nothing in a log of ours is
called accuracy alone: every figure of retrieval begins with `dev_retrieval_`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

TRAIN_LOSS = "train_loss_smoothed_nats_per_token"
DEV_LOSS = "dev_loss_nats_per_token"
RANK_LOSS = (
    "train_rank_loss"  # cross-entropy in nats a question, or the margin's mean, with the share of text
)
RETRIEVAL = "dev_retrieval_"  # begins the names of all that the dev retrieval measures

Log = Sequence[Mapping[str, Any]]


def curves(log: Log) -> dict[str, list[tuple[int, float]]]:
    """Steps and values of each figure in the Trainer's log, under names that say what it is."""
    found: dict[str, list[tuple[int, float]]] = {}
    for entry in log:
        for name, value in entry.items():
            label = TRAIN_LOSS if name == "loss" else name
            if label in (TRAIN_LOSS, DEV_LOSS, RANK_LOSS) or label.startswith(RETRIEVAL):
                found.setdefault(label, []).append((int(entry["step"]), float(value)))
    return {name: sorted(points, key=lambda point: point[0]) for name, points in found.items()}


def figures(log: Log, last: int | None) -> dict[str, float]:
    """Every figure's last value, or its last one up to a step."""
    end = math.inf if last is None else last
    return {name: value for name, curve in curves(log).items() for step, value in curve if step <= end}


def is_retrieval(entry: Mapping[str, Any]) -> bool:
    """Whether an entry of the log is a dev retrieval."""
    return any(name.startswith(RETRIEVAL) for name in entry)


def best_step(log: Log, last: float = math.inf) -> int | None:
    """Step of the lowest dev loss up to a step, the first of equal ones; None when there is no dev loss.

    A loss that is no number is worse than any number.
    """
    points = [point for point in curves(log).get(DEV_LOSS, []) if point[0] <= last]
    return min(points, key=lambda point: (math.isnan(point[1]), point[1]))[0] if points else None


def is_spent(log: Log, patience: int | None) -> bool:
    """Whether the last evaluations, as many as the patience, were all no better than the best before them."""
    best = best_step(log)
    since = [step for step, _ in curves(log).get(DEV_LOSS, []) if best is not None and step > best]
    return patience is not None and len(since) >= patience
