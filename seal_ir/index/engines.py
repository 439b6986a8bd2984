"""Engines opened, and those of all segments as one: each question goes to all of them in one call.

Ranges of several segments travel together as int64 [n, n_segments, 2]. Documents are numbered from 0, one
segment after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import IndexDirError
from seal_ir.extensions import extension
from seal_ir.formats.io.files import utf8
from seal_ir.index.directory import REBUILD
from seal_ir.index.engine import ENGINES, Engine, Occurrences, Successors
from seal_ir.index.sparse import SparseRanges
from seal_ir.records import Range

P = ParamSpec("P")
T = TypeVar("T")
PIECE = 1 << 17  # rows that are located at a time where there may be millions
_NOWHERE = Range(0, 0)


def open_engine(name: str, path: Path) -> Engine:
    """Open the FM-index of a segment.

    Raises:
        IndexDirError: the engine is unknown or was not built, or the file is damaged.
    """
    if name not in ENGINES:
        raise IndexDirError(f"unknown index engine {name!r}; this version has: {', '.join(ENGINES)}")
    module = extension(name)
    try:
        engine: Engine = module.Engine.open(utf8(path))
    except (RuntimeError, ValueError) as error:
        raise _unreadable(path, error) from error
    return CheckedEngine(engine, path)


class CheckedEngine:
    """An engine whose answers are errors of the index where its file turns out to be damaged."""

    def __init__(self, engine: Engine, path: Path) -> None:
        """Args: engine: open; path: its file."""
        self._engine, self._path = engine, path
        self.n_rows, self.n_documents = engine.n_rows, engine.n_documents

    @property
    def compiled(self) -> Any:
        """The engine as its extension module has it, whose errors name no file."""
        return self._engine

    def size_in_bytes(self) -> dict[str, int]:
        """See `Engine.size_in_bytes`."""
        return self._checked(self._engine.size_in_bytes)

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """See `Engine.extend`."""
        return self._checked(self._engine.extend, ranges, symbols)

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """See `Engine.verify`."""
        return self._checked(self._engine.verify, ranges, candidates)

    def successors(self, ranges: Ints) -> tuple[Ints, Symbols, Ints]:
        """See `Engine.successors`."""
        return self._checked(self._engine.successors, ranges)

    def locate(self, rows: Ints) -> Ints:
        """See `Engine.locate`."""
        return self._checked(self._engine.locate, rows)

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """See `Engine.extract`."""
        return self._checked(self._engine.extract, documents)

    def only(self, documents: Ints) -> CheckedEngine:
        """See `Engine.only`."""
        return CheckedEngine(self._checked(self._engine.only, documents), self._path)

    def without(self, documents: Ints) -> CheckedEngine:
        """See `Engine.without`."""
        return CheckedEngine(self._checked(self._engine.without, documents), self._path)

    def _checked(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(*args, **kwargs)
        except RuntimeError as error:
            raise _unreadable(self._path, error) from error


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


def rows_of(ranges: Ints) -> tuple[Ints, Ints]:
    """The rows of ranges [n, 2], one range after the other, and which range each row is of."""
    sizes = ranges[:, 1] - ranges[:, 0]
    owner = np.repeat(np.arange(len(ranges)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(ranges[:, 0], sizes) + np.arange(len(owner)) - first, owner


def merged(parts: Sequence[tuple[Ints, Symbols, Ints]], n: int) -> Successors:
    """The union of several segments' successors; absent symbols get empty ranges."""
    # One integer per (n-gram, symbol) pair sorts by n-gram first and by symbol second. Those of a segment are
    # sorted already, which a stable sort makes use of.
    owners = [np.repeat(np.arange(n, dtype=np.int64) << 32, np.diff(offsets)) for offsets, _, _ in parts]
    pairs = np.concatenate([owner | symbols for owner, (_, symbols, _) in zip(owners, parts, strict=True)])
    segments = np.repeat(np.arange(len(parts)), [len(symbols) for _, symbols, _ in parts])
    order = np.argsort(pairs, kind="stable")
    ordered = pairs[order]
    is_first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    union = ordered[is_first]
    ranges = np.zeros((len(union), len(parts), 2), dtype=np.int64)
    ranges[np.cumsum(is_first) - 1, segments[order]] = np.concatenate([found for _, _, found in parts])[order]
    offsets = np.searchsorted(union, np.arange(n + 1, dtype=np.int64) << 32)
    return Successors(offsets, (union & 0xFFFFFFFF).astype(np.uint32), ranges)


class Piece(NamedTuple):
    """Some rows of an n-gram.

    Attributes:
        ranges: of all segments.
        begins: whether its first row is the n-gram's first in that segment.
    """

    ranges: tuple[Range, ...]
    begins: bool


def pieces(ranges: Sequence[Range]) -> Iterator[Piece]:
    """The rows of an n-gram, segment by segment, at most `PIECE` at a time."""
    nothing = [Range(0, 0)] * len(ranges)
    found, room, begins = list(nothing), PIECE, True
    for segment, (lo, hi) in enumerate(ranges):
        at = lo
        while at < hi:
            if not room:
                yield Piece(tuple(found), begins)
                found, room, begins = list(nothing), PIECE, at == lo
            found[segment] = Range(at, min(at + room, hi))
            room -= found[segment].hi - at
            at = found[segment].hi
    if room < PIECE:
        yield Piece(tuple(found), begins)


def as_tuples(ranges: Ints) -> list[tuple[Range, ...]]:
    """Ranges [n, n_segments, 2] as a tuple for each n-gram; those that are empty cost next to nothing."""
    found = [[_NOWHERE] * ranges.shape[1] for _ in range(len(ranges))]
    which = np.nonzero(ranges.any(axis=2))
    for i, segment, (lo, hi) in zip(*(part.tolist() for part in which), ranges[which].tolist(), strict=True):
        found[i][segment] = Range(lo, hi)
    return list(map(tuple, found))


def _unreadable(path: Path, error: Exception) -> IndexDirError:
    return IndexDirError(f"{path}: {error}; {REBUILD}")
