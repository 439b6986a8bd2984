"""Token stores: the streams of an index's documents, packed beside the FM-indexes and read without them.

An FM-index gives a document back at a step a token, a store at a few nanoseconds a token. The files are
mapped into memory (cpp/store; docs/format.md has them byte by byte).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import IndexDirError
from seal_ir.extensions import RANK, extension
from seal_ir.formats.io.files import utf8
from seal_ir.index.directory import REBUILD, damaged
from seal_ir.index.manifest import TOKENS_FILE, SegmentInfo
from seal_ir.text.symbols import BOUNDARY, Marks


def write_store(path: Path, symbols: Symbols, starts: Ints) -> None:
    """Write the token store of a segment; takes at most 5 bytes of memory a token beside the input.

    Args:
        path: file to write.
        symbols: streams of all documents, uint32 [n].
        starts: where each stream starts, int64 [n_documents].

    Raises:
        IndexDirError: the disk is full.
    """
    try:
        extension(RANK).write_tokens(utf8(path), symbols, starts, BOUNDARY)
    except RuntimeError as error:
        raise IndexDirError(f"the index cannot be written: {error}") from error


@contextmanager
def sound_files() -> Iterator[None]:
    """Lets damage that shows while a store is read be told in one line.

    Raises:
        IndexDirError: a file is damaged.
    """
    try:
        yield
    except RuntimeError as error:
        raise IndexDirError(f"{error}; {REBUILD}") from error


class Stores:
    """The token stores of all segments as one. Safe to use from several threads.

    Attributes:
        compiled: the same for `seal_ir._rank`.
    """

    def __init__(self, directory: Path, segments: Sequence[SegmentInfo], live: Sequence[Ints | None]) -> None:
        """Open the store of every segment.

        Args:
            directory: the index.
            segments: in document order.
            live: of each segment the numbers of the documents that count, int64 [n] ascending, which are
                numbered as if there were no others; None: all of them.

        Raises:
            IndexDirError: a file is damaged, or holds other documents than its segment.
        """
        paths = [directory / segment.name / TOKENS_FILE for segment in segments]
        try:
            with sound_files():
                self.compiled: Any = extension(RANK).TokenStores.open([utf8(path) for path in paths], live)
        except ValueError as error:  # it has not the documents that are said to be live
            raise IndexDirError(f"{error}; {REBUILD}") from error
        for path, segment, found in zip(paths, segments, self.compiled.sizes, strict=True):
            if found != (segment.n_documents, segment.n_tokens):
                raise damaged(path, f"it holds {found[0]} documents of {found[1]} tokens")

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """Offsets int64 [n + 1] and concatenated streams uint32 [m] of documents int64 [n].

        Raises:
            IndexError: there is no such document.
            IndexDirError: the file is damaged.
        """
        with sound_files():
            offsets, symbols = self.compiled.extract(documents)
            return offsets, symbols

    def value_lengths(self, marks: Marks) -> Ints:
        """See `Index.value_lengths`; titles are read no further than their end.

        Raises:
            IndexDirError: the file is damaged.
        """
        with sound_files():
            lengths: Ints = self.compiled.value_lengths(*marks, marks.start == BOUNDARY)
            return lengths
