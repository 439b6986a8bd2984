"""What one document's score is made of, and where: for explanations, never for ranking.

Everything is asked of the ranking's own code (cpp/rank): which keys it takes, and which occurrences of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Doubles, Ints, Symbols
from seal_ir.config import RankConfig
from seal_ir.rank.compiled import Query, taken
from seal_ir.rank.ranker import arrays_of
from seal_ir.rank.weights import Matched, WeightedQuery
from seal_ir.records import UNIGRAM, ScoredKey


class Account(NamedTuple):
    """The score of a document and what it is made of.

    Attributes:
        score: the shares, added up in float64 in their order, to the bit.
        matched: the parts with their shares.
        places: of each part the exclusive ends of the occurrences that it took, int64 [n] ascending.
        held: numbers of all the query's keys that occur, taken or not, int64 [h] ascending.
    """

    score: float
    matched: Sequence[ScoredKey]
    places: list[Ints]
    held: Ints


def account(query: WeightedQuery, config: RankConfig, stream: Symbols) -> Account:
    """What a document would score that has this stream, candidate or not: 0 for one that holds nothing.

    Args:
        query: what the model wrote, weighed.
        config: how keys become scores.
        stream: uint32 [m], the document's symbols.
    """
    score, numbers, shares, offsets, ends, held = taken(
        arrays_of(query, config), config.score == "max", stream
    )
    return Account(score, Matched(query, numbers, shares), _cut(ends, offsets), held)


def places(matched: Sequence[ScoredKey], stream: Symbols) -> list[Ints]:
    """Where the parts of a ranked document's score took tokens: the exclusive ends of each part's places.

    A document of keys that are exactly those taken is scored again, each weighing its share and nothing
    that another had before (beta = 0): so all of them are taken again, in their order and at their places.

    Args:
        matched: the parts, as ranking gave them.
        stream: uint32 [m], the document's symbols.

    Raises:
        ValueError: the stream is another document's.
    """
    keys = [part for part in matched if part.key.kind != UNIGRAM]
    unigrams = sorted((part.key.symbols[0], i) for i, part in enumerate(matched) if part.key.kind == UNIGRAM)
    symbols = np.array([s for part in keys for s in part.key.symbols], dtype=np.uint32)
    offsets = np.cumsum([0, *(len(part.key.symbols) for part in keys)], dtype=np.int64)
    ones: Doubles = np.ones(len(matched))  # a share may be negative, of LM, and any positive one is taken
    types = np.array([symbol for symbol, _ in unigrams], dtype=np.uint32)
    query = Query(symbols, offsets, ones[: len(keys)], types, ones[len(keys) :], 0.0)
    _, numbers, _, bounds, ends, _ = taken(query, False, stream)
    if len(numbers) != len(matched):
        raise ValueError(f"{len(numbers)} of {len(matched)} keys of its score are in it")
    found = _cut(ends, bounds)
    order = [*range(len(keys)), *(i for _, i in unigrams)]
    return [found[at] for at in np.argsort(order)]


def _cut(ends: Ints, offsets: Ints) -> list[Ints]:
    return [ends[lo:hi] for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]
