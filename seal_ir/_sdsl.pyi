"""The engine of the paper, on sdsl-lite: an FM-index of token symbols, built into a file and read from it.

Arrays are C-contiguous numpy arrays of exactly the types named; anything else is a TypeError, because a
silent copy would hide a slow caller. Ranges are half-open rows `[lo, hi)`; an empty one comes back as
`[0, 0)`. Every operation releases the GIL, and an open engine may be used from several threads.

The module is there when seal-ir was built with sdsl-lite. sdsl-lite 2.1.1 is GPL-3+, and so is this module.
"""

import numpy as np
from numpy.typing import NDArray

def build(
    path: str, symbols: NDArray[np.uint32], starts: NDArray[np.int64], boundary: int, temp_dir: str
) -> None:
    """Write the index of the documents' streams to the file `path`.

    The same streams give the same bytes. Takes about 1 us per symbol, 8 bytes of memory per symbol, and 9
    bytes per symbol in a directory within `temp_dir` that is removed in any case. A failure may leave an
    incomplete file at `path`, which `Engine.open` refuses.

    Args:
        path: The file to write.
        symbols: uint32 [n], all streams in reading order; 0 is not allowed.
        starts: int64 [n_documents], where each stream starts in `symbols`.
        boundary: The symbol that each stream begins with and that occurs nowhere else.
        temp_dir: A directory for temporary files.

    Raises:
        ValueError: A stream is malformed; the message names document and offset.
        RuntimeError: A file cannot be written.
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
        3.5 steps through the wavelet tree per row.

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
    """An open index; the whole file is in memory."""

    @staticmethod
    def open(path: str) -> Engine:
        """The index in the file `path`, in time linear in its size.

        Raises:
            RuntimeError: The file is absent, of another kind or format version, or damaged.
        """

    @property
    def n_symbols(self) -> int:
        """Number of distinct symbols, the boundary included."""

def build_published(path: str, symbols: NDArray[np.uint32]) -> None:
    """Write an index as the published system does in memory: `construct_im` of a default `csa_wt_int<>`.

    For tests and benchmarks. Takes 30 to 40 bytes of memory per symbol.

    Args:
        path: The file to write.
        symbols: uint32 [n], the text in reading order; it is stored reversed. 0 is not allowed.

    Raises:
        ValueError: There are no symbols, or one is 0.
        RuntimeError: The file cannot be written.
    """

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

class Published:
    """The text of an index that the published system wrote; a walk through it from its first symbol."""

    @staticmethod
    def open(path: str) -> Published:
        """Map a `.fmi` file and make it ready to be read: 4 bytes of memory per symbol, about 0.1 us.

        Raises:
            RuntimeError: The file is absent, of another kind, damaged or too large to be read.
        """

    @property
    def n_rows(self) -> int:
        """One more than there are symbols in the text."""

    @property
    def n_symbols(self) -> int:
        """Number of distinct symbols."""

    def read(self, n: int) -> NDArray[np.uint32]:
        """The next at most `n` symbols of the text in reading order, uint32; none when all are read.

        Raises:
            RuntimeError: The text ends early: the file is damaged.
        """

class Baseline:
    """The published configuration, searched as the published system does, to measure against.

    Each operation gives the CPU seconds of its C++ loop first: no Python, no conversion of arrays is in them.
    The sizes in a file are checked, its contents are trusted: open nothing but files of `build_published`.
    N-gram i is `symbols[offsets[i]:offsets[i + 1]]`.
    """

    @staticmethod
    def open(path: str) -> Baseline:
        """Load a file of `build_published`.

        Raises:
            RuntimeError: The file is absent, of another kind or truncated.
        """

    @property
    def n_rows(self) -> int:
        """One more than there are symbols in the text."""

    @property
    def load_seconds(self) -> float:
        """CPU seconds that sdsl-lite's loader took."""

    def extend(
        self, ranges: NDArray[np.int64], symbols: NDArray[np.uint32]
    ) -> tuple[float, NDArray[np.int64]]:
        """Seconds, and ranges int64 [n, 2] with a symbol appended: one step each, from a kept range."""

    def find(
        self, offsets: NDArray[np.int64], symbols: NDArray[np.uint32]
    ) -> tuple[float, NDArray[np.int64]]:
        """Seconds, and ranges int64 [n, 2] of n-grams, each walked from its first symbol."""

    def successors(
        self, offsets: NDArray[np.int64], symbols: NDArray[np.uint32]
    ) -> tuple[float, NDArray[np.int64]]:
        """Seconds, and how many distinct symbols follow each n-gram, int64 [n].

        Each n-gram is walked from its first symbol and gets vectors of its own as long as the alphabet.
        """

    def locate(self, rows: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[float, NDArray[np.int64]]:
        """Seconds, and document and exclusive end of each row, int64 [n, 2], by bisection over `starts`."""

    def extract(
        self, documents: NDArray[np.int64], starts: NDArray[np.int64]
    ) -> tuple[float, NDArray[np.int64], NDArray[np.uint32]]:
        """Seconds, and the streams of documents: offsets int64 [n + 1] and symbols uint32 [m]."""
