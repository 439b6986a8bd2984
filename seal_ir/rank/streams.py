"""The texts of candidates: from memory where they were read before, else from the index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seal_ir.arrays import Ints, Symbols
from seal_ir.forks import OwnOfProcess
from seal_ir.index.reader import Index
from seal_ir.rank.compiled import Cache

DEFAULT_CACHE_BYTES = 128 << 20  # the passages of 40 million tokens


class Streams:
    """Streams of an index's documents, those read last kept in a fixed amount of memory.

    Candidates recur from query to query, and reading one from an FM-index takes a step per token. May be used
    from several threads. A copy, a pickled one and one in a forked process keep texts of their own.
    """

    def __init__(self, index: Index, n_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """Keep nothing yet.

        Args:
            index: whose documents.
            n_bytes: memory for kept streams, most of it taken as it fills; 0 keeps none.
        """
        self._index, self._n_bytes = index, n_bytes
        self._cache = OwnOfProcess(lambda: Cache(n_bytes) if n_bytes else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Streams, (self._index, self._n_bytes)

    def read(self, documents: Ints) -> Iterator[tuple[Ints, Ints, Symbols]]:
        """All of the documents, in one or two parts: numbers [n], offsets [n + 1] and symbols of each.

        Args:
            documents: int64 [n].
        """
        absent = documents
        cache = self._cache.get()
        if cache is not None:
            kept, offsets, symbols, absent = cache.get(documents)
            if len(kept):
                yield kept, offsets, symbols
        if len(absent):
            offsets, symbols = self._index.extract(absent)
            if cache is not None:
                cache.put(absent, offsets, symbols)
            yield absent, offsets, symbols
