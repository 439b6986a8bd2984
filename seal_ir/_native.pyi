"""Our FM-index engine: a Huffman-shaped wavelet tree with four children a node, mapped from one file.

Arrays are C-contiguous numpy arrays of exactly the types named; anything else is a TypeError, because a
silent copy would hide a slow caller. Ranges are half-open rows `[lo, hi)`; an empty one comes back as
`[0, 0)`. Every operation releases the GIL, and an open engine may be used from several threads. Several
processes that open a file share its pages.

A file that is damaged where opening does not look gives wrong answers or a RuntimeError, never a crash.
"""

import numpy as np
from numpy.typing import NDArray

def densify(
    symbols: NDArray[np.uint32], starts: NDArray[np.int64], boundary: int
) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
    """The text in the form that libdivsufsort sorts: alphabet uint32 [sigma], and bytes uint8 [width * n].

    The text is reversed; its symbols are ranks in the alphabet, of 2 bytes each, or of 4 where more than
    65,536 distinct symbols occur, most significant byte first: so bytes sort as symbols do.

    Args:
        symbols: uint32 [n], all streams in reading order; 0 is not allowed.
        starts: int64 [n_documents], where each stream starts in `symbols`.
        boundary: The symbol that each stream begins with and that occurs nowhere else.

    Raises:
        ValueError: A stream is malformed; the message names document and offset.
    """

def compact(suffixes: NDArray[np.int32], width: int) -> None:
    """Move the suffixes that start at a symbol to the front, as numbers of symbols, in their order.

    Args:
        suffixes: int32 [width * n], suffixes of the bytes; changed in place, its first n entries count.
        width: bytes of a symbol, 2 or 4.
    """

class Builder:
    """What an index file is made of, between reading the suffix array and writing the file."""

    @staticmethod
    def make(
        alphabet: NDArray[np.uint32],
        text: NDArray[np.uint8],
        suffixes: NDArray[np.int32],
        starts: NDArray[np.int64],
        boundary: int,
        sample_rate: int,
    ) -> Builder:
        """Read the suffix array; neither it nor the text is needed afterwards.

        Args:
            alphabet: as `densify` gives it.
            text: likewise.
            suffixes: int32 [n], the suffix array, compacted.
            starts: int64 [n_documents].
            boundary: as for `densify`.
            sample_rate: The position of every so manieth symbol is kept; 1 keeps all.

        Raises:
            ValueError: The arguments do not fit together.
        """

    def save(self, path: str) -> None:
        """Build the wavelet tree and write the file; once.

        The same input gives the same bytes. A failure may leave an incomplete file at `path`, which
        `Engine.open` refuses.

        Raises:
            RuntimeError: The file cannot be written.
            ValueError: It has been written already.
        """

