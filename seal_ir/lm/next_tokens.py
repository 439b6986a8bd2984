"""Reading next-token distributions where the model is: a CPU's in place, others' selected on the device.

This loads no torch by itself, so that models without it can be read the same way.

Probabilities that are no numbers are refused. One weight that is not finite makes every probability NaN, and
so does half precision that overflows; kept on, such probabilities would shorten keys unseen. A softmax over
one of them gives no numbers at all, so that whatever is read of a row shows it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.errors import ModelError, shown
from seal_ir.lm.protocols import NextTokens, Read

if TYPE_CHECKING:
    import torch

_ROWS = 8  # log-probabilities that exist at a time: 8 x 49,152 x 4 bytes stay in the cache
_WHY = "its weights are damaged or overflow in this precision; try dtype float32 (--dtype), or another model"


def next_tokens(logits: torch.Tensor) -> NextTokens:
    """The distribution of the next token of each row, from its logits [rows, vocabulary]."""
    if logits.device.type == "cpu":
        return HostTokens(lambda rows: log_softmax(_chosen(logits, rows)).numpy(), logits.shape[1])
    return DeviceTokens(logits)


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


class DeviceTokens:
    """A `NextTokens` on an accelerator: small arrays go there, small arrays come back."""

    def __init__(self, logits: torch.Tensor) -> None:
        """Args: logits: [rows, vocabulary], on the device."""
        self._logprobs = log_softmax(logits)

    @property
    def n_vocabulary(self) -> int:
        """Number of tokens."""
        return self._logprobs.shape[1]

    def read(self, rows: Ints, tokens: Ints, top_rows: Ints, k: int) -> Read:
        """See `NextTokens.read`."""
        import torch

        m, n = len(rows), len(top_rows)
        sent = torch.from_numpy(np.concatenate([rows, tokens, top_rows])).to(self._logprobs.device)
        values, best = self._logprobs[sent[2 * m :]].topk(k)
        found = self._logprobs[sent[:m], sent[m : 2 * m]]
        # Tokens travel as the bits of floats, so that all comes back in one piece.
        back = torch.cat([found, values.flatten(), best.int().flatten().view(torch.float32)]).cpu().numpy()
        top_tokens = back[m + n * k :].view(np.int32).reshape(n, k).astype(np.int64)
        return Read(back[:m], top_tokens, back[m : m + n * k].reshape(n, k))

    def whole(self, rows: Ints) -> Floats:
        """See `NextTokens.whole`."""
        import torch

        return self._logprobs[torch.from_numpy(rows).to(self._logprobs.device)].cpu().numpy()


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
    return ModelError(f"{what}: the model's probabilities are not numbers (nan); {_WHY}")


def log_softmax(logits: torch.Tensor) -> torch.Tensor:
    """Natural-log softmax along the last axis, in float32."""
    import torch

    return torch.log_softmax(logits.float(), dim=-1)


def _chosen(logits: torch.Tensor, rows: Ints) -> torch.Tensor:
    """Rows of a matrix, without a copy where they are neighbours (as nearly always)."""
    import torch

    if len(rows) and (np.diff(rows) == 1).all():
        return logits[int(rows[0]) : int(rows[-1]) + 1]
    return logits[torch.from_numpy(rows)]


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
