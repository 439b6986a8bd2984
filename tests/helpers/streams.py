"""An index over raw symbol streams: `Index` without documents' text, on the real engine or a scan."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.extensions import SDSL
from seal_ir.index.engine import EngineSpec, build_engine
from seal_ir.index.engines import open_engine
from seal_ir.index.reader import Index
from seal_ir.text.tokenizer import TextTokenizer


class _Ids:
    """The part of a `DocumentTable` that ranking reads."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = list(ids)

    def id(self, number: int) -> str:
        return self._ids[number]


class ScanEngine:
    """An `Engine` of twenty lines: all prefixes of all documents, sorted from their ends.

    It opens in microseconds where sdsl takes 25 ms, so that property tests can afford many corpora; a test
    says that both answer the same.
    """

    def __init__(self, streams: Sequence[Sequence[int]]) -> None:
        self._streams = [list(stream) for stream in streams]
        prefixes = [(d, end) for d, stream in enumerate(streams) for end in range(1, len(stream) + 1)]
        prefixes.sort(key=lambda prefix: (self._streams[prefix[0]][prefix[1] - 1 :: -1], prefix))
        rows = {prefix: row for row, prefix in enumerate(prefixes, start=1)}
        self._prefixes = np.array([(-1, 0), *prefixes], dtype=np.int64)
        self._last = np.array([0, *(streams[d][end - 1] for d, end in prefixes)], dtype=np.int64)
        self._before = np.array([-1, *(rows.get((d, end - 1), 0) for d, end in prefixes)], dtype=np.int64)
        self.n_rows, self.n_documents = len(prefixes) + 1, len(streams)

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        return np.array(
            [
                self._extended(lo, hi, symbol)
                for (lo, hi), symbol in zip(ranges.tolist(), symbols, strict=True)
            ],
            dtype=np.int64,
        ).reshape(-1, 2)

    def successors(self, ranges: Ints) -> tuple[Ints, Symbols, Ints]:
        offsets, found, extended = [0], [], []
        for lo, hi in ranges.tolist():
            inside = (self._before >= lo) & (self._before < hi)
            for symbol in np.unique(self._last[inside]).tolist():
                found.append(symbol)
                extended.append(self._extended(lo, hi, symbol))
            offsets.append(len(found))
        pairs = np.array(extended, dtype=np.int64).reshape(-1, 2)
        return np.array(offsets, dtype=np.int64), np.array(found, dtype=np.uint32), pairs

    def locate(self, rows: Ints) -> Ints:
        return self._prefixes[rows]

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        chosen = [self._streams[number] for number in documents.tolist()]
        offsets = np.cumsum([0, *map(len, chosen)]).astype(np.int64)
        return offsets, np.array([symbol for stream in chosen for symbol in stream], dtype=np.uint32)

    def _extended(self, lo: int, hi: int, symbol: int) -> tuple[int, int]:
        inside = (self._before >= lo) & (self._before < hi)
        rows = np.flatnonzero(inside & (self._last == symbol))
        return (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, 0)


class StreamIndex(Index):
    """An `Index` of streams, cut into `n_segments` runs of about as many documents each.

    Docids are the documents' numbers with leading zeros, so that their order is the numbers', unless
    given. `streams` may be anything that starts with BOUNDARY: no TITLE_END is needed.
    """

    def __init__(
        self,
        streams: Sequence[Sequence[int]],
        n_segments: int = 1,
        docids: Sequence[str] | None = None,
        tokenizer: TextTokenizer | None = None,
        engine: str = SDSL,
        further_fields: tuple[str, ...] = (),
    ) -> None:
        ids = list(docids) if docids is not None else [f"{i:05d}" for i in range(len(streams))]
        n_segments = max(1, min(n_segments, len(streams)))
        cuts = [len(streams) * i // n_segments for i in range(n_segments + 1)]
        parts = list(zip(cuts[:-1], cuts[1:], strict=True))
        if tokenizer is not None:
            self.tokenizer = tokenizer
        self.directory: Any = "streams"
        self.manifest: Any = SimpleNamespace(further_fields=further_fields)
        self.n_documents = len(streams)
        self.n_tokens = sum(map(len, streams))
        self._engines: list[Any] = [ENGINES[engine](streams[lo:hi]) for lo, hi in parts]
        self._tables: list[Any] = [_Ids(ids[lo:hi]) for lo, hi in parts]
        self._bases = np.array(cuts, dtype=np.int64)
        self.stores: Any = None


def _sdsl(streams: Sequence[Sequence[int]]) -> Any:
    symbols = np.array([symbol for stream in streams for symbol in stream], dtype=np.uint32)
    starts = np.cumsum([0, *map(len, streams)])[:-1].astype(np.int64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fm.bin"
        build_engine(EngineSpec(SDSL), path, symbols, starts, Path(folder))
        return open_engine(SDSL, path)


SCAN = "scan"
ENGINES: dict[str, Callable[[Sequence[Sequence[int]]], Any]] = {SDSL: _sdsl, SCAN: ScanEngine}
