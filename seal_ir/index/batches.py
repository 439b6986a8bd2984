"""Batches of n-grams: what follows them, where they occur; segments' answers as one; many rows in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.records import Range

PIECE = 1 << 17  # rows that are located at a time where there may be millions


class Successors(NamedTuple):
    """What follows a batch of n-grams: entries [offsets[i], offsets[i + 1]) belong to n-gram i."""

    offsets: Ints  # [n + 1]
    symbols: Symbols  # [m], ascending within one n-gram
    ranges: Ints  # [m, n_segments, 2]


class Occurrences(NamedTuple):
    """Where n-grams occur, grouped by n-gram and, within one, in no particular order."""

    offsets: Ints  # [n + 1]
    documents: Ints  # [m]
    ends: Ints  # [m], exclusive, counted from the start of the document's stream


def rows_of(ranges: Ints) -> tuple[Ints, Ints]:
    """The rows of ranges [n, 2], one range after the other, and which range each row is of."""
    sizes = ranges[:, 1] - ranges[:, 0]
    owner = np.repeat(np.arange(len(ranges)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(ranges[:, 0], sizes) + np.arange(len(owner)) - first, owner


def pieces(ranges: Sequence[Range], segment: int) -> Iterator[tuple[Range, ...]]:
    """The rows of an n-gram in one segment, at most `PIECE` at a time, as ranges of all segments."""
    nothing = [Range(0, 0)] * len(ranges)
    lo, hi = ranges[segment]
    for at in range(lo, hi, PIECE):
        yield (*nothing[:segment], Range(at, min(at + PIECE, hi)), *nothing[segment + 1 :])


def merged(parts: Sequence[tuple[Ints, Symbols, Ints]], n: int) -> Successors:
    """The union of several segments' successors; absent symbols get empty ranges."""
    owners = [np.repeat(np.arange(n), np.diff(offsets)) for offsets, _, _ in parts]
    # One integer per (n-gram, symbol) pair sorts by n-gram first and by symbol second.
    pairs = [
        owner.astype(np.int64) << 32 | symbols for owner, (_, symbols, _) in zip(owners, parts, strict=True)
    ]
    union = np.unique(np.concatenate(pairs))
    ranges = np.zeros((len(union), len(parts), 2), dtype=np.int64)
    for s, (_, _, extended) in enumerate(parts):
        ranges[np.searchsorted(union, pairs[s]), s] = extended
    offsets = np.searchsorted(union, np.arange(n + 1) << 32)
    return Successors(offsets, (union & 0xFFFFFFFF).astype(np.uint32), ranges)
