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

_MARGIN = 1e-9  # nats; far more than rounding, far less than what tells n-grams apart


class Stopping(NamedTuple):
    """When n-grams stop.

    Attributes:
        n_tokens: N.
        least_weight: an n-gram goes on while a key that follows it can have a higher weight.
        retired: occurrences up to which a body n-gram does not go on; 0: all go on.
    """

    n_tokens: int
    least_weight: float = 0.0
    retired: int = 0

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
        useful: Bools = (logprobs > self.never_used) & (counts != before)
        return useful

    def going(self, jobs: Ints, logprobs: Doubles, counts: Ints, free: Bools, widths: Ints) -> Bools:
        """Whether n-grams [n] of the beam go on.

        Args:
            jobs: the decoding of each.
            logprobs: natural log of P(n|q).
            counts: F(n).
            free: whether each may be any substring, so that it is a key itself.
            widths: places in the beam of each decoding; those that are taken for good are subtracted.
        """
        retired = free & (counts <= self.retired) & (self.retired > 0)
        np.subtract.at(widths, jobs[retired], 1)
        found: Bools = (logprobs > self.least) & ~retired
        return found


def _least(n_tokens: int, weight: float) -> float:
    """Log P(n|q) of a key that occurs once and has this weight at s = 0, where weights are highest."""
    if n_tokens <= 1:  # such a key has no weight
        return 0.0
    odds = weight - math.log(n_tokens - 1) - _MARGIN
    return -math.log1p(math.exp(-odds))
