"""What travels between an index and its shards: n-grams, counts, symbols, matches; no rows of an index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from seal_ir.arrays import Doubles, Ints, Symbols
from seal_ir.index.view import Counts

Whole: TypeAlias = NDArray[Any]  # whole numbers in the narrowest of a few types that holds them
NEVER, NARROW, ALWAYS = 0, 1, 2  # when to tell what follows an n-gram
# Rows up to which a NARROW n-gram's successors are told: those that decoding enumerates have no more.
MOST_ROWS = 4096


class NGrams(NamedTuple):
    """N-grams in reading order, one after another.

    Attributes:
        lengths: uint16 [n].
        symbols: uint32 [m].
    """

    lengths: Whole
    symbols: Symbols

    @classmethod
    def of(cls, ngrams: Iterable[Sequence[int]]) -> NGrams:
        """From sequences of symbols."""
        known = list(ngrams)
        symbols = np.array([symbol for ngram in known for symbol in ngram], dtype=np.uint32)
        return cls(narrowed(np.array(list(map(len, known)), dtype=np.int64)), symbols)

    @property
    def names(self) -> list[bytes]:
        """Each as the bytes of its symbols, by which it is remembered."""
        data = self.symbols.tobytes()
        ends = (4 * np.cumsum(self.lengths, dtype=np.int64)).tolist()
        return [data[lo:hi] for lo, hi in zip([0, *ends], ends, strict=False)]


class Asked(NamedTuple):
    """N-grams, each a prefix and a symbol, whose counts are asked for, and what follows some of them.

    Attributes:
        prefixes: distinct ones.
        owners: the prefix of each n-gram [n].
        symbols: uint32 [n].
        opened: uint8 [n], `NEVER`, `NARROW` or `ALWAYS`.
    """

    prefixes: NGrams
    owners: Whole
    symbols: Symbols
    opened: NDArray[np.uint8]


class Answered(NamedTuple):
    """Counts of n-grams, and what follows n-gram i: entries [offsets[i], offsets[i + 1]).

    Attributes:
        counts: F of each n-gram [n].
        offsets: [n + 1].
        symbols: uint32 [m], ascending within one n-gram.
        follows: F of each n-gram with the symbol appended [m].
    """

    counts: Whole
    offsets: Whole
    symbols: Symbols
    follows: Whole

    @property
    def sizes(self) -> Ints:
        """How many symbols follow each n-gram [n]."""
        offsets = self.offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]


class Within(NamedTuple):
    """The documents of a shard that are looked at.

    Attributes:
        name: the same for the same documents; "" for all of them.
        counts: see `View`.
    """

    name: str = ""
    counts: Counts = "collection"


class Wanted(NamedTuple):
    """A weighed query whose documents are asked for; the arrays are those of `WeightedQuery`.

    Attributes:
        ngrams: the keys, by descending weight.
        powers: float64 [n].
        unigrams: uint32 [u], ascending.
        unigram_weights: float64 [u].
        beta: see `RankConfig`.
        best_only: score a document by its best key alone.
        n_hits: documents wanted.
        rare: numbers of the keys that are located.
        frequent: numbers of the others, in the order in which their documents are added.
    """

    ngrams: NGrams
    powers: Doubles
    unigrams: Symbols
    unigram_weights: Doubles
    beta: float
    best_only: bool
    n_hits: int
    rare: Whole
    frequent: Whole


class Found(NamedTuple):
    """A shard's best documents, and all that tie with the last of them; as `Scored`.

    Attributes:
        n_rare: documents with a rare key.
        documents: numbers in the whole index, int64 [n].
        scores: float64 [n], descending.
        offsets: int64 [n + 1].
        parts: int64 [m].
        shares: float64 [m].
        docids: of the documents.
    """

    n_rare: int
    documents: Ints
    scores: Doubles
    offsets: Ints
    parts: Ints
    shares: Doubles
    docids: list[str]


class Shards(Protocol):
    """All shards of an index, in the order of their documents, wherever they are."""

    @property
    def bases(self) -> Ints:
        """The first document of each, and the number of all documents, int64 [n + 1]."""
        ...

    def keep(self, values: Sequence[Any]) -> list[Any]:
        """Put values, one for each shard, where the shards have them when they are named."""
        ...

    def ask(self, method: str, arguments: Sequence[Sequence[Any] | None]) -> list[Any]:
        """The answers of shards to a method of `Shard`, all asked at once.

        Args:
            method: its name.
            arguments: of each shard; None: it is not asked, and its answer is None.

        Raises:
            SealError: what a shard raises; or one is lost.
        """
        ...


def narrowed(values: Ints) -> Whole:
    """The same whole numbers >= 0 in uint16, uint32 or int64."""
    most = int(values.max(initial=0))
    return values.astype(np.uint16 if most < 1 << 16 else np.uint32 if most < 1 << 32 else np.int64)


def joined(parts: Sequence[Answered]) -> Answered:
    """The answers of several shards as one: sums of counts, unions of what follows."""
    if len(parts) == 1:
        return parts[0]
    n = len(parts[0].counts)
    counts = np.sum([part.counts.astype(np.int64) for part in parts], axis=0)
    owners = np.concatenate([np.repeat(np.arange(n) << 32, part.sizes) for part in parts])
    pairs = owners | np.concatenate([part.symbols for part in parts])
    order = np.argsort(pairs, kind="stable")  # those of a shard are in order already
    ordered = pairs[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: len(ordered)])
    follows = np.concatenate([part.follows.astype(np.int64) for part in parts])[order]
    union = ordered[first]
    offsets = np.searchsorted(union, np.arange(n + 1, dtype=np.int64) << 32)
    summed = np.add.reduceat(follows, first) if len(first) else follows
    return Answered(counts, offsets, (union & 0xFFFFFFFF).astype(np.uint32), summed)
