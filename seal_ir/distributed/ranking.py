"""Ranking over shards: what a shard finds among its documents, and how their matches become one ranking.

A document's score depends on its own text, the keys and their weights, and these are given: each shard's best
documents, merged, are those of the whole index. What does depend on all shards is which documents are scored
at all: those of rare keys, and where these are too few those of frequent ones (`seal_ir.rank.ranker`). How
many keys are taken is therefore decided here, from how many documents each would add in each shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.config import RankConfig
from seal_ir.distributed.messages import Found, NGrams, Wanted, narrowed
from seal_ir.distributed.rows import counts_of
from seal_ir.index.engines import as_tuples
from seal_ir.index.reader import Index
from seal_ir.rank.compiled import Query, Ranking
from seal_ir.rank.ranker import (
    Scored,
    Streams,
    documents_wanted,
    holders,
    in_order_taken,
    rare_of,
    score_soundly,
    warn_cut,
)
from seal_ir.rank.weights import WeightedQuery


def wanted_of(query: WeightedQuery, config: RankConfig, n_hits: int) -> Wanted:
    """A weighed query as it travels."""
    keys = [item.key for item in query.keys]
    rare = rare_of(keys, config.max_count)
    frequent = in_order_taken(keys, rare)
    return Wanted(
        NGrams.of(key.symbols for key in keys),
        query.powers,
        query.unigrams.symbols,
        query.unigram_weights,
        config.beta,
        config.score == "max",
        n_hits,
        narrowed(np.array(rare, dtype=np.int64)),
        narrowed(np.array(frequent, dtype=np.int64)),
    )


class Taken(NamedTuple):
    """Which documents of frequent keys are scored.

    Attributes:
        n_keys: frequent keys that are taken.
        limits: of each shard, how many documents the last of them may add; None: all.
    """

    n_keys: int
    limits: list[int | None]


def taken_of(n_rare: Sequence[int], added: Sequence[Ints], counts: Sequence[int], wanted: Wanted) -> Taken:
    """How many frequent keys are taken, as `find_candidates` does it for an index.

    Args:
        n_rare: documents with a rare key, of each shard.
        added: of each shard how many each frequent key would add, as far as the shard needs any.
        counts: F of the frequent keys.
        wanted: the query.
    """
    n_known, most = sum(n_rare), documents_wanted(wanted.n_hits)
    n_shards = len(added)
    for taken in range(len(wanted.frequent)):
        if n_known >= wanted.n_hits:
            return Taken(taken, [None] * n_shards)
        new = [int(of_shard[taken]) if taken < len(of_shard) else 0 for of_shard in added]
        if sum(new) > most:
            warn_cut(sum(n_rare), wanted.n_hits, counts[taken], most)
            before = np.cumsum([0, *new[:-1]])
            limits: list[int | None] = [int(max(0, most - b)) for b in before]
            return Taken(taken + 1, limits)
        n_known += sum(new)
    return Taken(len(wanted.frequent), [None] * n_shards)


def merged(parts: Sequence[Found], n_hits: int) -> tuple[Scored, dict[int, str]]:
    """The n best documents of all shards, and all that tie with the last of them; and their ids."""
    scores = np.concatenate([part.scores for part in parts])
    documents = np.concatenate([part.documents for part in parts])
    if len(scores) > n_hits:
        chosen = np.flatnonzero(scores >= np.partition(scores, -n_hits)[-n_hits])
    else:
        chosen = np.arange(len(scores))
    order = chosen[np.lexsort((documents[chosen], -scores[chosen]))]
    sizes = np.concatenate([np.diff(part.offsets) for part in parts])
    starts = np.cumsum(sizes) - sizes
    offsets = np.cumsum([0, *sizes[order].tolist()])
    entries = np.repeat(starts[order] - offsets[:-1], sizes[order]) + np.arange(offsets[-1])
    columns = (np.concatenate([part.parts for part in parts]), np.concatenate([p.shares for p in parts]))
    docids = [docid for part in parts for docid in part.docids]
    scored = Scored(documents[order], scores[order], offsets, *(column[entries] for column in columns))
    return scored, {int(documents[i]): docids[i] for i in order.tolist()}


# In a shard


def further_of(index: Index, wanted: Wanted, ranges: Ints, taken: int, limit: int | None) -> Ints:
    """Documents of frequent keys that hold no rare one, int64 [n] ascending; see `Shard.ranked`."""
    further = np.empty(0, dtype=np.int64)
    if not taken:
        return further
    known = _with_rare(index, wanted, ranges)
    for at, key in enumerate(wanted.frequent[:taken].tolist()):
        most = limit if limit is not None and at == taken - 1 else index.n_documents
        added = holders(index, as_tuples(ranges[key][None])[0], known, most)
        further, known = np.union1d(further, added), np.union1d(known, added)
    return further


def new_holders(index: Index, wanted: Wanted, ranges: Ints) -> Ints:
    """Documents that each frequent key adds, int64 [m]; no further than this shard has `n_hits` by itself."""
    known, most = _with_rare(index, wanted, ranges), documents_wanted(wanted.n_hits)
    added = []
    for key in wanted.frequent.tolist():
        if len(known) >= wanted.n_hits:
            break
        new = holders(index, as_tuples(ranges[key][None])[0], known, most + 1)
        added.append(len(new))
        known = np.union1d(known, new)
    return np.array(added, dtype=np.int64)


def best_of(
    index: Index, wanted: Wanted, ranges: Ints, further: Ints, streams: Streams
) -> tuple[int, Scored]:
    """How many documents hold a rare key, and the best documents of an index."""
    n_keys = len(wanted.powers)
    # A key that does not occur here can be in no document: without it bounds are closer.
    here = np.flatnonzero(counts_of(ranges) > 0)
    is_rare = np.zeros(n_keys, dtype=bool)
    is_rare[wanted.rare] = True
    located = np.flatnonzero(is_rare[here])
    found = index.locate(as_tuples(ranges[here[located]]))
    sizes = np.zeros(len(here) + 1, dtype=np.int64)
    sizes[1:][located] = np.diff(found.offsets)
    rows = np.stack([found.documents, found.ends], axis=1)
    lengths = wanted.ngrams.lengths.astype(np.int64)
    ends = np.cumsum(lengths)
    offsets = np.cumsum([0, *lengths[here].tolist()])
    entries = np.repeat((ends - lengths)[here] - offsets[:-1], lengths[here]) + np.arange(offsets[-1])
    query = Query(
        wanted.ngrams.symbols[entries],
        offsets,
        wanted.powers[here],
        wanted.unigrams,
        wanted.unigram_weights,
        wanted.beta,
    )
    ranking = Ranking(query, np.cumsum(sizes), rows, further, wanted.best_only, wanted.n_hits)
    score_soundly(ranking, index, streams)
    hits = Scored(*ranking.hits())
    is_key = hits.parts < len(here)
    parts = np.where(
        is_key, here[np.where(is_key, hits.parts, 0)] if len(here) else 0, hits.parts - len(here) + n_keys
    )
    return len(np.unique(found.documents)), hits._replace(parts=parts)


def _with_rare(index: Index, wanted: Wanted, ranges: Ints) -> Ints:
    """Documents with a rare key, ascending."""
    return np.unique(index.locate(as_tuples(ranges[wanted.rare])).documents)
