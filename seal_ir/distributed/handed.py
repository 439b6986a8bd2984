"""An open sharded index, handed to another process of its cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from seal_ir.arrays import Ints
from seal_ir.distributed.index import ShardedIndex
from seal_ir.distributed.messages import Shards
from seal_ir.distributed.view import ShardedView
from seal_ir.index.manifest import Manifest
from seal_ir.index.view import Counts


@dataclass(frozen=True, slots=True)
class Handed:
    """What another process needs to ask the same shards; a sharded index that is pickled starts new ones.

    Attributes:
        directory: the index, which that process finds under the same path, too.
        manifest: the generation.
        shards: who answers.
        allowed: the documents of a view, int64 [n] ascending; None: all.
        counts: of a view.
    """

    directory: Path
    manifest: Manifest
    shards: Shards
    allowed: Ints | None
    counts: Counts

    @classmethod
    def of(cls, index: ShardedIndex) -> Handed:
        """Of an open index, or of a view of one."""
        allowed, counts = (index.allowed, index.counts) if isinstance(index, ShardedView) else (None, None)
        return cls(index.directory.absolute(), index.manifest, index.shards, allowed, counts or "collection")

    def opened(self) -> ShardedIndex:
        """The index there."""
        index = ShardedIndex(self.directory, lambda _: (self.manifest, self.shards))
        return index if self.allowed is None else ShardedView(index, self.allowed, self.counts)
