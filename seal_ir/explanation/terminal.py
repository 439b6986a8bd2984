"""Hits and explanations as text: coloured by `rich` where it is installed and the output is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp
from typing import NamedTuple

from seal_ir.decode.recorder import Decoding
from seal_ir.explanation.marks import highlights
from seal_ir.explanation.values import RANKED, Explanation
from seal_ir.records import UNIGRAM, Hit, HitKey

_WIDTH = 34  # characters of a key
_BAR = 20  # of a bar that is all of a score
_MOST_SHOWN = 12  # keys of a hit
STRONG, WEAK, TITLE = "bold yellow", "dim", "bold"


class Run(NamedTuple):
    """Text in one style; "" for none. Styles are `rich`'s."""

    text: str
    style: str = ""


def shown_hit(rank: int, hit: Hit, full: bool = False) -> Iterable[Run]:
    """A hit: docid and score, its text with what keys took, and the keys.

    Args:
        rank: from 1.
        hit: with keys.
        full: its whole text, and not the snippet alone.
    """
    yield Run(f"{rank}. {one_line(hit.docid)}", TITLE)
    yield Run(f"  {hit.score:.4f}\n")
    if full:
        yield from _marked(hit.contents or "", hit.keys)
        yield Run("\n")
    else:
        for at, piece in enumerate(hit.snippet(before="\0", after="\0").split("\0")):
            yield Run(one_line(piece), STRONG if at % 2 else "")
        yield Run("\n")
    yield from shown_keys(hit.keys)


def shown_explanation(found: Explanation) -> Iterable[Run]:
    """A document's explanation."""
    yield Run(one_line(found.docid), TITLE)
    yield Run("" if found.score is None else f"  {found.score:.4f}")
    yield Run(f"  {found.status}: {found.reason}\n", "" if found.status == RANKED else "bold")
    if found.last_score is not None and found.status != RANKED:
        yield Run(f"the last of the {found.k:,} hits has {found.last_score:.4f}\n")
    if found.contents is not None:
        yield from _marked(found.contents, found.keys)
        yield Run("\n")
    yield from shown_keys(found.keys)
    for title, keys in (("held, and adding nothing:", found.unused), ("not held:", found.lacking)):
        if keys:
            yield Run(f"{title}\n", TITLE)
            yield from (Run(_weighed(key), WEAK) for key in keys[:_MOST_SHOWN])
    left = found.n_lacking - min(len(found.lacking), _MOST_SHOWN)
    if left > 0:
        yield Run(f"  and {left:,} more that it does not hold\n", WEAK)


def shown_keys(keys: Sequence[HitKey]) -> Iterable[Run]:
    """The keys that added most, with bars; unigrams and further keys are summed up."""
    most = sorted((key for key in keys if key.kind != UNIGRAM), key=lambda key: -key.fraction)
    for key in most[:_MOST_SHOWN]:
        bar = "█" * round(_BAR * min(max(key.fraction, 0.0), 1.0))
        yield Run(f"  {_cut(key.text):{_WIDTH}} {key.kind:8} ", "")
        yield Run(f"{key.share:9.4f} {100 * key.fraction:5.1f} % ")
        yield Run(f"{bar:{_BAR}}", STRONG)
        yield Run(f" F {key.count:,}\n", WEAK)
    unigrams = [key for key in keys if key.kind == UNIGRAM]
    for name, some in (("further keys", most[_MOST_SHOWN:]), ("unigrams", unigrams)):
        if some:
            share, part = sum(key.share for key in some), sum(key.fraction for key in some)
            told = f"{len(some)} {name}"
            yield Run(f"  {told:{_WIDTH}} {'':8} {share:9.4f} {100 * part:5.1f} %\n", WEAK)


def _marked(contents: str, keys: Sequence[HitKey]) -> Iterable[Run]:
    at = 0
    for piece in highlights(contents, keys):
        yield Run(_printable(contents[at : piece.start]))
        yield Run(_printable(piece.text), STRONG)
        at = piece.end
    yield Run(_printable(contents[at:]))


def _weighed(key: HitKey) -> str:
    return f"  {_cut(key.text):{_WIDTH}} {key.kind:8} weight {key.weight:8.4f}  F {key.count:,}\n"


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…"


def one_line(text: str) -> str:
    """Text on one line, without what moves a terminal's cursor or colours it."""
    return " ".join(_printable(text).split("\n")) if "\n" in text else _printable(text)


def _printable(text: str) -> str:
    """Without what moves a terminal's cursor or colours it."""
    kept = ("\n", "\t")
    return "".join(c if c.isprintable() or c in kept else "\N{REPLACEMENT CHARACTER}" for c in text)


def shown_decoding(found: Decoding) -> Iterable[Run]:
    """How the keys were written, step by step."""
    for kind, steps in found.kinds:
        for step in steps:
            yield Run(f"{kind}, step {step.number}\n", TITLE)
            for item in step.hypotheses:
                yield Run(
                    f"  {_cut(item.text) or '-':{_WIDTH}} P {exp(item.logprob):.4f}  F {item.count:<8,} "
                )
                yield Run(f"{item.n_allowed:6,} may follow, {100 * item.allowed_mass:3.0f} % of P", WEAK)
                refused = ", ".join(f"{one_line(token.text)!r}" for token in item.refused[:3])
                yield Run(f"; refused: {refused}\n" if refused else "\n", WEAK)
    if found.truncated:
        yield Run("further steps were not recorded\n", WEAK)
