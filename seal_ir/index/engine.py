"""The FM-index engines by name, the batched interface that all have, and the answers of several as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.extensions import NATIVE, SDSL, extension
from seal_ir.formats.io.files import utf8
from seal_ir.index.directory import REBUILD
from seal_ir.index.native import build_native
from seal_ir.index.sparse import Ranges
from seal_ir.records import Range
from seal_ir.text.symbols import BOUNDARY

P = ParamSpec("P")
T = TypeVar("T")
ENGINES = (NATIVE, SDSL)
SAMPLE_RATES = {
    "default": 8,
    "small": 32,
    "fast": 1,
}  # of native's layouts: every so manieth position is kept
_SDSL_DISK, _SDSL_ROOM = 9, 1 << 16  # bytes a token, and others, of sdsl-lite's temporary files
PIECE = 1 << 17  # rows that are located at a time where there may be millions


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """Which FM-index to build.

    Attributes:
        name: "native", or "sdsl" (the engine of the paper).
        layout: how positions are stored: "default", "small" (slower to locate, no token store) or "fast"
            (larger); sdsl has the default only.
    """

    name: str = NATIVE
    layout: str = "default"

    @property
    def stores_tokens(self) -> bool:
        """Whether tokens are stored beside the FM-index, which gives them back, too, but slowly."""
        return self.layout != "small"

    def __post_init__(self) -> None:
        """Refuse names that mean nothing."""
        if self.name not in ENGINES:
            raise UsageError(f"unknown index engine {self.name!r}; this version has: {', '.join(ENGINES)}")
        if self.layout not in SAMPLE_RATES:
            raise UsageError(f"unknown layout {self.layout!r}; choose one of {', '.join(SAMPLE_RATES)}")
        if self.name == SDSL and self.layout != "default":
            raise UsageError(f"the sdsl engine has no layout {self.layout!r}; it has the default only")


class Engine(Protocol):
    """cpp/engine.hpp in Python: the FM-index of one segment. Ranges are int64 [..., 2], half-open."""

    @property
    def n_rows(self) -> int:
        """Rows of the suffix array; [0, n_rows) is the empty n-gram."""
        ...

    @property
    def n_documents(self) -> int:
        """Documents of the segment."""
        ...

    def size_in_bytes(self) -> dict[str, int]:
        """Size by part."""
        ...

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """Ranges [n, 2] with one symbol appended to each n-gram."""
        ...

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """Ranges [n, width, 2] of each n-gram with each of its candidates [n, width] appended."""
        ...

    def successors(self, ranges: Ints) -> tuple[Ints, Symbols, Ints]:
        """Offsets [n + 1], symbols [m] and ranges [m, 2] of all that follows each n-gram."""
        ...

    def locate(self, rows: Ints) -> Ints:
        """Document and exclusive end [n, 2] of each row's occurrence."""
        ...

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """Offsets [n + 1] and the concatenated streams of documents."""
        ...

    def only(self, documents: Ints) -> Engine:
        """The engine of these documents alone, renumbered; takes a step for each of their symbols."""
        ...

    def without(self, documents: Ints) -> Engine:
        """The engine of all documents but these, renumbered; takes a step for each of their symbols."""
        ...


class Successors(NamedTuple):
    """What follows a batch of n-grams: entries [offsets[i], offsets[i + 1]) belong to n-gram i."""

    offsets: Ints  # [n + 1]
    symbols: Symbols  # [m], ascending within one n-gram
    ranges: Ranges  # [m, n_segments, 2]


class Occurrences(NamedTuple):
    """Where n-grams occur, grouped by n-gram and, within one, in no particular order."""

    offsets: Ints  # [n + 1]
    documents: Ints  # [m]
    ends: Ints  # [m], exclusive, counted from the start of the document's stream


def build_engine(
    spec: EngineSpec,
    path: Path,
    symbols: Symbols,
    starts: Ints,
    temp_dir: Path,
    progress: Callable[[str], None] = lambda phase: None,
) -> None:
    """Write the FM-index of a segment.

    Args:
        spec: which engine.
        path: file to write.
        symbols: streams of all documents, uint32 [n].
        starts: where each stream starts, int64 [n_documents].
        temp_dir: existing folder for temporary files.
        progress: told the name of each phase when it begins.

    Raises:
        IndexDirError: the engine was not built, or the disk or memory is full.
    """
    try:
        if spec.name == NATIVE:
            build_native(path, symbols, starts, SAMPLE_RATES[spec.layout], progress)
        else:
            progress("indexing")
            extension(SDSL).build(utf8(path), symbols, starts, BOUNDARY, utf8(temp_dir))
    except RuntimeError as error:
        raise IndexDirError(f"the index cannot be written: {error}") from error
    except MemoryError as error:
        if spec.name == SDSL and disk_usage(temp_dir).free < _SDSL_ROOM + _SDSL_DISK * len(symbols):
            # It reads its own files again, and takes one that was cut short for a size out of this world.
            raise IndexDirError(
                f"the index cannot be written: the disk of {temp_dir} is full; make room"
            ) from error
        raise IndexDirError(
            f"not enough memory to index {len(symbols):,} tokens at once: about "
            f"{build_memory(spec, len(symbols)) >> 20:,} MiB beside the text; see --memory"
        ) from error


def build_memory(spec: EngineSpec, n_tokens: int, n_distinct: int = 0) -> int:
    """Bytes that building a segment takes at its peak, the input (4 bytes a token) not counted.

    Args:
        spec: which engine.
        n_tokens: tokens of the segment.
        n_distinct: distinct tokens among them, as far as known.
    """
    fixed = 16 << 20  # sorting buckets and tables of the alphabet
    if spec.name == SDSL:
        return 8 * n_tokens + fixed
    return (22 if n_distinct > 1 << 16 else 12) * n_tokens + fixed


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


def rows_of(ranges: Ints) -> tuple[Ints, Ints]:
    """The rows of ranges [n, 2], one range after the other, and which range each row is of."""
    sizes = ranges[:, 1] - ranges[:, 0]
    owner = np.repeat(np.arange(len(ranges)), sizes)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(ranges[:, 0], sizes) + np.arange(len(owner)) - first, owner


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


def _unreadable(path: Path, error: Exception) -> IndexDirError:
    return IndexDirError(f"{path}: {error}; {REBUILD}")
