"""Explanations as frozen values, and as JSON whose shape stays; docs/explain.md has it name by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from seal_ir.decode.recorder import Decoding
from seal_ir.explanation.html import explanation_html
from seal_ir.records import HitKey

VERSION = 1  # of the JSON; names are only ever added within one
RANKED, BEYOND_K, NOT_CANDIDATE, NO_KEYS = "ranked", "beyond_k", "not_candidate", "no_keys"
OUTSIDE_FILTER, DELETED, UNKNOWN = "outside_filter", "deleted", "unknown"
STATUSES = (RANKED, BEYOND_K, NOT_CANDIDATE, NO_KEYS, OUTSIDE_FILTER, DELETED, UNKNOWN)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a document ranks where it does for a query, or not at all.

    Attributes:
        query: the query.
        docid: the document.
        status: one of `STATUSES`.
        reason: the same as a sentence, with what to change where something can be.
        k: hits that were asked for.
        rank: from 1; None for one that is no candidate.
        would_rank: of one that is none, the rank that its score has among the candidates; None where it has
            no score or is one.
        score: exact, whether it ranks or not; None for one that is not there.
        last_score: of the k-th hit; None where there are fewer.
        n_candidates: documents that were scored; None for a document that is not there.
        keys: that make the score, in the order in which they were taken.
        unused: keys of the query that it holds and that add nothing: heavier ones lie over them, or (score
            "max") only the best one counts. The heaviest first.
        lacking: the heaviest keys of the query that it does not hold, at most as many as were asked for.
        n_lacking: how many it does not hold.
        contents: what positions are in; None for one that is not there.
        preset: what it was ranked by.
        decoding: how the model wrote the keys, where that was asked for.
    """

    query: str
    docid: str
    status: str
    reason: str
    k: int
    preset: str
    rank: int | None = None
    would_rank: int | None = None
    score: float | None = None
    last_score: float | None = None
    n_candidates: int | None = None
    keys: tuple[HitKey, ...] = ()
    unused: tuple[HitKey, ...] = ()
    lacking: tuple[HitKey, ...] = ()
    n_lacking: int = 0
    contents: str | None = None
    decoding: Decoding | None = None

    @property
    def rounding(self) -> float:
        """The score minus the exact sum of the shares: `math.fsum([*shares, rounding])` is the score."""
        return rounding_of(self.score or 0.0, [key.share for key in self.keys])

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        values: dict[str, Any] = {"version": VERSION}
        plain: tuple[str, ...] = (
            "query",
            "docid",
            "status",
            "reason",
            "k",
            "preset",
            "rank",
            "would_rank",
            "score",
        )
        plain += ("last_score", "n_candidates", "rounding")
        values |= {name: getattr(self, name) for name in plain}
        for name in ("keys", "unused", "lacking"):
            values[name] = [key.to_dict() for key in getattr(self, name)]
        values |= {"n_lacking": self.n_lacking, "contents": self.contents}
        values["decoding"] = None if self.decoding is None else self.decoding.to_dict()
        return values

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return explanation_html(self)


def rounding_of(score: float, shares: Sequence[float]) -> float:
    """What adding up in float64 took from the exact sum of shares, or gave it."""
    return fsum([score, *(-share for share in shares)])