class EngineBase:
    """What the engine and views of it have in common."""

    @property
    def n_rows(self) -> int:
        """Number of rows, one more than there are symbols; `[0, n_rows)` is the empty n-gram."""

    @property
    def n_documents(self) -> int:
        """Number of documents."""

    @property
    def boundary(self) -> int:
        """The symbol that each stream begins with."""

    def size_in_bytes(self) -> dict[str, int]:
        """Bytes of each part: `wavelet_tree`, `samples`, `alphabet`, `documents`; linear in their sum."""

    def extend(self, ranges: NDArray[np.int64], symbols: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The ranges int64 [n, 2] of n-grams with one symbol appended to each.

        Symbols that do not occur give empty ranges. The boundary extends the empty n-gram only: nothing
        crosses into the next document.

        Args:
            ranges: int64 [n, 2].
            symbols: uint32 [n].

        Raises:
            IndexError: A range is not within `[0, n_rows)`.
            ValueError: The lengths differ.
        """

    def verify(self, ranges: NDArray[np.int64], candidates: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The ranges int64 [n, width, 2] of n-grams with each of their candidates appended.

        Args:
            ranges: int64 [n, 2].
            candidates: uint32 [n, width].

        Raises:
            IndexError: A range is not within `[0, n_rows)`.
            ValueError: The lengths differ.
        """

    def successors(
        self, ranges: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
        """All symbols that follow each n-gram within a document: offsets, symbols, ranges.

        Those of range i are the entries `offsets[i]:offsets[i + 1]`, ascending by symbol, of symbols uint32
        [m] and ranges int64 [m, 2]; a range is that of the n-gram so extended, its width the count. The
        boundary is listed after the empty n-gram only.

        Args:
            ranges: int64 [n, 2].

        Raises:
            IndexError: A range is not within `[0, n_rows)`.
        """

    def locate(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Document and exclusive end, int64 [n, 2], of the occurrence that each row stands for.

        Ends count symbols from the start of the stream: an n-gram of k symbols covers `end - k:end`. Takes
        (sample_rate - 1) / 2 steps through the wavelet tree per row.

        Args:
            rows: int64 [n], within `[1, n_rows)`; row 0 is the end of the text.

        Raises:
            IndexError: A row stands for no occurrence.
        """

    def extract(self, documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Streams of the documents in reading order: offsets int64 [n + 1], symbols uint32 [m].

        The stream of document i, its boundary first, is `symbols[offsets[i]:offsets[i + 1]]`. Takes one step
        through the wavelet tree per symbol.

        Args:
            documents: int64 [n].

        Raises:
            IndexError: A document does not exist.
        """

    def rows(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of every symbol of the documents, int64 [m], in reading order, one after the other.

        The k-th row of a document, from 1, is located at end k. Takes as long as `extract`.

        Args:
            documents: int64 [n].

        Raises:
            IndexError: A document does not exist.
        """

    def only(self, documents: NDArray[np.int64]) -> LiveEngine:
        """These documents alone, renumbered: every answer is that of an index that has no others.

        Takes a step per symbol of the documents, and 0.15 bytes of memory per row of the index; a query then
        takes two look-ups more per range.

        Args:
            documents: int64 [n], in any order.

        Raises:
            IndexError: A document does not exist.
        """

    def without(self, documents: NDArray[np.int64]) -> LiveEngine:
        """All documents but these, renumbered; see `only`."""

class LiveEngine(EngineBase):
    """Some documents of an engine, as if there were no others; it holds the engine."""

class Engine(EngineBase):
    """An open index, mapped into memory."""

    @staticmethod
    def open(path: str) -> Engine:
        """The index in the file `path`, in time linear in the number of distinct symbols.

        Raises:
            RuntimeError: The file is absent, of another kind or format version, or damaged.
        """

    @property
    def n_symbols(self) -> int:
        """Number of distinct symbols, the boundary included."""

    @property
    def sample_rate(self) -> int:
        """Every so manieth position is stored."""

class SuccessorRanges:
    """The ranges of successors in several segments, of which most are empty: kept without these."""

    def __len__(self) -> int: ...
    def take(self, entries: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ranges int64 [n, n_segments, 2] of some entries.

        Args:
            entries: int64 [n], in any order.

        Raises:
            IndexError: There is no such entry.
        """

class Segments:
    """The engines of all segments as one, asked in one call; it holds them.

    Ranges are int64 [n, n_segments, 2], one for each n-gram and segment; where one is empty the segment is
    not asked. Documents are numbered one segment after the other. Errors are those of the engines.
    """

    def __init__(self, engines: list[EngineBase]) -> None:
        """At least one engine, in document order.

        Raises:
            ValueError: There is none.
        """

    def extend(self, ranges: NDArray[np.int64], symbols: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Ranges int64 [n, n_segments, 2] of n-grams with one symbol uint32 [n] appended to each."""

    def verify(self, ranges: NDArray[np.int64], candidates: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Ranges int64 [n, width, n_segments, 2] of n-grams with each of their candidates [n, width]."""

    def successors(
        self, ranges: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], SuccessorRanges]:
        """All symbols that follow each n-gram in any segment: offsets [n + 1], symbols [m], ranges [m]."""

    def locate(self, ranges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Occurrences of n-grams: offsets int64 [n + 1], and document and exclusive end int64 [m, 2].

        Those of n-gram i are the entries `offsets[i]:offsets[i + 1]`, by segment and row.
        """

    def extract(self, documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Streams of documents int64 [n]: offsets int64 [n + 1], symbols uint32 [m]."""
