"""What the command has to show, as JSON, as a page and as text: hits, fused hits, or one document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from seal_ir.decode.recorder import Decoding
from seal_ir.explanation.html import decoding_html, escaped, hit_html
from seal_ir.explanation.terminal import (
    TITLE,
    WEAK,
    Run,
    one_line,
    shown_decoding,
    shown_explanation,
    shown_hit,
)
from seal_ir.explanation.values import VERSION, Explanation, rounding_of
from seal_ir.records import Hit
from seal_ir.search.fused import FusedHit

_STYLE = (
    "body{font:15px/1.45 system-ui,sans-serif;max-width:56em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;font-size:90%;margin:.5em 0}td,th{padding:0 .8em 0 0;text-align:left}"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is shown of a query: an explanation, fused hits, or hits.

    Attributes:
        query, preset: what was asked, and how it was ranked.
        hits: SEAL's, with keys.
        fused: of a fusion, instead of `hits`; None without one.
        explanation: of one document, instead of both.
        decoding: how the keys were written, where that was asked for.
    """

    query: str
    preset: str
    hits: Sequence[Hit] = ()
    fused: Sequence[FusedHit] | None = None
    explanation: Explanation | None = None
    decoding: Decoding | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        if self.explanation is not None:
            return self.explanation.to_dict()
        values: dict[str, Any] = {"version": VERSION, "query": self.query, "preset": self.preset}
        if self.fused is not None:
            values["hits"] = [{"rank": n, **hit.to_dict()} for n, hit in enumerate(self.fused, 1)]
        else:
            values["hits"] = [_hit(n, hit) for n, hit in enumerate(self.hits, 1)]
        values["decoding"] = None if self.decoding is None else self.decoding.to_dict()
        return values

    def page(self) -> str:
        """A page of HTML that needs nothing else."""
        title = escaped(self.query)
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{_STYLE}</style></head><body><h1>{title}</h1>\n{''.join(self._pieces())}</body></html>\n"
        )

    def text(self, full: bool) -> Iterator[Run]:
        """Text for a terminal; `full`: with whole texts."""
        if self.explanation is not None:
            yield from shown_explanation(self.explanation)
        elif self.fused is not None:
            yield from _fused_text(self.fused, full)
        else:
            for number, hit in enumerate(self.hits, 1):
                yield from shown_hit(number, hit, full)
        if not (self.explanation or self.fused or self.hits):
            yield Run("no hits\n")
        if self.decoding is not None:
            yield from shown_decoding(self.decoding)

    def _pieces(self) -> Iterable[str]:
        if self.explanation is not None:
            yield self.explanation._repr_html_()
        elif self.fused is not None:
            for number, fused in enumerate(self.fused, 1):
                yield f"<p><b>{number}. {escaped(fused.docid)}</b> <code>{fused.score:.4f}</code> = "
                yield f"{' + '.join(map(escaped, _parts(fused)))}</p>"
                if fused.hit is not None:
                    yield _hit_html(fused.hit)
        else:
            for number, hit in enumerate(self.hits, 1):
                yield _hit_html(hit, number)
        if self.decoding is not None:
            yield decoding_html(self.decoding)


def _hit(number: int, hit: Hit) -> dict[str, Any]:
    keys = hit.keys
    return {
        "rank": number,
        "docid": hit.docid,
        "score": hit.score,
        "rounding": rounding_of(hit.score, [key.share for key in keys]),
        "keys": [key.to_dict() for key in keys],
        "contents": hit.contents,
    }


def _hit_html(hit: Hit, rank: int = 0) -> str:
    return hit_html(hit.docid, hit.score, hit.contents or "", hit.keys, rank)


def _fused_text(fused: Sequence[FusedHit], full: bool) -> Iterator[Run]:
    for number, item in enumerate(fused, 1):
        yield Run(f"{number}. {one_line(item.docid)}", TITLE)
        yield Run(f"  {item.score:.4f} = {' + '.join(_parts(item))}\n")
        if item.hit is not None:
            yield from shown_hit(item.parts[0].rank or 0, item.hit, full)
        else:
            yield Run("   not among SEAL's hits that were fused\n", WEAK)


def _parts(fused: FusedHit) -> list[str]:
    """`seal .0164 (rank 1, score 12.5)`, one a ranking."""
    return [
        f"{part.system} {part.contribution:.4f}"
        + ("" if part.rank is None else f" (rank {part.rank}, score {part.score:.4f})")
        for part in fused.parts
    ]
