"""The FM-index engines by name, and the batched interface that all of them have."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seal_ir.errors import IndexDirError
from seal_ir.text.symbols import BOUNDARY, Symbols

Ints = NDArray[np.int64]
SDSL = "sdsl"
_INSTALL = "install libsdsl-dev (apt) and run `make install` again"


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


def build_engine(name: str, path: Path, symbols: Symbols, starts: Ints, temp_dir: Path) -> None:
    """Write the FM-index of a segment.

    Args:
        name: the engine's name.
        path: file to write.
        symbols: streams of all documents, uint32 [n].
        starts: where each stream starts, int64 [n_documents].
        temp_dir: existing folder for temporary files.

    Raises:
        IndexDirError: the engine is unknown or was not built, or the disk or memory is full.
    """
    module = _sdsl(name)
    try:
        module.build(utf8(path), symbols, starts, BOUNDARY, utf8(temp_dir))
    except RuntimeError as error:
        raise IndexDirError(f"the index cannot be written: {error}") from error
    except MemoryError as error:
        raise IndexDirError(
            f"not enough memory to index {len(symbols):,} tokens at once (8 bytes each and the text)"
        ) from error


def open_engine(name: str, path: Path) -> Engine:
    """Open the FM-index of a segment.

    Raises:
        IndexDirError: the engine is unknown or was not built, or the file is damaged.
    """
    module = _sdsl(name)
    try:
        engine: Engine = module.Engine.open(utf8(path))
    except (RuntimeError, ValueError) as error:
        raise IndexDirError(f"{path}: {error}; rebuild with python -m seal_ir.index") from error
    return engine


def utf8(path: str | Path) -> str:
    """A path for what encodes names as UTF-8 itself: under LC_ALL=C Python's own str holds escaped bytes."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def _sdsl(name: str) -> Any:
    """The extension module; by its name, or import-linter would take it for the package `seal_ir`."""
    if name != SDSL:
        raise IndexDirError(f"unknown index engine {name!r}; this version has: {SDSL}")
    try:
        return import_module("seal_ir._sdsl")
    except ImportError as error:
        raise IndexDirError(f"the sdsl engine was not built here: {_INSTALL} ({error})") from error
