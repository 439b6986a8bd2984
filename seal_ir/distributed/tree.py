"""The n-grams that a batch of decoding has met, as a tree: what stands for rows where an index has none."""

from __future__ import annotations

import threading

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.distributed.messages import NGrams, narrowed

ROOT = 0  # the empty n-gram


class NGramTree:
    """N-grams by number, each a prefix and a symbol. Safe to use from several threads; 20 bytes an n-gram."""

    def __init__(self) -> None:
        """Of the empty n-gram alone."""
        self._adding = threading.Lock()
        self._n = 1
        self._prefixes = np.zeros(1024, dtype=np.int64)
        self._symbols = np.zeros(1024, dtype=np.uint32)
        self._lengths = np.zeros(1024, dtype=np.int64)

    def add(self, prefixes: Ints, symbols: Symbols) -> Ints:
        """New numbers [n] for n-grams, be they known by others already.

        Args:
            prefixes: their numbers, int64 [n].
            symbols: uint32 [n].
        """
        with self._adding:
            first, end = self._n, self._n + len(prefixes)
            if end > len(self._prefixes):
                size = max(end, 2 * len(self._prefixes))
                for name in ("_prefixes", "_symbols", "_lengths"):
                    old = getattr(self, name)
                    new = np.zeros(size, dtype=old.dtype)
                    new[:first] = old[:first]
                    setattr(self, name, new)
            self._prefixes[first:end], self._symbols[first:end] = prefixes, symbols
            self._lengths[first:end] = self._lengths[prefixes] + 1
            self._n = end
        return np.arange(first, end)

    def last(self, numbers: Ints) -> tuple[Ints, Symbols]:
        """The prefix and the last symbol of n-grams, none of them empty."""
        return self._prefixes[numbers], self._symbols[numbers]

    def ngrams(self, numbers: Ints) -> NGrams:
        """N-grams as they travel."""
        prefixes, symbols, lengths = self._prefixes, self._symbols, self._lengths[numbers]
        ends = np.cumsum(lengths)
        written = np.zeros(int(lengths.sum()), dtype=np.uint32)
        at, here = ends - 1, numbers
        going = np.flatnonzero(here != ROOT)
        while len(going):
            written[at[going]] = symbols[here[going]]
            here, at = prefixes[here], at - 1
            going = np.flatnonzero(here != ROOT)
        return NGrams(narrowed(lengths), written)

    def names(self, numbers: Ints) -> list[bytes]:
        """N-grams as the bytes of their symbols."""
        return self.ngrams(numbers).names


def as_ranges(numbers: Ints, counts: Ints) -> Ints:
    """What stands for rows: [number, number + count), int64 [n, 1, 2]."""
    return np.stack([numbers, numbers + counts], axis=-1)[:, None]


def numbers_of(ranges: Ints) -> Ints:
    """The numbers of n-grams [n, 1, 2], int64 [n]."""
    numbers: Ints = ranges[:, 0, 0]
    return numbers
