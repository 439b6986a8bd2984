"""One segment: its documents collected in files, then its FM-index built, here or in a process of its own.

As a program, `python -m seal_ir.index.segments FOLDER TEMPORARY ENGINE LAYOUT` builds the segment whose
documents lie in FOLDER. It writes JSON lines to stdout, `{"phase": ...}` or `{"error": ...}`, and ends at
once when its stdin does: the process that started it holds the other end, so it outlives no killed build.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.arrays import Symbols
from seal_ir.errors import IndexDirError
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.index.directory import unwritable
from seal_ir.index.document_writing import DocumentWriter
from seal_ir.index.engine import EngineSpec, build_engine
from seal_ir.index.manifest import TOKENS_FILE
from seal_ir.index.memory import MAX_NARROW, Size
from seal_ir.index.stores import write_store
from seal_ir.records import Document
from seal_ir.structured import json_line

ENGINE_FILE = "fm.bin"
_STREAMS, _LENGTHS = "streams.u4", "lengths.i8"  # only while the segment is built


class SegmentWriter:
    """Collects the documents of one segment in its folder: on disk, with next to nothing in memory.

    Attributes:
        folder: the segment's folder.
        size: what it holds so far.
    """

    def __init__(
        self, folder: Path, n_symbols: int, *, store_raw: bool = False, stored: StoredFields = ()
    ) -> None:
        """Begin a segment.

        Args:
            folder: to be made.
            n_symbols: size of the alphabet.
            store_raw: keep the records as they were read.
            stored: fields of the documents to keep values of.
        """
        folder.mkdir()
        self.folder, self.size = folder, Size()
        self._documents = DocumentWriter(folder, store_raw=store_raw, stored=stored)
        self._streams = (folder / _STREAMS).open("wb")
        self._lengths = (folder / _LENGTHS).open("wb")
        # Counting symbols takes time, and only matters to alphabets that may not fit two bytes.
        self._seen = np.zeros(n_symbols, dtype=bool) if n_symbols > MAX_NARROW else None

    def size_with(self, symbols: Symbols) -> Size:
        """What the segment would hold with one more document."""
        n_distinct = self.size.n_distinct
        if self._seen is not None:
            n_distinct += len(np.unique(symbols[~self._seen[symbols]]))
        return Size(self.size.n_documents + 1, self.size.n_tokens + len(symbols), n_distinct)

    def add(self, document: Document, symbols: Symbols, size: Size, *, exact: bool) -> None:
        """Append a document; `size` is `size_with(symbols)`."""
        self._documents.add(document, exact=exact)
        self._streams.write(symbols.tobytes())
        self._lengths.write(np.int64(len(symbols)).tobytes())
        if self._seen is not None:
            self._seen[symbols] = True
        self.size = size

    def close(self) -> None:
        """Finish the files; the segment can be built then."""
        self._streams.close()
        self._lengths.close()
        self._documents.close()

    def abandon(self) -> None:
        """Close the files of a segment that will not be finished; harmless afterwards."""
        for file in (self._streams, self._lengths):
            with suppress(OSError):  # what is left in its buffer may find no room
                file.close()
        self._documents.abandon()


def build_segment(
    folder: Path, temporary: Path, spec: EngineSpec, progress: Callable[[str], None] = lambda phase: None
) -> None:
    """Build FM-index and token store of the documents that a `SegmentWriter` has collected in `folder`.

    Args:
        folder: the segment's folder.
        temporary: existing folder for the engine's temporary files.
        spec: the engine.
        progress: told the name of each phase when it begins.

    Raises:
        IndexDirError: the engine was not built, or the disk or memory is full.
        OSError: a file cannot be read or written.
    """
    streams, lengths = folder / _STREAMS, folder / _LENGTHS
    sizes = np.fromfile(lengths, dtype=np.int64)
    starts, symbols = np.cumsum(sizes) - sizes, np.fromfile(streams, dtype=np.uint32)
    build_engine(spec, folder / ENGINE_FILE, symbols, starts, temporary, progress)
    if spec.stores_tokens:
        progress("storing tokens")
        write_store(folder / TOKENS_FILE, symbols, starts)
    streams.unlink()
    lengths.unlink()


def main(arguments: list[str]) -> int:
    """Build a segment for the process that has started this one; 0 when it is built."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    folder, temporary, name, layout = arguments
    try:
        build_segment(
            Path(folder), Path(temporary), EngineSpec(name, layout), lambda phase: _tell(phase=phase)
        )
    except IndexDirError as error:
        _tell(error=str(error))
        return 1
    except OSError as error:
        _tell(error=str(unwritable(Path(folder), error)))
        return 1
    return 0


def _tell(**values: Any) -> None:
    sys.stdout.write(f"{json_line(values, ascii_only=True)}\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    while os.read(0, 1):  # not through sys.stdin, whose lock would be held when the interpreter ends
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
