"""A query's weighted keys as arrays, and the way back from the parts of a score to keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, overload

import numpy as np

from seal_ir.arrays import Doubles, Ints
from seal_ir.config import RankConfig
from seal_ir.rank.weights import log_odds
from seal_ir.records import NO_UNIGRAMS, UNIGRAM, Key, ScoredKey, Unigrams


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
            unigrams = NO_UNIGRAMS
        weights = log_odds(unigrams.logprobs, unigrams.counts, n_tokens, config.smoothing)
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


class Matched(Sequence[ScoredKey]):
    """The keys that made a document's score, in the order they were taken; made when they are looked at."""

    __slots__ = ("_numbers", "_query", "_shares")

    def __init__(self, query: WeightedQuery, numbers: Ints, shares: Doubles) -> None:
        """Keep what they are made of.

        Args:
            query: whose parts the numbers are.
            numbers: int64 [n].
            shares: float64 [n].
        """
        self._query, self._numbers, self._shares = query, numbers, shares

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, at: int) -> ScoredKey: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ScoredKey, ...]: ...
    def __getitem__(self, at: int | slice) -> ScoredKey | tuple[ScoredKey, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        return ScoredKey(self._query.part(int(self._numbers[at])), float(self._shares[at]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
