"""Ranking documents by the keys that they contain. No model, no files: an index, keys and settings.

1. Keys get weights; those of weight zero are dropped (`weights.py`).
2. Candidates are the documents that hold a rare key, F(n) <= max_count, and where these are too few those of
   frequent keys, found in pieces of their rows: memory does not depend on how often a key occurs.
3. Candidates are read in batches, by descending bound on their scores, until no bound reaches the n-th best
   score. Frequent keys and unigrams are found in their texts, and every score is exact. Texts come from the
   index's token stores; where it has none, from memory if they were read before, else from the FM-index.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from seal_ir.arrays import Doubles, Ints, Symbols
from seal_ir.config import RankConfig
from seal_ir.errors import UsageError
from seal_ir.index.directory import damaged
from seal_ir.index.engines import pieces
from seal_ir.index.reader import Index
from seal_ir.index.stores import sound_files
from seal_ir.processes import OwnOfProcess
from seal_ir.rank.compiled import Cache, Query, Ranking
from seal_ir.rank.weights import Matched, WeightedQuery, weigh
from seal_ir.records import Key, QueryKeys, Range, Ranked

logger = logging.getLogger(__name__)
DEFAULT_CACHE_BYTES = 128 << 20  # the passages of 40 million tokens
# Documents that one frequent key may add; five times what rare keys have on average (docs/scoring.md).
MOST_FURTHER = 100_000
_MOST_ROWS = (1 << 32) - 1  # occurrences of a query's rare keys that cpp/rank numbers
_BATCH = 512  # documents read together: 300 KB of text, and few enough that the first bounds help the next
_CUT = (
    "a query's rare keys are in %d documents, %d are wanted, and the next key occurs %d times: only the first"
    " %d documents with it were scored; [rank] max_count = %d, in a --config file, has all of them scored"
)


class Streams:
    """Streams of an index's documents, those read last kept in memory where the index has no token stores.

    Candidates recur from query to query, and reading one from an FM-index takes a step per token. May be used
    from several threads. A copy, a pickled one and one in a forked process keep texts of their own.
    """

    def __init__(self, index: Index, n_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """Keep nothing yet.

        Args:
            index: whose documents.
            n_bytes: memory for kept streams, most of it taken as it fills; 0 keeps none, nor is anything
                kept of an index that has stores.
        """
        self._index, self._n_bytes = index, n_bytes
        keeps = n_bytes > 0 and index.stores is None and not index.is_remote
        self._cache = OwnOfProcess(lambda: Cache(n_bytes) if keeps else None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Streams, (self._index, self._n_bytes)

    def read(self, documents: Ints) -> Iterator[tuple[Ints, Ints, Symbols]]:
        """All of the documents, in one or two parts: numbers [n], offsets [n + 1] and symbols of each.

        Args:
            documents: int64 [n].
        """
        absent = documents
        cache = self._cache.get()
        if cache is not None:
            kept, offsets, symbols, absent = cache.get(documents)
            if len(kept):
                yield kept, offsets, symbols
        if len(absent):
            offsets, symbols = self._index.extract(absent)
            if cache is not None:
                cache.put(absent, offsets, symbols)
            yield absent, offsets, symbols


def rank(
    index: Index,
    query_keys: QueryKeys,
    config: RankConfig,
    n_hits: int,
    *,
    streams: Streams | None = None,
) -> list[Ranked]:
    """The best documents for a query's keys, best first; ties by docid.

    The list is that of exhaustive scoring of all candidates. How many candidates there are depends on
    `n_hits` where rare keys have fewer: see `find_candidates`. May be called from several threads at once.

    Args:
        index: where the keys' ranges come from.
        query_keys: what the model wrote.
        config: how keys become scores.
        n_hits: length of the list.
        streams: texts of this index that were read before, shared by all queries; default: none are kept.
            Not asked where the index has token stores.

    Raises:
        IndexDirError: a file of the index turns out to be damaged.
    """
    keys = weigh(query_keys, config, index.n_tokens)
    query = WeightedQuery.of(keys, query_keys.unigrams, config, index.n_tokens)
    ranking = _ranking(index, query, config, n_hits)
    score_soundly(ranking, index, streams or Streams(index, n_bytes=0))
    return ranked_of(Scored(*ranking.hits()), query, n_hits, index.docid)


class Scored(NamedTuple):
    """Documents with the parts of their scores.

    Attributes:
        documents: int64 [n], by descending score, then number.
        scores: float64 [n]; that of row i is the sum of `shares[offsets[i]:offsets[i + 1]]`.
        offsets: int64 [n + 1].
        parts: int64 [m], number of a key of the query, or number of keys + number of a unigram.
        shares: float64 [m].
    """

    documents: Ints
    scores: Doubles
    offsets: Ints
    parts: Ints
    shares: Doubles


def score_all(
    index: Index, query: WeightedQuery, config: RankConfig, documents: Ints, streams: Streams
) -> Scored:
    """The scores of given documents: 0 for one that holds nothing; for "max" each must hold a key.

    Args:
        index: where the keys' ranges come from.
        query: what the model wrote, weighed.
        config: how keys become scores.
        documents: int64 [n], each once.
        streams: texts of this index that were read before.
    """
    nowhere = np.zeros(len(query.keys) + 1, dtype=np.int64)
    rows = np.empty((0, 2), dtype=np.int64)
    n_hits = max(1, len(documents))
    best_only = config.score == "max"
    ranking = Ranking(arrays_of(query, config), nowhere, rows, np.sort(documents), best_only, n_hits)
    score_soundly(ranking, index, streams)
    return Scored(*ranking.hits())


def score_soundly(ranking: Ranking, index: Index, streams: Streams) -> None:
    """Read and score candidates, until no other can be among the best.

    Raises:
        IndexDirError: a file of the index turns out to be damaged.
    """
    try:
        _score(ranking, index, streams)
    except ValueError as error:  # texts in which keys are not where the index says
        raise damaged(index.directory, error) from error


def _score(ranking: Ranking, index: Index, streams: Streams) -> None:
    """Read candidates, until no other can be among the best."""
    if index.stores is not None:
        with sound_files():
            ranking.score_stored(index.stores.compiled, _BATCH)
        return
    while len(documents := ranking.next(_BATCH)):
        for part in streams.read(documents):
            ranking.score(*part)


def _ranking(index: Index, query: WeightedQuery, config: RankConfig, n_hits: int) -> Ranking:
    """The candidates, none of them read."""
    keys = [item.key for item in query.keys]
    found = find_candidates(index, keys, config.max_count, n_hits)
    best_only = config.score == "max"
    return Ranking(arrays_of(query, config), found.offsets, found.rows, found.further, best_only, n_hits)


def arrays_of(query: WeightedQuery, config: RankConfig) -> Query:
    """A query's keys and unigrams as the compiled ranking takes them."""
    keys = [item.key for item in query.keys]
    symbols: Symbols = np.array([s for key in keys for s in key.symbols], dtype=np.uint32)
    offsets = _offsets(len(key.symbols) for key in keys)
    unigrams = query.unigrams.symbols
    return Query(symbols, offsets, query.powers, unigrams, query.unigram_weights, config.beta)


