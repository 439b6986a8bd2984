"""The engines of all segments as one: each question goes to all of them in one call.

Ranges of several segments travel together as int64 [n, n_segments, 2]. Documents are numbered from 0, one
segment after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.index.engine import CheckedEngine, Engine, Occurrences, Successors, merged, rows_of
from seal_ir.index.sparse import SparseRanges


class Engines(Protocol):
    """The engines of all segments as one."""

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """Ranges [n, n_segments, 2] with one symbol [n] appended to each n-gram."""
        ...

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """Ranges [n, width, n_segments, 2] of each n-gram with each of its candidates [n, width]."""
        ...

    def successors(self, ranges: Ints) -> Successors:
        """Every symbol that follows each n-gram."""
        ...

    def locate(self, ranges: Ints) -> Occurrences:
        """All occurrences of n-grams with ranges [n, n_segments, 2]."""
        ...

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """Offsets [n + 1] and the concatenated streams of documents [n]."""
        ...


def joined(engines: Sequence[Engine]) -> Engines:
    """The engines as one: compiled, where all come from one extension module and are several."""
    compiled = [engine.compiled for engine in engines if isinstance(engine, CheckedEngine)]
    modules = {type(engine).__module__ for engine in compiled}
    if len(engines) < 2 or len(compiled) < len(engines) or len(modules) > 1:
        return LoopedEngines(engines)
    return CompiledEngines(engines, compiled)


class LoopedEngines:
    """Engines of any kind, asked one after the other."""

    def __init__(self, engines: Sequence[Engine]) -> None:
        """Args: engines: of the segments, in order."""
        self._engines = engines

    @cached_property
    def _bases(self) -> Ints:
        return np.cumsum([0, *(engine.n_documents for engine in self._engines)])

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """See `Engines.extend`."""
        return np.stack(
            [
                engine.extend(np.ascontiguousarray(ranges[:, s]), symbols)
                for s, engine in enumerate(self._engines)
            ],
            axis=1,
        )

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """See `Engines.verify`."""
        return np.stack(
            [
                engine.verify(np.ascontiguousarray(ranges[:, s]), candidates)
                for s, engine in enumerate(self._engines)
            ],
            axis=2,
        )

    def successors(self, ranges: Ints) -> Successors:
        """See `Engines.successors`."""
        parts = [
            engine.successors(np.ascontiguousarray(ranges[:, s])) for s, engine in enumerate(self._engines)
        ]
        if len(parts) == 1:
            offsets, symbols, extended = parts[0]
            return Successors(offsets, symbols, extended[:, None])
        return merged(parts, len(ranges))

    def locate(self, ranges: Ints) -> Occurrences:
        """See `Engines.locate`."""
        owners, documents, ends = [], [], []
        for s, engine in enumerate(self._engines):
            rows, owner = rows_of(ranges[:, s])
            positions = engine.locate(rows)
            owners.append(owner)
            documents.append(positions[:, 0] + self._bases[s])
            ends.append(positions[:, 1])
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        offsets = np.searchsorted(owner[order], np.arange(len(ranges) + 1))
        return Occurrences(offsets, np.concatenate(documents)[order], np.concatenate(ends)[order])

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """See `Engines.extract`."""
        if len(self._engines) == 1:
            return self._engines[0].extract(documents)
        segment = np.searchsorted(self._bases, documents, side="right") - 1
        streams: list[Symbols] = [np.empty(0, np.uint32)] * len(documents)
        for s, engine in enumerate(self._engines):
            chosen = np.flatnonzero(segment == s)
            offsets, symbols = engine.extract(documents[chosen] - self._bases[s])
            for i, lo, hi in zip(chosen, offsets[:-1], offsets[1:], strict=True):
                streams[i] = symbols[lo:hi]
        lengths = np.array([0, *map(len, streams)], dtype=np.int64)
        return np.cumsum(lengths), np.concatenate([np.empty(0, np.uint32), *streams])


class CompiledEngines:
    """Engines of one extension module, asked all together (cpp/segments.hpp).

    What goes wrong there is asked again one by one: that names the file, in the words of a single segment.
    """

    def __init__(self, engines: Sequence[Engine], compiled: Sequence[Any]) -> None:
        """Args: engines: of the segments, in order; compiled: the same as the module has them."""
        self._looped = LoopedEngines(engines)
        self._n_segments = len(engines)
        module = import_module(type(compiled[0]).__module__)
        self._all = module.Segments(list(compiled))

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """See `Engines.extend`."""
        ranges = np.ascontiguousarray(ranges)
        extended: Ints = _told_by(self._looped.extend, self._all.extend, ranges, symbols)
        return extended

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """See `Engines.verify`."""
        ranges = np.ascontiguousarray(ranges)
        verified: Ints = _told_by(self._looped.verify, self._all.verify, ranges, candidates)
        return verified

    def successors(self, ranges: Ints) -> Successors:
        """See `Engines.successors`."""
        ranges = np.ascontiguousarray(ranges)
        offsets, symbols, found = _told_by(self._looped.successors, self._all.successors, ranges)
        return Successors(offsets, symbols, SparseRanges(found, self._n_segments))

    def locate(self, ranges: Ints) -> Occurrences:
        """See `Engines.locate`."""
        ranges = np.ascontiguousarray(ranges)
        offsets, positions = _told_by(self._looped.locate, self._all.locate, ranges)
        found, ends = np.ascontiguousarray(positions.T)
        return Occurrences(offsets, found, ends)

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """See `Engines.extract`."""
        offsets, symbols = _told_by(self._looped.extract, self._all.extract, np.ascontiguousarray(documents))
        return offsets, symbols


def _told_by(looped: Callable[..., object], compiled: Callable[..., Any], *args: Any) -> Any:
    """What the compiled call answers; where it fails, the error of the same call in a loop."""
    try:
        return compiled(*args)
    except (RuntimeError, IndexError, ValueError):
        looped(*args)
        raise
