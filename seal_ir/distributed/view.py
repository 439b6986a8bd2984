"""Some documents of an index in shards."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.distributed.index import ShardedIndex
from seal_ir.distributed.messages import Within
from seal_ir.index.reader import Index
from seal_ir.index.view import Counts, View, view_of


class ShardedView(ShardedIndex, View):
    """Some documents of a sharded index; see `View`.

    The shards find their rows of it when they are first asked.

    Attributes:
        whole, allowed, counts, n_tokens: see `View`.
    """

    def __init__(self, whole: ShardedIndex, allowed: Ints, counts: Counts = "collection") -> None:
        """See `View`."""
        self.whole, self.allowed, self.counts = whole, allowed, counts
        self.directory, self.manifest, self.shards = whole.directory, whole.manifest, whole.shards
        self._place, self._opening = whole._place, whole._opening
        self.n_documents, self.stores = whole.n_documents, None
        self._bases, self._ids = whole._bases, whole._ids
        parts = np.split(allowed, np.searchsorted(allowed, self._bases[1:-1]))
        digest = hashlib.sha256(np.ascontiguousarray(allowed).tobytes()).hexdigest()
        self._within, self._given = Within(digest, counts), self.shards.keep(parts)
        self._asking = self._new_asking()
        self.n_tokens = whole.n_tokens
        if counts == "filter":
            n_segments = sum(self._ask("n_segments"))
            self.n_tokens = int((self.everything[:, 1] - self.everything[:, 0]).sum()) - n_segments

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardedView, (self.whole, self.allowed, self.counts)

    def reopened(self) -> Index:
        """See `Index.reopened`."""
        return self.whole.reopened()

    def value_lengths(self, field: str) -> Ints:
        """See `View.value_lengths`."""
        return self.whole.value_lengths(field)


@view_of.register
def _(index: ShardedIndex, allowed: Ints, counts: Counts) -> View:
    return ShardedView(index, allowed, counts)
