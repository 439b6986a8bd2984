"""The texts of candidates: from memory where they were read before, else from the index."""

from __future__ import annotations

from collections.abc import Iterator

from seal_ir.index.engine import Ints
from seal_ir.index.reader import Index
from seal_ir.rank.compiled import Cache
from seal_ir.text.symbols import Symbols

DEFAULT_CACHE_BYTES = 128 << 20  # the passages of 40 million tokens


class Streams:
    """Streams of an index's documents, those read last kept in a fixed amount of memory.

    Candidates recur from query to query, and reading one from an FM-index takes a step per token. May be used
    from several threads.
    """

    def __init__(self, index: Index, n_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """Keep nothing yet.

        Args:
            index: whose documents.
            n_bytes: memory for kept streams, most of it taken as it fills; 0 keeps none.
        """
        self._index = index
        self._cache = Cache(n_bytes) if n_bytes else None

    def read(self, documents: Ints) -> Iterator[tuple[Ints, Ints, Symbols]]:
        """All of the documents, in one or two parts: numbers [n], offsets [n + 1] and symbols of each.

        Args:
            documents: int64 [n].
        """
        absent = documents
        if self._cache is not None:
            kept, offsets, symbols, absent = self._cache.get(documents)
            if len(kept):
                yield kept, offsets, symbols
        if len(absent):
            offsets, symbols = self._index.extract(absent)
            if self._cache is not None:
                self._cache.put(absent, offsets, symbols)
            yield absent, offsets, symbols
