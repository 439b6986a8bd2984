"""A fused hit's parts: what each ranking gave it, and of SEAL's the keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from seal_ir.records import Hit
from seal_ir.search.fusion import Entry, Fusion, contributions, fuse_all

SEAL = "seal"


class FusedPart(NamedTuple):
    """What a ranking gave a document.

    Attributes:
        system: its name.
        rank: the document's rank there, from 1; None where it is not among those that were fused.
        score: its score there.
        contribution: what this added to the fused score; 0 where it is not there.
    """

    system: str
    rank: int | None
    score: float | None
    contribution: float


@dataclass(frozen=True, slots=True)
class FusedHit:
    """A document of a fused ranking.

    Attributes:
        docid: the document.
        score: the contributions, added up in float64 in the order of the parts, to the bit.
        parts: SEAL's first.
        hit: SEAL's, with its keys; None where it is not among those that were fused.
    """

    docid: str
    score: float
    parts: tuple[FusedPart, ...]
    hit: Hit | None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        keys = [] if self.hit is None else [key.to_dict() for key in self.hit.keys]
        parts = [part._asdict() for part in self.parts]
        return {"docid": self.docid, "score": self.score, "parts": parts, "keys": keys}


def fused_hits(
    hits: Sequence[Hit], others: Mapping[str, Sequence[Entry]], fusion: Fusion, n: int
) -> list[FusedHit]:
    """The best n of SEAL's hits fused with other rankings.

    Args:
        hits: SEAL's, best first, with keys.
        others: rankings by name, best first, in the order of the fusion's weights.
        fusion: how.
        n: how many.

    Raises:
        UsageError: the fusion has weights for another number of rankings.
    """
    depth = fusion.depth or n
    seal: Sequence[Entry] = [(hit.docid, hit.score) for hit in hits]
    rankings = [entries[:depth] for entries in (seal, *others.values())]
    given = [dict(entries) for entries in contributions(rankings, fusion)]
    places = [{docid: at for at, (docid, _) in enumerate(entries)} for entries in rankings]
    known = {hit.docid: hit for hit in hits[:depth]}
    found = []
    for docid, score in fuse_all(rankings, fusion)[:n]:
        parts = []
        for system, entries, its, added in zip((SEAL, *others), rankings, places, given, strict=True):
            at = its.get(docid)
            rank, its_score = (None, None) if at is None else (1 + at, entries[at][1])
            parts.append(FusedPart(system, rank, its_score, added.get(docid, 0.0)))
        found.append(FusedHit(docid, score, tuple(parts), known.get(docid)))
    return found
