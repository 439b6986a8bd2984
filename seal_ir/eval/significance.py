"""Whether two systems differ: paired randomisation tests, Holm's correction, bootstrap intervals over topics.

Arrays only. Every function gives the same result for the same seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.arrays import Doubles
from seal_ir.errors import UsageError

_EXACT_SUMS = 1 << 14  # so many different sums are enumerated: all of 14 topics, or many topics of few values
_UNIT = (
    232_792_560  # differences are counted in parts of the largest; a multiple of 1 to 20, so 1/3 + 2/3 is 1
)
_BLOCK = 1 << 20  # numbers drawn at a time


@dataclass(frozen=True, slots=True)
class Resampling:
    """How much is drawn, and from where.

    Attributes:
        permutations: random assignments of signs, where not all can be enumerated.
        resamples: bootstrap samples of topics.
        level: of confidence intervals, in (0, 1).
        seed: of both.
    """

    permutations: int = 10_000
    resamples: int = 10_000
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, permutations=1, resamples=1)
        if not 0 < self.level < 1:
            raise UsageError(f"level is {self.level}; it must lie between 0 and 1")
        check_least(self, seed=0)


DEFAULTS = Resampling()


def randomisation_p(differences: Doubles, options: Resampling = DEFAULTS) -> float:
    """Two-sided p of the paired randomisation test on the mean of differences, float64 [n_topics].

    Under the null hypothesis each topic's difference has either sign with equal chance; p is the
    probability of a mean at least as far from 0 as the one seen. It is exact where few different sums are
    possible (few topics that differ, or many that differ by 0 and 1 only); else it is (1 + b) / (1 + B),
    b of B random assignments of signs being as far out (Phipson and Smyth, 2010), so that it is never 0.
    """
    moved = differences[differences != 0]
    if not len(moved):
        return 1.0
    units = np.rint(moved / np.abs(moved).max() * _UNIT)  # whole numbers, so that sums are exact
    least = abs(units.sum()) - len(units)  # what rounding to units may have added
    exact = _sums(units)
    if exact is not None:
        sums, chances = exact
        return float(max(min(1.0, chances[np.abs(sums) >= least].sum()), np.finfo(np.float64).tiny))
    draw = np.random.default_rng(options.seed)
    total = units.sum()
    n_far = 0
    for n in _blocks(options.permutations, len(units)):
        flipped = draw.integers(0, 2, size=(n, len(units)), dtype=np.int8)
        n_far += int((np.abs(total - 2 * (flipped @ units)) >= least).sum())
    return (1 + n_far) / (1 + options.permutations)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values, each corrected for all of them: at most 1, and not below one that was smaller before."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = least
    return corrected


def bootstrap_intervals(values: Doubles, options: Resampling = DEFAULTS) -> Doubles:
    """Percentile intervals [n_series, 2] of the means of several series, float64 [n_topics, n_series].

    All series are seen through the same samples of topics, drawn with replacement, so that the interval of
    a difference is that of a paired bootstrap.
    """
    n_topics, n_series = values.shape
    draw = np.random.default_rng(options.seed)
    means = np.empty((options.resamples, n_series))
    done = 0
    for n in _blocks(options.resamples, n_topics):
        topics = draw.integers(0, n_topics, size=(n, n_topics))
        topics += np.arange(n)[:, None] * n_topics
        taken = np.bincount(topics.ravel(), minlength=n * n_topics).reshape(n, n_topics)
        means[done : done + n] = taken @ values / n_topics
        done += n
    tail = (1 - options.level) / 2
    return np.quantile(means, [tail, 1 - tail], axis=0).T


def _sums(units: Doubles) -> tuple[Doubles, Doubles] | None:
    """All sums of whole numbers under every assignment of signs, with their chances; None if too many."""
    sums, chances = np.zeros(1), np.ones(1)
    for unit in units:
        sums, place = np.unique(np.concatenate([sums + unit, sums - unit]), return_inverse=True)
        halves = np.concatenate([chances, chances]) / 2
        chances = np.bincount(place, weights=halves).astype(np.float64)
        if len(sums) > _EXACT_SUMS:
            return None
    return sums, chances


def _blocks(total: int, width: int) -> list[int]:
    """`total` rows of this width in blocks that stay small in memory."""
    step = max(1, _BLOCK // max(1, width))
    return [min(step, total - at) for at in range(0, total, step)]
