"""Building our own engine's file: suffix array by libdivsufsort, everything after it in C++."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import IndexDirError
from seal_ir.extensions import NATIVE, extension
from seal_ir.formats.io.files import utf8
from seal_ir.text.symbols import BOUNDARY

MAX_SUFFIXES = (1 << 31) - 1  # bytes that libdivsufsort sorts with 32-bit positions


def build_native(
    path: Path, symbols: Symbols, starts: Ints, sample_rate: int, progress: Callable[[str], None]
) -> None:
    """Write the FM-index of a segment.

    Takes about 10 bytes of memory per symbol beside the input while the suffixes are sorted, and never more
    than 12; 22 where more than 65,536 distinct symbols occur.

    Args:
        path: file to write.
        symbols: streams of all documents, uint32 [n].
        starts: where each stream starts, int64 [n_documents].
        sample_rate: the position of every so manieth symbol is kept.
        progress: told the name of each phase when it begins.

    Raises:
        ValueError: a stream is malformed, or there are more symbols than 32-bit positions reach.
        IndexDirError: the extension module or libdivsufsort is missing.
        RuntimeError: the file cannot be written.
        MemoryError: not enough memory.
    """
    native = extension(NATIVE)
    _check_length(len(symbols), 2)  # before it takes memory
    alphabet, text = native.densify(symbols, starts, BOUNDARY)
    progress("sorting suffixes")
    suffixes = suffix_array(text, len(text) // len(symbols))
    progress("transforming")
    builder = native.Builder.make(alphabet, text, suffixes, starts, BOUNDARY, sample_rate)
    del text, suffixes
    progress("building the wavelet tree")
    builder.save(utf8(path))


def suffix_array(text: NDArray[np.uint8], width: int) -> NDArray[np.int32]:
    """Starts of the suffixes of a text in their order, int32 [n].

    Args:
        text: n symbols of `width` bytes each, most significant byte first, so that bytes sort as symbols do.
        width: 2 or 4.

    Raises:
        ValueError: the text is too long for 32-bit positions.
        MemoryError: not enough memory: 4 * width bytes per symbol.
    """
    _check_length(len(text) // width, width)
    suffixes = np.empty(len(text), dtype=np.int32)
    failed = _divsufsort()(text.ctypes.data, suffixes.ctypes.data, len(text))
    if failed:
        raise MemoryError("libdivsufsort ran out of memory")
    # Suffixes that start inside a symbol are dropped where they lie; the rest of the memory goes back.
    extension(NATIVE).compact(suffixes, width)
    suffixes.resize(len(text) // width, refcheck=False)
    return suffixes


def _check_length(n_symbols: int, width: int) -> None:
    if n_symbols * width > MAX_SUFFIXES:
        raise ValueError(f"a segment holds at most {MAX_SUFFIXES // width:,} tokens, not {n_symbols:,}")


@cache
def _divsufsort() -> Any:
    """The C function, from the package that brings it; the package's Python would take twice the memory."""
    package = find_spec("pydivsufsort")
    folders = list(package.submodule_search_locations or ()) if package else []
    for folder in folders:
        for name in ("libdivsufsort.so.3.0.1", "libdivsufsort.dylib"):
            library = Path(folder) / name
            if library.is_file():
                function = ctypes.CDLL(str(library)).divsufsort
                function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
                function.restype = ctypes.c_int32
                return function
    raise IndexDirError("libdivsufsort is missing; pip install pydivsufsort")
