"""Reading next-token distributions in the host's memory: chosen and best tokens, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.lm.protocols import Read

_ROWS = 8  # log-probabilities that exist at a time: 8 x 49,152 x 4 bytes stay in the cache


class HostTokens:
    """A `NextTokens` that computes log-probabilities when asked for them, those of few rows at a time."""

    def __init__(self, logprobs: Callable[[Ints], Floats], n_vocabulary: int) -> None:
        """Args: logprobs: of the next token of rows [n], float32 [n, n_vocabulary]; n_vocabulary: tokens."""
        self._logprobs = logprobs
        self._n = n_vocabulary

    @property
    def n_vocabulary(self) -> int:
        """Number of tokens."""
        return self._n

    def read(self, rows: Ints, tokens: Ints, top_rows: Ints, k: int) -> Read:
        """See `NextTokens.read`."""
        found = np.empty(len(rows), np.float32)
        top_tokens = np.empty((len(top_rows), k), np.int64)
        top_logprobs = np.empty((len(top_rows), k), np.float32)
        order, top_order = np.argsort(rows, kind="stable"), np.argsort(top_rows, kind="stable")
        wanted = np.unique(np.concatenate([rows, top_rows]))
        for at in range(0, len(wanted), _ROWS):
            chunk = wanted[at : at + _ROWS]
            logprobs = self._logprobs(chunk)
            pairs = _within(order, rows, chunk)
            found[pairs] = logprobs[np.searchsorted(chunk, rows[pairs]), tokens[pairs]]
            for i in _within(top_order, top_rows, chunk).tolist():
                line = logprobs[np.searchsorted(chunk, top_rows[i])]
                top_tokens[i] = _top(line, k)
                top_logprobs[i] = line[top_tokens[i]]
        return Read(found, top_tokens, top_logprobs)

    def whole(self, rows: Ints) -> Floats:
        """See `NextTokens.whole`."""
        return self._logprobs(rows)


def _within(order: Ints, rows: Ints, chunk: Ints) -> Ints:
    """Positions of `rows` whose row lies in `chunk`; `order` sorts `rows`."""
    lo = np.searchsorted(rows, chunk[0], side="left", sorter=order)
    hi = np.searchsorted(rows, chunk[-1], side="right", sorter=order)
    return order[lo:hi]


def _top(values: Floats, k: int) -> Ints:
    """Positions of the k largest, largest first.

    The k-th largest maximum of disjoint blocks bounds the k-th largest value from below, so that one pass
    leaves few candidates.
    """
    width = len(values) // (4 * k)
    chosen = np.arange(len(values))
    if width >= 2:
        highest = values[: 4 * k * width].reshape(4 * k, width).max(axis=1)
        chosen = np.flatnonzero(~(values < np.partition(highest, -k)[-k]))  # not a number stays in
    if len(chosen) > k:
        chosen = chosen[np.argpartition(values[chosen], -k)[-k:]]
    best: Ints = chosen[np.argsort(-values[chosen], kind="stable")]
    return best
