"""Rankings of one topic made into one, with the arithmetic of `pyserini.fusion`; no files, no Java."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import fsum
from typing import Any

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import shown

Entry = tuple[str, float]  # docid and score, as `read_run` gives them
METHODS = ("rrf", "interpolation")
NORMALISATIONS = ("min-max", "z-score", "sum")


@dataclass(frozen=True, slots=True)
class Fusion:
    """How rankings become one: SEAL's, which is the first, and those that it is fused with.

    A document's score is the sum of w_i / (rrf_k + its rank in ranking i) under "rrf", whatever the scores,
    and of w_i n_i(its score in ranking i) under "interpolation". What a ranking lacks gets nothing from it.

    Attributes:
        method: "rrf" or "interpolation".
        alpha: weight of the first ranking under interpolation; the others share 1 - alpha equally.
        rrf_k: the larger, the less the first ranks stand out.
        normalisation: n_i, by which scores of different systems can be added; see `normalised`.
        weights: w_i, one a ranking, instead of alpha, or of 1 each under rrf.
        depth: first entries of each ranking that are fused; 0 for as many as are wanted.
    """

    method: str = "rrf"
    alpha: float = 0.5
    rrf_k: int = 60
    normalisation: str = "min-max"
    weights: tuple[float, ...] = ()
    depth: int = 0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        for what, value, known in (
            ("fusion", self.method, METHODS),
            ("normalisation", self.normalisation, NORMALISATIONS),
        ):
            if value not in known:
                raise UsageError(f"unknown {what} {shown(value)}; choose one of {', '.join(known)}")
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha is {self.alpha}; it must be within 0 and 1")
        check_least(self, rrf_k=0, depth=0)
        for weight in self.weights:
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not number or not 0 <= weight < math.inf:
                raise UsageError(f"weights holds {shown(weight)}; weights are finite numbers from 0 on")
        if self.weights and not any(self.weights):
            raise UsageError("weights are all 0; one must count")

    def check_number(self, n: int) -> None:
        """Refuse weights of another number of rankings than `n`.

        Raises:
            UsageError: says how many there are of either.
        """
        if self.weights and len(self.weights) != n:
            raise UsageError(
                f"{len(self.weights)} weights of fusion for {n} rankings; give one for SEAL's, then one for"
                " each that --fuse names"
            )

    def of_each(self, n: int) -> tuple[float, ...]:
        """The weights of n rankings."""
        if self.weights:
            return self.weights
        if self.method == "rrf":
            return (1.0,) * n
        return (self.alpha, *[(1 - self.alpha) / (n - 1)] * (n - 1))

    def counts(self, name: str) -> bool:
        """Whether a setting says anything beside the others."""
        unused = {"alpha", "normalisation"} if self.method == "rrf" else {"rrf_k"}
        return name not in unused and not (name == "alpha" and self.weights)

    def settings(self) -> dict[str, Any]:
        """Those that count under its method, but for the depth, as plain JSON values."""
        values: dict[str, Any] = {"method": self.method}
        if self.method == "rrf":
            values["rrf_k"] = self.rrf_k
        elif self.normalisation != NORMALISATIONS[0]:
            values["normalisation"] = self.normalisation
        if self.weights:
            values["weights"] = list(self.weights)
        elif self.method == "interpolation":
            values["alpha"] = self.alpha
        return values


def best(entries: Iterable[Entry], n: int) -> list[Entry]:
    """The n entries of the highest scores, best first; equal ones stay in the order given."""
    return sorted(entries, key=lambda entry: entry[1], reverse=True)[:n]


def fuse(first: Sequence[Entry], second: Sequence[Entry], fusion: Fusion) -> list[Entry]:
    """`fuse_all` of two rankings."""
    return fuse_all((first, second), fusion)


def fuse_all(rankings: Sequence[Sequence[Entry]], fusion: Fusion) -> list[Entry]:
    """All documents of the rankings, each best first, by their fused scores; equal ones by docid.

    No document may come twice in a ranking; any may be empty.

    Raises:
        UsageError: the fusion has weights for another number of rankings.
    """
    return _summed(contributions(rankings, fusion))


def contributions(rankings: Sequence[Sequence[Entry]], fusion: Fusion) -> list[list[Entry]]:
    """What each ranking gives the fused scores of its documents, which are the sums in this order.

    Raises:
        UsageError: as `fuse_all`.
    """
    fusion.check_number(len(rankings))
    weights = fusion.of_each(len(rankings))
    if fusion.method == "rrf":
        return list(map(_reciprocal, rankings, repeat(fusion.rrf_k), weights))
    return [
        [(docid, score * weight) for docid, score in normalised(entries, fusion.normalisation)]
        for entries, weight in zip(rankings, weights, strict=True)
    ]


def fuse_ranks(rankings: Iterable[Sequence[Entry]], rrf_k: int = 60) -> list[Entry]:
    """All documents of any number of rankings, each best first, by `Fusion`'s rrf; equal ones by docid."""
    return _summed(_reciprocal(entries, rrf_k, 1.0) for entries in rankings)


def normalised(entries: Sequence[Entry], normalisation: str = NORMALISATIONS[0]) -> list[Entry]:
    """Entries with scores that can be added to those of another system's: 0 the lowest.

    (s - lowest) / spread, where spread is

    - "min-max": highest - lowest, so that the highest becomes 1;
    - "z-score": the standard deviation of the scores, so that a highest one that stands out becomes more than
      that of a ranking which falls evenly;
    - "sum": the sum of all s - lowest.

    All become 1 if the scores are equal.
    """
    scores = [score for _, score in entries]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    if high == low:
        return [(docid, 1.0) for docid, _ in entries]
    spread = _spread(scores, low, high, normalisation)
    return [(docid, (score - low) / spread) for docid, score in entries]


def _spread(scores: Sequence[float], low: float, high: float, normalisation: str) -> float:
    if normalisation == "z-score":
        return float(np.std(scores)) or high - low  # 0 where scores differ by rounding only
    if normalisation == "sum":
        return fsum(score - low for score in scores)
    return high - low


def _reciprocal(entries: Sequence[Entry], rrf_k: int, weight: float) -> list[Entry]:
    return [(docid, weight / (rrf_k + rank)) for rank, (docid, _) in enumerate(entries, start=1)]


def _summed(parts: Iterable[Iterable[Entry]]) -> list[Entry]:
    scores: dict[str, float] = {}
    for part in parts:
        for docid, score in part:
            scores[docid] = scores.get(docid, 0.0) + score
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
