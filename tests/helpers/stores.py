"""Token stores of raw streams, in files that are gone when they are open."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seal_ir._rank import TokenStores, write_tokens
from tests.helpers.engines import BOUNDARY, Documents, flatten
from tests.helpers.streams import StreamIndex


def token_stores(segments: Sequence[Documents]) -> TokenStores:
    """The stores of segments as one."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / str(number)) for number in range(len(segments))]
        for path, streams in zip(paths, segments, strict=True):
            write_tokens(path, *flatten(streams), BOUNDARY)
        return TokenStores.open(paths, [None] * len(paths))


class _Stores:
    """The part of `seal_ir.index.stores.Stores` that ranking asks."""

    def __init__(self, compiled: TokenStores) -> None:
        self.compiled, self.extract = compiled, compiled.extract


def with_stores(index: StreamIndex, streams: Documents) -> StreamIndex:
    """The index, whose streams these are, with token stores."""
    bounds = index._bases.tolist()
    made: Any = _Stores(
        token_stores([streams[lo:hi] for lo, hi in zip(bounds[:-1], bounds[1:], strict=True)])
    )
    index.stores = made
    return index
