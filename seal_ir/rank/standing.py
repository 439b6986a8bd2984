"""Where a document stands among all that a query's ranking scores: for explanations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.rank.ranker import Streams, find_candidates, score_all
from seal_ir.rank.weights import WeightedQuery

_CHUNK = 4096  # documents scored at a time: memory does not grow with the candidates


class Standing(NamedTuple):
    """A document among the candidates of a ranking.

    Attributes:
        candidate: whether it is one of them.
        n_candidates: how many there are.
        rank: its rank among them, from 1; that which its score would have where it is none.
    """

    candidate: bool
    n_candidates: int
    rank: int


def standing(
    index: Index,
    query: WeightedQuery,
    config: RankConfig,
    n_hits: int,
    document: int,
    score: float,
    streams: Streams,
) -> Standing:
    """Score all candidates of a ranking and count those before a document; ties by docid, as in the ranking.

    This takes about as long as a search's ranking: that reads all candidates' texts, too.

    Args:
        index: where the keys' ranges come from.
        query: what the model wrote, weighed.
        config: how keys become scores.
        n_hits: of the ranking, which has further candidates where those of rare keys are fewer.
        document: by number.
        score: its exact score.
        streams: texts of this index that were read before.
    """
    keys = [item.key for item in query.keys]
    found = find_candidates(index, keys, config.max_count, n_hits)
    candidates: Ints = np.union1d(found.rows[:, 0], found.further)
    n_better, docid = 0, index.docid(document)
    for at in range(0, len(candidates), _CHUNK):
        scored = score_all(index, query, config, candidates[at : at + _CHUNK], streams)
        n_better += int((scored.scores > score).sum())
        tied = scored.documents[(scored.scores == score) & (scored.documents != document)]
        n_better += sum(index.docid(int(other)) < docid for other in tied)
    return Standing(bool(np.isin(document, candidates)), len(candidates), 1 + n_better)
