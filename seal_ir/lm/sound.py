"""Refusing probabilities that are no numbers where they are read: kept on, they would shorten keys unseen.

Weights that are no numbers give them, and half precision that overflows. A softmax over one of them gives no
numbers at all, so that whatever is read of a row shows it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.errors import ModelError, shown
from seal_ir.lm.protocols import NextTokens, Read

CAUSE = "its weights are damaged or overflow in this precision; try dtype float32 (--dtype), or another model"


class Sound:
    """A `NextTokens` whose log-probabilities are numbers; -inf, of what is impossible, is one."""

    def __init__(self, following: NextTokens, whose: Callable[[int], str]) -> None:
        """Args: following: what is read; whose: says what a row is for, in a fault."""
        self._following, self._whose = following, whose

    @property
    def n_vocabulary(self) -> int:
        """Number of tokens."""
        return self._following.n_vocabulary

    def read(self, rows: Ints, tokens: Ints, top_rows: Ints, k: int) -> Read:
        """See `NextTokens.read`.

        Raises:
            ModelError: one is no number.
        """
        read = self._following.read(rows, tokens, top_rows, k)
        self._check(rows, read.logprobs)
        self._check(top_rows, read.top_logprobs)
        return read

    def whole(self, rows: Ints) -> Floats:
        """See `NextTokens.whole`.

        Raises:
            ModelError: one is no number.
        """
        logprobs = self._following.whole(rows)
        self._check(rows, logprobs)
        return logprobs

    def _check(self, rows: Ints, logprobs: Floats) -> None:
        bad = np.isnan(logprobs)
        if bad.any():
            raise unsound(self._whose(int(rows[np.argwhere(bad)[0, 0]])))


def step_of(query: str, kind: str, step: int) -> str:
    """What a row is for: token `step`, from 1, of the keys of a kind."""
    return f"query {shown(query)}: token {step} of its {kind} keys"


def unsound(what: str) -> ModelError:
    """The fault that the probabilities of something are no numbers."""
    return ModelError(f"{what}: the model's probabilities are not numbers (nan); {CAUSE}")