class Candidates(NamedTuple):
    """The documents to score, and where they hold the rare keys.

    Attributes:
        offsets: int64 [n_keys + 1]; key i was located at `rows[offsets[i]:offsets[i + 1]]`, a frequent one
            nowhere.
        rows: int64 [m, 2], document and exclusive end of each occurrence.
        further: int64 [d], ascending: documents without a rare key.
    """

    offsets: Ints
    rows: Ints
    further: Ints


def find_candidates(index: Index, keys: Sequence[Key], max_count: int, n_hits: int) -> Candidates:
    """The documents that hold a rare key, F(n) <= max_count; if these are too few, those of frequent ones.

    Frequent keys come by ascending F(n), equal ones in the order given, each with all its documents, until
    there are `n_hits` or the keys are used up. Of a key that would add more than `MOST_FURTHER` documents
    (more than `n_hits`, if that is more) the first by number are taken, and that is logged.

    Args:
        index: where the keys' rows come from.
        keys: of one query, in the order in which they are taken.
        max_count: how often a rare key may occur.
        n_hits: documents wanted.

    Raises:
        UsageError: `max_count` lets more occurrences in than can be numbered.
    """
    rare = rare_of(keys, max_count)
    found = index.locate(keys[i].ranges for i in rare)
    sizes = np.zeros(len(keys) + 1, dtype=np.int64)
    sizes[1:][rare] = np.diff(found.offsets)
    known = np.unique(found.documents)
    further = _further(index, [keys[i] for i in in_order_taken(keys, rare)], known, n_hits)
    return Candidates(np.cumsum(sizes), np.stack([found.documents, found.ends], axis=1), further)


