"""Choosing points by their values on some topics, and what choosing is worth on the others. Arrays only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from seal_ir.arrays import Bools, Doubles, Ints
from seal_ir.errors import UsageError
from seal_ir.tune.ranges import Point, Space, distinct

MOST_SWEEPS = 5  # of a coordinate search over all ranges
Evaluate = Callable[[Sequence[Point]], list[Doubles]]  # the values of points, [n_topics, n_columns] each


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and from what.

    Attributes:
        tried: all points that were evaluated, the default first.
        values: float64 [n_tried, n_topics, n_columns].
        folds: int64 [n_topics], the fold that each topic is in.
        chosen: place in `tried` of the best on all topics.
        by_fold: place of the best on the topics outside of each fold.
    """

    tried: Sequence[Point]
    values: Doubles
    folds: Ints
    chosen: int
    by_fold: Sequence[int]

    @property
    def held_out(self) -> Doubles:
        """Each topic's values under what the other folds chose, [n_topics, n_columns]."""
        values: Doubles = self.values[np.array(self.by_fold)[self.folds], np.arange(len(self.folds))]
        return values


def split(n_topics: int, n_folds: int, seed: int) -> Ints:
    """The fold of each topic, int64 [n_topics]: drawn from the seed, of equal sizes but for one topic.

    Raises:
        UsageError: there are fewer topics than folds.
    """
    if n_topics < n_folds:
        raise UsageError(f"--folds {n_folds}: there are only {n_topics} topics to divide")
    return np.random.default_rng(seed).permutation(np.arange(n_topics) % n_folds)


def score(values: Doubles) -> float:
    """The mean of the measures' means over topics; values [n_topics, n_columns], NaN passed over."""
    return float(np.mean(np.nanmean(values, axis=0)))


def by_grid(space: Space, evaluate: Evaluate, folds: Ints) -> Choice:
    """Every point is tried; of equal ones the default wins, then the first."""
    points = distinct(space, [space.default, *space.grid()])
    values = np.stack(evaluate(points))
    return _choice(points, values, folds, [_best(values[:, mask]) for mask in _masks(folds)])


def by_coordinates(space: Space, evaluate: Evaluate, folds: Ints) -> Choice:
    """From the default on, one range after the other takes its best value, until none changes.

    Every fold goes its own way, so that the held-out topics have no say in it; they go together, so that what
    several try is evaluated once. There are `MOST_SWEEPS` at most.
    """
    known: dict[Point, Doubles] = {}
    masks = _masks(folds)
    at = [space.default] * len(masks)
    for _ in range(MOST_SWEEPS):
        before = list(at)
        for i in range(len(space.ranges)):
            ways = [distinct(space, space.around(point, i)) for point in at]
            new = [point for point in dict.fromkeys(sum(ways, [])) if point not in known]
            known.update(zip(new, evaluate(new), strict=True))
            for j, (way, mask) in enumerate(zip(ways, masks, strict=True)):
                at[j] = way[_best(np.stack([known[point][mask] for point in way]))]
        if at == before:
            break
    points = list(known)
    return _choice(points, np.stack(list(known.values())), folds, [points.index(point) for point in at])


def check_folds(values: Doubles, folds: Ints, names: Sequence[str]) -> None:
    """Refuse folds of which one has no topic for a measure; values [n_topics, n_columns].

    Raises:
        UsageError: names fold and measure.
    """
    for fold in range(folds.max() + 1):
        empty = np.flatnonzero(np.isnan(values[folds == fold]).all(axis=0))
        if len(empty):
            raise UsageError(
                f"--folds {folds.max() + 1}: fold {fold + 1} has no topic judged for {names[empty[0]]}; fewer"
                " folds, or more judgements"
            )


def _masks(folds: Ints) -> list[Bools]:
    """All topics, then those outside of each fold."""
    return [folds >= 0, *(folds != fold for fold in range(folds.max() + 1))]


def _best(values: Doubles) -> int:
    """The first of the best, values [n, n_topics, n_columns]."""
    return int(np.argmax([score(one) for one in values]))


def _choice(points: Sequence[Point], values: Doubles, folds: Ints, best: Sequence[int]) -> Choice:
    return Choice(points, values, folds, best[0], best[1:])
