"""How long the values of a field are that is written whole.

Lengths are found by locating the symbols around the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.index.engine import Occurrences
from seal_ir.index.engines import pieces
from seal_ir.records import Range
from seal_ir.text.symbols import BOUNDARY, Marks

Find = Callable[[Sequence[int]], tuple[Range, ...]]
Locate = Callable[[list[tuple[Range, ...]]], Occurrences]


class Lengths(Protocol):
    """What is asked here of an `Index`, which asks `value_lengths` in turn."""

    @property
    def whole_fields(self) -> Mapping[str, Marks]:
        """The fields that are written whole, and the symbols around their values."""
        ...

    def value_lengths(self, field: str) -> Ints:
        """How many values of a field there are of each length, int64 [longest + 1]."""
        ...


def value_lengths(find: Find, locate: Locate, marks: Marks) -> Ints:
    """How many values there are of each length in tokens, the end included: int64 [longest + 1].

    Memory: 16 bytes a value of a further field. Titles, which all start where their document does, take next
    to nothing.

    Args:
        find: `Index.find`.
        locate: `Index.locate`.
        marks: the symbols around the values.
    """
    if marks.start == BOUNDARY:
        lengths = [np.bincount(found.ends - 1) for found in _located(find, locate, marks.end)]
    else:
        # Values of one field never overlap: in reading order the n-th start belongs to the n-th end.
        starts, ends = (_positions(find, locate, symbol) for symbol in marks)
        lengths = [np.bincount(ends - starts, minlength=1)]
    counts = np.zeros(max(map(len, lengths), default=1), dtype=np.int64)
    for some in lengths:
        counts[: len(some)] += some
    return counts


def _positions(find: Find, locate: Locate, symbol: int) -> Ints:
    """Where in their documents a symbol's occurrences end, in reading order."""
    found = [(part.documents, part.ends) for part in _located(find, locate, symbol)]
    documents, ends = np.concatenate([np.empty((2, 0), np.int64), *map(np.stack, found)], axis=1)
    ordered: Ints = ends[np.lexsort((ends, documents))]
    return ordered


def _located(find: Find, locate: Locate, symbol: int) -> Iterator[Occurrences]:
    for piece in pieces(find([symbol])):
        yield locate([piece.ranges])


def longest(index: Lengths, fields: Iterable[str]) -> int:
    """Tokens of the longest value of some fields, the end included, at least 1; absent fields have none."""
    known = [name for name in fields if name in index.whole_fields]
    return max([1, *(len(index.value_lengths(name)) - 1 for name in known)])
