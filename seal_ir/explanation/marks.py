"""What keys took of a text: pieces to highlight, and the snippet that says most. Pure functions on ranges."""

from __future__ import annotations

from collections.abc import Sequence

from seal_ir.records import UNIGRAM, Highlight, HitKey

_SNAP = 24  # characters within which a snippet is cut between words
DOTS = "…"


def highlights(contents: str, keys: Sequence[HitKey], unigrams: bool = False) -> list[Highlight]:
    """The pieces of a text that keys took, in their order there; pieces that overlap are joined.

    Args:
        contents: the text.
        keys: with positions in it; a key's share is split evenly over them.
        unigrams: those of unigrams, too.
    """
    pieces = sorted(
        (start, end, key.share / len(key.positions))
        for key in keys
        if unigrams or key.kind != UNIGRAM
        for start, end in key.positions
    )
    joined: list[tuple[int, int, float]] = []
    for start, end, share in pieces:
        if joined and start < joined[-1][1]:
            first, last, sum_ = joined[-1]
            joined[-1] = first, max(last, end), sum_ + share
        else:
            joined.append((start, end, share))
    return [Highlight(start, end, contents[start:end], share) for start, end, share in joined]


def marked(contents: str, pieces: Sequence[Highlight], before: str, after: str) -> str:
    """A text with marks around pieces of it, as `highlights` gives them."""
    return window(contents, pieces, 0, len(contents), before, after)


def snippet(contents: str, keys: Sequence[HitKey], length: int, before: str, after: str) -> str:
    """The piece of a text of at most `length` characters whose keys added most, with marks around these.

    The first of equals. Where something is left out there are dots.
    """
    pieces = highlights(contents, keys) or highlights(contents, keys, unigrams=True)
    start, end = _best_window(contents, pieces, length)
    text = window(contents, pieces, start, end, before, after)
    return f"{DOTS if start else ''}{text}{DOTS if end < len(contents) else ''}"


def window(contents: str, pieces: Sequence[Highlight], start: int, end: int, before: str, after: str) -> str:
    """`contents[start:end]` with marks around what it has of pieces."""
    parts, at = [], start
    for piece in pieces:
        lo, hi = max(piece.start, start), min(piece.end, end)
        if lo < hi:
            parts += [contents[at:lo], before, contents[lo:hi], after]
            at = hi
    return "".join([*parts, contents[at:end]])


def _best_window(contents: str, pieces: Sequence[Highlight], length: int) -> tuple[int, int]:
    """Where the most shares lie together, with as much text around them as there is room for."""
    if len(contents) <= length:
        return 0, len(contents)
    best, first, last = 0.0, 0, 0
    hi, total = 0, 0.0
    for lo, piece in enumerate(pieces):
        while hi < len(pieces) and pieces[hi].end - piece.start <= length:
            total += abs(pieces[hi].share)
            hi += 1
        if total > best:
            best, first, last = total, piece.start, pieces[hi - 1].end
        if hi > lo:
            total -= abs(piece.share)
        else:
            hi = lo + 1  # a piece that is longer than the snippet
    start = max(0, min(first - (length - (last - first)) // 2, len(contents) - length))
    return _between_words(contents, start, start + length, first, max(last, first))


def _between_words(contents: str, start: int, end: int, first: int, last: int) -> tuple[int, int]:
    """A shorter window that cuts no word, where one is near; what lies in `[first, last)` stays in."""
    if start:
        space = next((i for i in range(start, min(first, start + _SNAP)) if contents[i].isspace()), None)
        start = start if space is None else space + 1
    if end < len(contents):
        space = next((i for i in range(end, max(last, end - _SNAP), -1) if contents[i].isspace()), None)
        end = end if space is None else space
    return start, end