def rare_of(keys: Sequence[Key], max_count: int) -> list[int]:
    """The numbers of the keys that occur at most `max_count` times.

    Raises:
        UsageError: they occur more often together than can be numbered.
    """
    rare = [i for i, key in enumerate(keys) if key.count <= max_count]
    if (n_rows := sum(keys[i].count for i in rare)) > _MOST_ROWS:
        raise UsageError(
            f"[rank] max_count = {max_count}: a query's rare keys occur {n_rows:,} times together, of which"
            f" {_MOST_ROWS:,} at most can be scored; lower it"
        )
    return rare


def in_order_taken(keys: Sequence[Key], rare: Sequence[int]) -> list[int]:
    """The numbers of the keys that are not rare, in the order in which their documents are added."""
    return sorted(set(range(len(keys))) - set(rare), key=lambda i: (keys[i].count, i))


def documents_wanted(n_hits: int) -> int:
    """How many documents one frequent key may add."""
    return max(MOST_FURTHER, n_hits)


def warn_cut(n_rare: int, n_hits: int, count: int, most: int) -> None:
    """Tell that a key which occurs `count` times added its first `most` documents only."""
    logger.warning(_CUT, n_rare, n_hits, count, most, count)


def _further(index: Index, frequent: Sequence[Key], known: Ints, n_hits: int) -> Ints:
    """Documents of frequent keys that are not among the known ones, ascending."""
    further = np.empty(0, dtype=np.int64)
    n_rare, most = len(known), documents_wanted(n_hits)
    for key in frequent:
        if len(known) >= n_hits:
            break
        added = holders(index, key.ranges, known, most + 1)
        if len(added) > most:
            warn_cut(n_rare, n_hits, key.count, most)
            added = added[:most]
        further, known = np.union1d(further, added), np.union1d(known, added)
    return further


def holders(index: Index, ranges: Sequence[Range], known: Ints, most: int) -> Ints:
    """The first `most` documents by number that hold an n-gram and are not known yet, ascending."""
    found = np.empty(0, dtype=np.int64)
    for piece in pieces(ranges):
        if len(found) == most and piece.begins:  # documents of later segments have higher numbers
            break
        documents = np.unique(index.locate([piece.ranges]).documents)
        new = np.setdiff1d(documents, known, assume_unique=True)
        found = np.union1d(found, new)[:most]
    return found


def _offsets(sizes: Iterator[int]) -> Ints:
    return np.cumsum(np.array([0, *sizes], dtype=np.int64))


def ranked_of(hits: Scored, query: WeightedQuery, n_hits: int, docid: Callable[[int], str]) -> list[Ranked]:
    """The first n of the best documents, those with equal scores by docid.

    Args:
        hits: the n best, and all that tie with the last of them.
        query: whose parts made the scores.
        n_hits: n.
        docid: gives a document's id.
    """
    documents, scores, offsets, parts, shares = hits
    order: list[int] = []
    for _, group in groupby(range(len(documents)), key=lambda i: scores[i]):
        tied = list(group)
        order.extend(sorted(tied, key=lambda i: docid(int(documents[i]))) if len(tied) > 1 else tied)
    ranked = []
    for i in order[:n_hits]:
        taken = slice(offsets[i], offsets[i + 1])
        matched = Matched(query, parts[taken], shares[taken])
        ranked.append(Ranked(int(documents[i]), float(scores[i]), matched))
    return ranked
