"""Which n-grams that the model writes need not go on, as no ranking by LM+FM can use what would follow them.

What may follow an n-gram is at most as likely as it, and occurs at most as often. A key's weight is the log
odds of P(n|q) against P(n) >= 1 / N. So an n-gram with P(n|q) <= 1 / N is worth nothing, whatever follows it;
and one that occurs as often as its beginning lies over that wherever it occurs, weighs no more, and is taken
later. docs/scoring.md has the argument in full.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Doubles, Ints
from seal_ir.config import DecodeConfig
from seal_ir.decode.hypotheses import rank_in_group

_MARGIN = 1e-9  # nats; far more than rounding, far less than what tells n-grams apart


class Stopping(NamedTuple):
    """When n-grams stop.

    Attributes:
        n_tokens: N; 0: n-grams never stop.
        least_weight: an n-gram goes on while a key that follows it can have a higher weight.
        retired: occurrences up to which a body n-gram does not go on; 0: all go on.
    """

    n_tokens: int = 0
    least_weight: float = 0.0
    retired: int = 0

    @classmethod
    def of(cls, config: DecodeConfig, n_tokens: int) -> Stopping:
        """Of settings, over an index of N = `n_tokens`."""
        return cls(n_tokens, config.least_weight, config.retired) if config.stop else cls()

    @property
    def never_used(self) -> float:
        """The log-probability up to which no n-gram has a weight."""
        return _least(self.n_tokens, 0.0)

    @property
    def least(self) -> float:
        """The log-probability up to which an n-gram does not go on."""
        return _least(self.n_tokens, self.least_weight)

    def is_key(self, logprobs: Doubles, counts: Ints, before: Ints) -> Bools:
        """Whether n-grams [n] can count.

        Args:
            logprobs: natural log of P(n|q).
            counts: F(n).
            before: F of the key by one symbol shorter; 0 where that is no key.
        """
        useful: Bools = logprobs > self.never_used
        return useful & (counts != before) if self.n_tokens else useful

    def going(self, jobs: Ints, logprobs: Doubles, counts: Ints, free: Bools, widths: Ints) -> Ints:
        """Which n-grams [n] go on, of those that could.

        Args:
            jobs: the decoding of each, best first within one.
            logprobs: natural log of P(n|q).
            counts: F(n).
            free: whether each may be any substring, so that it is a key itself.
            widths: places in the beam of each decoding; those that are taken for good are subtracted.
        """
        retired = free & (counts <= self.retired) & (self.retired > 0)
        chosen = np.flatnonzero(rank_in_group(jobs) < widths[jobs])
        np.subtract.at(widths, jobs[chosen[retired[chosen]]], 1)
        found: Ints = chosen[(logprobs[chosen] > self.least) & ~retired[chosen]]
        return found


def _least(n_tokens: int, weight: float) -> float:
    """Log P(n|q) of a key that occurs once and has this weight at s = 0, where weights are highest."""
    if n_tokens <= 1:  # such a key has no weight, or no N is known
        return 0.0 if n_tokens else -math.inf
    odds = weight - math.log(n_tokens - 1) - _MARGIN
    return -math.log1p(math.exp(-odds)) if odds > -700.0 else odds
