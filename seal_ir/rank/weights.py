"""The weight of a key, and a query's weighted keys as arrays, which the parts of a score stand for.

Natural logarithms throughout; N is the index's number of tokens, F(n) a key's count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from seal_ir.arrays import Doubles, Ints
from seal_ir.config import RankConfig
from seal_ir.records import BODY, UNIGRAM, Key, QueryKeys, Ranked, ScoredKey, Unigrams

# A probability that float32 rounds to 1 says "at least 1 - 2^-24", not "certain": the odds stay finite.
HIGHEST_LOGPROB = -(2.0**-24)
_LARGE = 10_000_000  # tokens; from here on `query_trust` is taken as it is


def log_odds(logprobs: Doubles, counts: Ints, n_tokens: int, smoothing: float) -> Doubles:
    """Weights w(n, q) >= 0 of the LM+FM scoring function.

    The paper's equation 2: w = max(0, log [ P(n|q) (1 - P(n)) / (P(n) (1 - P(n|q))) ]) with
    P(n) = (F(n) + s) / (N + s).

    Args:
        logprobs: log P(n|q), float [n]; -inf gives weight 0.
        counts: F(n) >= 1, int [n].
        n_tokens: N.
        smoothing: s.
    """
    corpus = (counts + smoothing) / (n_tokens + smoothing)
    logprobs = np.minimum(logprobs, HIGHEST_LOGPROB)
    with np.errstate(divide="ignore"):  # a corpus of one token has P(n) = 1, whose odds are infinite
        corpus_odds = np.log(corpus) - np.log1p(-np.minimum(corpus, 1.0))
    model_odds = logprobs - np.log(-np.expm1(logprobs))
    weights: Doubles = np.maximum(0.0, model_odds - corpus_odds)
    return weights


def trust_in(query_trust: float, n_tokens: int) -> float:
    """How far the model is believed on the query's own n-grams, in a collection of N tokens.

    query_trust^max(1, log 10^7 / log N). A count in N tokens tells probabilities down to 1/N only: in 100
    tokens an n-gram that the model holds for less likely than 1 in 100 says nothing, however distinctive.

    Args:
        query_trust: in [0, 1]; that of collections of 10^7 tokens and more.
        n_tokens: N.
    """
    return float(query_trust ** max(1.0, math.log(_LARGE) / math.log(max(n_tokens, 2))))


def weigh(query_keys: QueryKeys, config: RankConfig, n_tokens: int) -> list[ScoredKey]:
    """The keys that count under `config`, once each, by descending weight; ties by symbols.

    The weight of LM+FM is scale(kind) * log_odds(trust(kind, N) * log P(n|q)). Of two keys with the same
    symbols the heavier one counts, where scale and trust are the same the more likely one; keys that say
    nothing (weight 0 of LM+FM, probability 0 of LM) are left out.
    """
    best: dict[tuple[tuple[int, ...], tuple[float, float]], Key] = {}
    for key in query_keys.keys:
        if key.kind not in config.kinds or (
            config.length and not (key.kind == BODY and len(key.symbols) == config.length)
        ):
            continue
        group = key.symbols, config.scale_and_trust(key.kind)
        known = best.get(group)
        if known is None or key.logprob > known.logprob:
            best[group] = key
    keys = list(best.values())
    logprobs = np.array([key.logprob for key in keys], dtype=np.float64)
    counts = np.array([key.count for key in keys], dtype=np.int64)
    if config.weight == "lm":
        weights, least = logprobs, -np.inf
    else:
        scales = np.array([scale for _, (scale, _) in best], dtype=np.float64)
        trust = np.array([trust_in(trust, n_tokens) for _, (_, trust) in best], dtype=np.float64)
        possible = np.isfinite(logprobs)  # trust in what is impossible changes nothing: 0 * inf is no number
        logprobs = np.where(possible, trust, 1.0) * logprobs
        weights, least = scales * log_odds(logprobs, counts, n_tokens, config.smoothing), 0.0
    scored = [ScoredKey(key, float(w)) for key, w in zip(keys, weights, strict=True) if w > least]
    scored.sort(key=lambda item: (-item.weight, item.key.symbols))
    heaviest: dict[tuple[int, ...], ScoredKey] = {}
    for item in scored:
        heaviest.setdefault(item.key.symbols, item)
    return list(heaviest.values())


def weights_of(keys: Sequence[Key], config: RankConfig, n_tokens: int) -> Doubles:
    """What `weigh` gives keys, and `WeightedQuery` unigrams before they are raised to a power; float64 [n].

    Args:
        keys: of any kinds.
        config: how keys become scores.
        n_tokens: N.
    """
    logprobs = np.array([key.logprob for key in keys], dtype=np.float64)
    if config.weight == "lm":
        return logprobs
    settings = [
        (config.unigram_scale, 1.0) if key.kind == UNIGRAM else config.scale_and_trust(key.kind)
        for key in keys
    ]
    scales = np.array([scale for scale, _ in settings], dtype=np.float64)
    trusts = np.array([trust_in(trust, n_tokens) for _, trust in settings], dtype=np.float64)
    counts = np.array([key.count for key in keys], dtype=np.int64)
    weights: Doubles = scales * log_odds(trusts * logprobs, counts, n_tokens, config.smoothing)
    return weights


class WeightedQuery(NamedTuple):
    """A query's keys as arrays, and what the parts of a score stand for.

    Attributes:
        keys: by descending weight.
        powers: float64 [n], w^alpha.
        unigrams: those that add to a score, ascending by symbol.
        unigram_weights: float64 [u].
    """

    keys: list[ScoredKey]
    powers: Doubles
    unigrams: Unigrams
    unigram_weights: Doubles

    @classmethod
    def of(
        cls, keys: list[ScoredKey], unigrams: Unigrams, config: RankConfig, n_tokens: int
    ) -> WeightedQuery:
        """From keys as `weigh` gives them; unigrams of weight 0 are left out."""
        # log P is negative and is never summed: LM ranks by it as it is.
        powers = [key.weight**config.alpha if key.weight > 0 else key.weight for key in keys]
        if config.score == "max" or not config.unigrams:
            unigrams = Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))
        weights = config.unigram_scale * log_odds(
            unigrams.logprobs, unigrams.counts, n_tokens, config.smoothing
        )
        positive = np.flatnonzero(weights > 0.0)
        chosen = positive[np.argsort(unigrams.symbols[positive])]
        power = config.alpha if config.unigram_alpha else 1.0
        kept = Unigrams(unigrams.symbols[chosen], unigrams.logprobs[chosen], unigrams.counts[chosen])
        return cls(keys, np.array(powers, dtype=np.float64), kept, weights[chosen] ** power)

    def part(self, number: int) -> Key:
        """The key that a part of a score stands for."""
        if number < len(self.keys):
            return self.keys[number].key
        symbols, logprobs, counts = self.unigrams
        i = number - len(self.keys)
        return Key((int(symbols[i]),), float(logprobs[i]), int(counts[i]), (), UNIGRAM)

    def reduced(self, numbers: Ints) -> WeightedQuery:
        """Some parts alone, int64 [n] ascending, in their order."""
        n = len(self.keys)
        chosen, others = numbers[numbers < n], numbers[numbers >= n] - n
        unigrams = Unigrams._make(column[others] for column in self.unigrams)
        keys = [self.keys[i] for i in chosen.tolist()]
        return WeightedQuery(keys, self.powers[chosen], unigrams, self.unigram_weights[others])


class Matched(Sequence[ScoredKey]):
    """The keys that made a document's score, in the order they were taken; made when they are looked at."""

    __slots__ = ("numbers", "query", "shares")

    def __init__(self, query: WeightedQuery, numbers: Ints, shares: Doubles) -> None:
        """Keep what they are made of.

        Args:
            query: whose parts the numbers are.
            numbers: int64 [n].
            shares: float64 [n].
        """
        self.query, self.numbers, self.shares = query, numbers, shares

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, at: int) -> ScoredKey: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ScoredKey, ...]: ...
    def __getitem__(self, at: int | slice) -> ScoredKey | tuple[ScoredKey, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        return ScoredKey(self.query.part(int(self.numbers[at])), float(self.shares[at]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def reduced(rankings: Sequence[Ranked]) -> list[Ranked]:
    """Ranked documents of one query that keep no more of it than the parts of their scores.

    A query's unigrams alone are some thousand; what is kept with hits should be small.
    """
    made = [item.matched for item in rankings if isinstance(item.matched, Matched)]
    if len(made) < len(rankings) or not made:
        return list(rankings)
    numbers = np.unique(np.concatenate([matched.numbers for matched in made]))
    query = made[0].query.reduced(numbers)
    return [
        item._replace(matched=Matched(query, np.searchsorted(numbers, matched.numbers), matched.shares))
        for item, matched in zip(rankings, made, strict=True)
    ]
