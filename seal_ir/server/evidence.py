"""What a hit's score is made of, as plain JSON values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from seal_ir.explanation.values import rounding_of
from seal_ir.records import Highlight, Hit


def evidence(hit: Hit) -> dict[str, Any]:
    """Its contents, its keys, and where they are; docs/explain.md has the names."""
    return {
        "contents": hit.contents,
        "keys": [key.to_dict() for key in hit.keys],
        "rounding": rounding_of(hit.score, [key.share for key in hit.keys]),
        "highlights": highlighted(hit.highlights()),
    }


def highlighted(pieces: Iterable[Highlight]) -> list[dict[str, Any]]:
    """Pieces of contents that keys took."""
    return [{"start": piece.start, "end": piece.end, "share": piece.share} for piece in pieces]
