"""Scoring of documents by keys, on plain arrays: no index and no model is known here.

Arrays are C-contiguous numpy arrays of exactly the types named; anything else is a TypeError, because a
silent copy would hide a slow caller. Everything that takes time releases the GIL.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def write_tokens(path: str, symbols: NDArray[np.uint32], starts: NDArray[np.int64], boundary: int) -> None:
    """Write the token store of a segment's streams.

    Args:
        path: file to write.
        symbols: uint32 [n], all streams.
        starts: int64 [d], where each starts.
        boundary: what every stream begins with, and nothing else holds.

    Raises:
        ValueError: the streams are malformed.
        RuntimeError: the file cannot be written.
    """

class TokenStores:
    """The token stores of consecutive segments, mapped into memory; for use from any thread.

    Documents are numbered through, from 0. RuntimeError says that a file is damaged, and which.
    """

    @staticmethod
    def open(paths: Sequence[str], live: Sequence[NDArray[np.int64] | None]) -> TokenStores:
        """Map the files, in document order; of each the header is checked.

        Args:
            paths: the files.
            live: of each the numbers of the documents that count, int64 [n] ascending; None: all.

        Raises:
            ValueError: a file has no such documents.
        """

    @property
    def n_documents(self) -> int:
        """Of all files."""

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Documents and tokens of each file."""

    def extract(self, documents: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        """Streams of the documents in reading order: offsets int64 [n + 1], symbols uint32 [m].

        Raises:
            IndexError: there is no such document.
            RuntimeError: a file is damaged.
        """

    def value_lengths(self, start: int, end: int, first_only: bool) -> NDArray[np.int64]:
        """How many values between these symbols have each length, the end included.

        Args:
            start: symbol before a value.
            end: symbol after it.
            first_only: every document has one value, and is read no further than its end.

        Raises:
            RuntimeError: a file is damaged.
        """

class Query:
    """The keys of one query; the arrays are held, not copied."""

    def __init__(
        self,
        symbols: NDArray[np.uint32],
        offsets: NDArray[np.int64],
        powers: NDArray[np.float64],
        unigrams: NDArray[np.uint32],
        unigram_weights: NDArray[np.float64],
        beta: float,
    ) -> None:
        """Put the arrays together.

        Args:
            symbols: uint32 [m]; key i is `symbols[offsets[i]:offsets[i + 1]]`.
            offsets: int64 [n + 1].
            powers: float64 [n], what each key adds at most (w^alpha); in the order in which keys are taken.
            unigrams: uint32 [u], ascending.
            unigram_weights: float64 [u], positive or 0.
            beta: see docs/scoring.md.
        """

def taken(
    query: Query, best_only: bool, symbols: NDArray[np.uint32]
) -> tuple[
    float, NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]
]:
    """What the score of one document is made of, with the places, for explanations.

    Args:
        query: the keys.
        best_only: see `Ranking`.
        symbols: uint32 [m], the document's stream.

    Returns:
        The score; its parts int64 [p] and their shares float64 [p], as `Ranking.hits` has them; offsets int64
        [p + 1] and ends int64 [n]: part i took the occurrences that end, exclusively, at
        `ends[offsets[i]:offsets[i + 1]]`; and the keys that occur, taken or not, int64 [h] ascending.
    """

class Ranking:
    """The best documents for one query. Belongs to one thread."""

    def __init__(
        self,
        query: Query,
        offsets: NDArray[np.int64],
        rows: NDArray[np.int64],
        further: NDArray[np.int64],
        best_only: bool,
        n_hits: int,
    ) -> None:
        """Group the located occurrences by document.

        Args:
            query: the keys.
            offsets: int64 [n + 1]; key i was located at `rows[offsets[i]:offsets[i + 1]]`. A key without rows
                is looked for in the candidates' texts.
            rows: int64 [m, 2], document and exclusive end of each occurrence.
            further: int64 [d], ascending: candidates that hold no located key; for `best_only` they must hold
                one of the others.
            best_only: a document's score is the power of its first key, not the intersective score.
            n_hits: how many documents are wanted, at least 1.

        Raises:
            ValueError: the arrays do not fit each other.
        """

    @property
    def n_candidates(self) -> int:
        """Documents that hold a located key, and the further ones."""

    def next(self, limit: int) -> NDArray[np.int64]:
        """Up to `limit` documents to read next, int64 [n], ascending; none at the end.

        Candidates come by a bound on their scores; the end is where no bound reaches the n-th best score.
        """

    def score(
        self, documents: NDArray[np.int64], offsets: NDArray[np.int64], symbols: NDArray[np.uint32]
    ) -> None:
        """Score documents that the last `next` named; that of row i is `symbols[offsets[i]:offsets[i + 1]]`.

        Args:
            documents: int64 [n], some or all of them.
            offsets: int64 [n + 1].
            symbols: uint32 [m], their streams.

        Raises:
            ValueError: `next` named no such document, a located key ends beyond the stream, or the stream
                holds no key, for `best_only`.
        """

    def score_stored(self, stores: TokenStores, limit: int) -> None:
        """Score all documents that `next(limit)` names, time after time, from where they are stored.

        Raises:
            ValueError: they are not stored there, or see `score`.
            RuntimeError: a file is damaged; names it.
        """

    def hits(
        self,
    ) -> tuple[
        NDArray[np.int64], NDArray[np.float64], NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]
    ]:
        """Documents, scores, offsets, parts and shares of the best and of all that tie with the last of them.

        By descending score, then document. The score of row i is the sum of
        `shares[offsets[i]:offsets[i + 1]]`, in the order taken; `parts` says of what: key number, or number
        of keys + number of unigram.
        """

class Cache:
    """Streams read before, in a fixed amount of memory; for use from any thread."""

    def __init__(self, n_bytes: int) -> None:
        """An empty one of at most `n_bytes`, a ninth at once and the rest as it fills; 0 keeps nothing."""

    def size_in_bytes(self) -> int:
        """Memory when it is full."""

    def get(
        self, documents: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
        """Documents found, their offsets [n + 1] and symbols, and the documents that are not here."""

    def put(
        self, documents: NDArray[np.int64], offsets: NDArray[np.int64], symbols: NDArray[np.uint32]
    ) -> None:
        """Keep streams, over the oldest ones where there is no room left."""
