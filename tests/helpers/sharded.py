"""A sharded index without Ray: shards in this process, which pickle what travels as Ray would."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.distributed.cluster import cut
from seal_ir.distributed.index import ShardedIndex
from seal_ir.distributed.shard import Part, Shard
from seal_ir.index.manifest import Manifest, read_manifest


class InProcess:
    """Shards in this process.

    Attributes:
        bases: see `Shards`.
        asked: the methods that were asked, one entry a round trip.
        n_bytes: of all arguments and answers, pickled.
        before: is called with the number of each round trip, from 0.
    """

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = list(parts)
        self.shards = [Shard(part) for part in parts]
        self.bases = np.array([*(part.base for part in parts), parts[-1].end], dtype=np.int64)
        self.asked: list[str] = []
        self.n_bytes = 0
        self.before: Callable[[int], object] = lambda n: None

    def keep(self, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def ask(self, method: str, arguments: Sequence[Sequence[Any] | None]) -> list[Any]:
        self.before(len(self.asked))
        self.asked.append(method)
        return [
            None if values is None else self._answer(shard, method, values)
            for shard, values in zip(self.shards, arguments, strict=True)
        ]

    def lose(self, shard: int) -> None:
        """Replace a shard by one that knows nothing yet, as Ray restarts an actor."""
        self.shards[shard] = Shard(self.parts[shard])

    def _answer(self, shard: Shard, method: str, values: Sequence[Any]) -> Any:
        sent = pickle.dumps(tuple(values), 5)
        answer = pickle.dumps(getattr(shard, method)(*pickle.loads(sent)), 5)  # noqa: S301
        self.n_bytes += len(sent) + len(answer)
        return pickle.loads(answer)  # noqa: S301


def sharded(directory: Path, n: int) -> ShardedIndex:
    """An index in n shards, or as many as it has segments."""

    def opened(place: Path) -> tuple[Manifest, InProcess]:
        manifest = read_manifest(place)
        return manifest, InProcess([Part.of(place, manifest, *bounds) for bounds in cut(manifest, n)])

    return ShardedIndex(directory, opened)
