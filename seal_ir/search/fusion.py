"""Rankings of one topic made into one, with the arithmetic of `pyserini.fusion`; no files, no Java."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seal_ir.arguments import check_least
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import shown

Entry = tuple[str, float]  # docid and score, as `read_run` gives them
METHODS = ("rrf", "interpolation")


@dataclass(frozen=True, slots=True)
class Fusion:
    """How two rankings become one.

    Attributes:
        method: "rrf" adds 1 / (rrf_k + rank), whatever the scores; "interpolation" adds scores that were
            brought into [0, 1] (`normalised`), weighted. What a ranking lacks gets nothing from it.
        alpha: weight of the first ranking under interpolation; the second has 1 - alpha.
        rrf_k: the larger, the less the first ranks stand out.
    """

    method: str = "rrf"
    alpha: float = 0.5
    rrf_k: int = 60

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.method not in METHODS:
            raise UsageError(f"unknown fusion {shown(self.method)}; choose one of {', '.join(METHODS)}")
        if not 0 <= self.alpha <= 1:
            raise UsageError(f"alpha is {self.alpha}; it must be within 0 and 1")
        check_least(self, rrf_k=0)


def best(entries: Iterable[Entry], n: int) -> list[Entry]:
    """The n entries of the highest scores, best first; equal ones stay in the order given."""
    return sorted(entries, key=lambda entry: entry[1], reverse=True)[:n]


def fuse(first: Sequence[Entry], second: Sequence[Entry], fusion: Fusion) -> list[Entry]:
    """All documents of two rankings, each best first, by their fused scores; equal ones by docid.

    No document may come twice in a ranking; either may be empty.
    """
    if fusion.method == "rrf":
        return fuse_ranks((first, second), fusion.rrf_k)
    weights = (fusion.alpha, 1 - fusion.alpha)
    return _summed(
        [(docid, score * weight) for docid, score in normalised(entries)]
        for entries, weight in zip((first, second), weights, strict=True)
    )


def fuse_ranks(rankings: Iterable[Sequence[Entry]], rrf_k: int = 60) -> list[Entry]:
    """All documents of any number of rankings, each best first, by `Fusion`'s rrf; equal ones by docid."""
    return _summed(
        [(docid, 1 / (rrf_k + rank)) for rank, (docid, _) in enumerate(entries, start=1)]
        for entries in rankings
    )


def normalised(entries: Sequence[Entry]) -> list[Entry]:
    """Entries with their scores spread over [0, 1]: 0 the lowest, 1 the highest; all 1 if they are equal."""
    low = min((score for _, score in entries), default=0.0)
    high = max((score for _, score in entries), default=0.0)
    if high == low:
        return [(docid, 1.0) for docid, _ in entries]
    return [(docid, (score - low) / (high - low)) for docid, score in entries]


def _summed(parts: Iterable[Iterable[Entry]]) -> list[Entry]:
    scores: dict[str, float] = {}
    for part in parts:
        for docid, score in part:
            scores[docid] = scores.get(docid, 0.0) + score
    return sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))
