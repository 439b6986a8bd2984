"""Why one document ranks where it does, or does not: found by scoring it as the ranking would."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.config import RankConfig, SearchConfig
from seal_ir.errors import shown
from seal_ir.explanation.keys import contents_of, hit_keys, key_texts, query_keys
from seal_ir.explanation.values import (
    BEYOND_K,
    DELETED,
    NO_KEYS,
    NOT_CANDIDATE,
    OUTSIDE_FILTER,
    RANKED,
    UNKNOWN,
    Explanation,
)
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.rank.ranker import Streams, rank
from seal_ir.rank.standing import Standing, standing
from seal_ir.rank.taken import Account, account
from seal_ir.rank.weights import WeightedQuery, weigh
from seal_ir.records import UNIGRAM, QueryKeys, Ranked, ScoredKey

MOST_LACKING = 20  # keys that a document does not hold, as many as an explanation has unless told otherwise


class Asked(NamedTuple):
    """A query with its keys, and how many hits are wanted of it."""

    query: str
    keys: QueryKeys
    k: int


def absent(index: Index, config: SearchConfig, query: str, docid: str, k: int) -> Explanation:
    """The explanation of a document that is not in the index."""
    if index.was_deleted(docid):
        told = f"{shown(docid)} was in the index and is deleted; add it again to find it"
        return Explanation(query, docid, DELETED, told, k, config.preset)
    told = f"{index.directory} has no document with the id {shown(docid)}"
    return Explanation(query, docid, UNKNOWN, told, k, config.preset)


def explained(
    index: Index, config: SearchConfig, asked: Asked, number: int, streams: Streams, n_lacking: int
) -> Explanation:
    """Why a document that the index holds ranks where it does.

    Args:
        index: to rank in, or a view of it.
        config: how.
        asked: the query.
        number: the document's.
        streams: texts of this index that were read before.
        n_lacking: most keys to name that the document does not hold.

    Raises:
        IndexDirError: the index is damaged.
    """
    n_tokens = index.n_tokens
    query = WeightedQuery.of(
        weigh(asked.keys, config.rank, n_tokens), asked.keys.unigrams, config.rank, n_tokens
    )
    n_hits = min(asked.k, index.n_documents)
    ranking = rank(index, asked.keys, config.rank, n_hits, streams=streams)
    stream = index.streams([number])[0]
    found = account(query, config.rank, stream)
    (document,) = index.documents([number])
    keys = hit_keys(index, config.rank, document, stream, found.matched, found.places, found.score)
    place = _standing(index, query, config.rank, n_hits, ranking, number, found.score, streams)
    unused, lacking = _others(query, found)
    said = Explanation(
        query=asked.query,
        docid=document.id,
        status="",
        reason="",
        k=asked.k,
        preset=config.preset,
        rank=place.rank if place.candidate else None,
        would_rank=None if place.candidate or not len(found.held) else place.rank,
        score=found.score,
        last_score=ranking[-1].score if len(ranking) == asked.k else None,
        n_candidates=place.n_candidates,
        keys=keys,
        unused=query_keys(index, config.rank, unused),
        lacking=query_keys(index, config.rank, lacking[:n_lacking]),
        n_lacking=len(lacking),
        contents=contents_of(document),
    )
    status, reason = _told(index, query, config.rank, found.held, said)
    return replace(said, status=status, reason=reason)


def _standing(
    index: Index,
    query: WeightedQuery,
    config: RankConfig,
    k: int,
    ranking: list[Ranked],
    number: int,
    score: float,
    streams: Streams,
) -> Standing:
    place = standing(index, query, config, k, number, score, streams)
    at = next((i for i, item in enumerate(ranking) if item.document == number), None)
    return place if at is None else place._replace(candidate=True, rank=1 + at)


def _others(query: WeightedQuery, found: Account) -> tuple[list[ScoredKey], list[ScoredKey]]:
    """Keys that are held without adding anything, and those that are not held; the heaviest first."""
    taken = {part.key.symbols for part in found.matched if part.key.kind != UNIGRAM}
    held = set(found.held.tolist())
    unused = [query.keys[i] for i in sorted(held) if query.keys[i].key.symbols not in taken]
    return unused, [item for i, item in enumerate(query.keys) if i not in held]


def _told(
    index: Index, query: WeightedQuery, config: RankConfig, held: Ints, said: Explanation
) -> tuple[str, str]:
    """Status and reason of an explanation that has all else."""
    if isinstance(index, View) and not index.allows(said.docid):
        would = f"; its score would be rank {said.would_rank:,}" if said.would_rank else ""
        return (
            OUTSIDE_FILTER,
            f"it is outside the filter, which allows {len(index.allowed):,} documents{would}",
        )
    if said.rank is not None and said.rank <= said.k:
        return RANKED, f"rank {said.rank:,} of {said.n_candidates:,} documents that were scored"
    if said.rank is not None:
        return BEYOND_K, (
            f"rank {said.rank:,} of {said.n_candidates:,} documents that were scored is beyond k ="
            f" {said.k:,}; {said.n_lacking:,} keys are not in it"
        )
    if not query.keys:
        return NO_KEYS, "the query has no key with a weight, so that nothing can be found"
    if not len(held):
        only = ", only unigrams, which rank no document by themselves" if said.keys else ""
        return NO_KEYS, f"it holds none of the query's {len(query.keys):,} keys{only}"
    counts = np.array([query.keys[i].key.count for i in held.tolist()])
    rarest = query.keys[int(held[int(counts.argmin())])].key
    (text,) = key_texts(index, [rarest])
    return NOT_CANDIDATE, (
        f"it was not scored: its rarest key {shown(text)} occurs {rarest.count:,} times, more than"
        f" [rank] max_count = {config.max_count:,}, and rarer keys are in {said.n_candidates:,} documents,"
        f" among which its score would be rank {said.would_rank:,}; max_count = {rarest.count} has it scored"
    )
