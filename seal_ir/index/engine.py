"""What an FM-index engine is, by name and by the batched interface that all have; and how one is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from typing import NamedTuple, Protocol

from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.extensions import NATIVE, SDSL, extension
from seal_ir.formats.io.files import utf8
from seal_ir.index.native import build_native
from seal_ir.index.sparse import Ranges
from seal_ir.text.symbols import BOUNDARY

ENGINES = (NATIVE, SDSL)
SAMPLE_RATES = {
    "default": 8,
    "small": 32,
    "fast": 1,
}  # of native's layouts: every so manieth position is kept
_SDSL_DISK, _SDSL_ROOM = 9, 1 << 16  # bytes a token, and others, of sdsl-lite's temporary files


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
