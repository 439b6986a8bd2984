"""Ranking documents by the keys that they contain. No model, no files: an index, keys and settings.

1. Keys get weights; those of weight zero are dropped (`weights.py`).
2. Candidates are the documents that hold a rare key, F(n) <= max_count, and where these are too few those of
   frequent keys (`candidates.py`).
3. Candidates are read in batches, by descending bound on their scores, until no bound reaches the n-th best
   score. Frequent keys and unigrams are found in their texts, and every score is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.rank.candidates import Streams, find_candidates
from seal_ir.rank.compiled import Query, Ranking
from seal_ir.rank.weights import Matched, WeightedQuery, weigh
from seal_ir.records import QueryKeys, Ranked

_BATCH = 512  # documents read together: 300 KB of text, and few enough that the first bounds help the next


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
    `n_hits` where rare keys have fewer: see `candidates.find_candidates`. May be called from several threads
    at once.

    Args:
        index: where the keys' ranges come from.
        query_keys: what the model wrote.
        config: how keys become scores.
        n_hits: length of the list.
        streams: texts of this index that were read before, shared by all queries; default: none are kept.
    """
    keys = weigh(query_keys, config, index.n_tokens)
    query = WeightedQuery.of(keys, query_keys.unigrams, config, index.n_tokens)
    ranking = _ranking(index, query, config, n_hits)
    texts = streams or Streams(index, n_bytes=0)
    while len(documents := ranking.next(_BATCH)):
        for part in texts.read(documents):
            ranking.score(*part)
    return _ranked(ranking, query, n_hits, index.docid)


def _ranking(index: Index, query: WeightedQuery, config: RankConfig, n_hits: int) -> Ranking:
    """The candidates, none of them read."""
    keys = [item.key for item in query.keys]
    symbols: Symbols = np.array([s for key in keys for s in key.symbols], dtype=np.uint32)
    arrays = Query(
        symbols,
        _offsets(len(key.symbols) for key in keys),
        query.powers,
        query.unigrams.symbols,
        query.unigram_weights,
        config.beta,
    )
    found = find_candidates(index, keys, config.max_count, n_hits)
    return Ranking(arrays, found.offsets, found.rows, found.further, config.score == "max", n_hits)


def _offsets(sizes: Iterator[int]) -> Ints:
    return np.cumsum(np.array([0, *sizes], dtype=np.int64))


def _ranked(ranking: Ranking, query: WeightedQuery, n_hits: int, docid: Callable[[int], str]) -> list[Ranked]:
    """The first n hits, those with equal scores by docid."""
    documents, scores, offsets, parts, shares = ranking.hits()
    order: list[int] = []
    for _, group in groupby(range(len(documents)), key=lambda i: scores[i]):
        if len(order) >= n_hits:
            break
        tied = list(group)
        order.extend(sorted(tied, key=lambda i: docid(int(documents[i]))) if len(tied) > 1 else tied)
    ranked = []
    for i in order[:n_hits]:
        taken = slice(offsets[i], offsets[i + 1])
        matched = Matched(query, parts[taken], shares[taken])
        ranked.append(Ranked(int(documents[i]), float(scores[i]), matched))
    return ranked
