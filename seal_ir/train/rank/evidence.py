"""What a question's ranking rests on: its candidates, and what each takes of the query's keys and unigrams.

A document's score is the sum over its parts of c * w^power. w is the log odds of a key or unigram under the
model, and c the rest: cover and scales. Which parts a document takes, and c, are constants of the last
ranking; the weights are what is trained (`scores.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Doubles, Ints
from seal_ir.config import RankConfig
from seal_ir.index.reader import Index
from seal_ir.rank.ranker import Streams, score_all
from seal_ir.rank.weights import WeightedQuery, log_odds, trust_in, weigh
from seal_ir.records import Key, QueryKeys


class Weighing(NamedTuple):
    """How log-probabilities become what documents add up.

    Attributes:
        n_tokens: N.
        smoothing: s.
        key_power, unigram_power: what weights are raised to.
    """

    n_tokens: int
    smoothing: float
    key_power: float
    unigram_power: float

    @classmethod
    def of(cls, config: RankConfig, n_tokens: int) -> Weighing:
        """That of a config."""
        unigram_power = config.alpha if config.unigram_alpha else 1.0
        return cls(n_tokens, config.smoothing, config.alpha, unigram_power)

    def powers(self, n_keys: int, n_parts: int) -> Doubles:
        """Float64 [n_parts]: those of the keys, then of the unigrams."""
        return np.repeat([self.key_power, self.unigram_power], [n_keys, n_parts - n_keys])


@dataclass(frozen=True, slots=True)
class Evidence:
    """One question and its candidates. Part i is key i, or unigram i - len(keys).

    Attributes:
        keys: those that count, by descending weight.
        tokens: int64 [u], the unigrams' symbols.
        unigram_counts: int64 [u], their F.
        documents: int64 [d], ascending.
        positive: bool [d].
        counted: bool [d]; a document that is neither positive nor counted is no negative.
        scores: float64 [d], the ranker's.
        rows, parts: int64 [m], ascending by row: document (its place) and part of each share.
        factors: float64 [m], c of each.
        shares: float64 [m], what each added to the ranker's score.
        trusts: float64 [keys + u], what the log-probability of each part is multiplied by.
        weighing: how these become weights in the index that was searched.
    """

    keys: list[Key]
    tokens: Ints
    unigram_counts: Ints
    documents: Ints
    positive: Bools
    counted: Bools
    scores: Doubles
    rows: Ints
    parts: Ints
    factors: Doubles
    shares: Doubles
    trusts: Doubles
    weighing: Weighing

    def key_shares(self) -> Doubles:
        """Float64 [keys]: the sum of what each key gives to candidates, to tell which matter."""
        of_all: Doubles = np.bincount(self.parts, self.shares, minlength=len(self.trusts)).astype(np.float64)
        return of_all[: len(self.keys)]


def gather(
    query_keys: QueryKeys,
    config: RankConfig,
    index: Index,
    documents: Ints,
    positives: Sequence[int],
    no_negatives: Sequence[int],
    streams: Streams,
) -> Evidence:
    """Score the candidates of a question and keep what the scores are made of.

    Args:
        query_keys: what the model wrote.
        config: how keys become scores; its score is "intersective".
        index: to rank in.
        documents: int64 [d], the candidates, ascending, each once.
        positives: those that answer the question, among others perhaps.
        no_negatives: those that may answer it.
        streams: texts of the index that were read before.
    """
    n_tokens = index.n_tokens
    query = WeightedQuery.of(weigh(query_keys, config, n_tokens), query_keys.unigrams, config, n_tokens)
    found = score_all(index, query, config, documents, streams)
    places = np.searchsorted(documents, found.documents)
    scores = np.zeros(len(documents))
    scores[places] = found.scores
    rows = np.repeat(places, np.diff(found.offsets))
    order = np.argsort(rows, kind="stable")
    keys = [item.key for item in query.keys]
    trusts = np.ones(len(keys) + len(query.unigram_weights))
    trusts[: len(keys)] = [trust_in(config.scale_and_trust(key.kind)[1], n_tokens) for key in keys]
    logprobs = np.concatenate([[key.logprob for key in keys], query.unigrams.logprobs]) * trusts
    counts = np.concatenate([[key.count for key in keys], query.unigrams.counts])
    weighing = Weighing.of(config, n_tokens)
    raised = log_odds(logprobs, counts, n_tokens, config.smoothing) ** weighing.powers(
        len(keys), len(logprobs)
    )
    parts = found.parts[order].astype(np.int64)
    shares = found.shares[order]
    positive = np.isin(documents, np.asarray(positives, dtype=np.int64))
    return Evidence(
        keys=keys,
        tokens=query.unigrams.symbols.astype(np.int64),
        unigram_counts=query.unigrams.counts,
        documents=documents,
        positive=positive,
        counted=~np.isin(documents, np.asarray(no_negatives, dtype=np.int64)) & ~positive,
        scores=scores,
        rows=rows[order],
        parts=parts,
        factors=shares / raised[parts],
        shares=shares,
        trusts=trusts,
        weighing=weighing,
    )
