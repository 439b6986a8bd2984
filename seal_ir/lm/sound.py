"""Refusing numbers that are none: of weights where they are loaded, of probabilities where they are read.

One weight that is not finite makes every probability NaN, and so does half precision that overflows; kept on,
such probabilities would shorten keys unseen. A softmax over one of them gives no numbers at all, so that
whatever is read of a row shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.errors import ModelError, shown
from seal_ir.lm.protocols import NextTokens, Read

if TYPE_CHECKING:
    import torch

_WHY = "its weights are damaged or overflow in this precision; try dtype float32 (--dtype), or another model"
_LARGEST_HALF = "beyond 65,504 a number is inf in float16; load it in bfloat16 or float32"
_DAMAGED = "its training diverged or its file is damaged; get the model anew, or train it with a lower --lr"


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


def check_weights(network: Any, source: object) -> None:
    """Refuse a network with a weight that is no finite number, or with a buffer that holds NaN.

    It reads every weight once: 0.04 s for 135 million parameters in float32 on one core.

    Args:
        network: a torch module.
        source: what it was loaded from, for the message.

    Raises:
        ModelError: names the first such tensor and what it holds.
    """
    # A mask may well be infinite, and so may the bias of a token that is never to be written.
    buffers = ((name, value) for name, value in network.named_buffers() if value.is_floating_point())
    odd = first_odd(network.named_parameters())
    odd = odd or first_odd((name, value.clamp(-1, 1)) for name, value in buffers)
    if odd:
        half = str(getattr(network, "dtype", "")) == "torch.float16"
        advice = _LARGEST_HALF if half and " holds inf " in odd else _DAMAGED
        raise ModelError(f"{source}: the model's weights are not finite numbers: {odd}; {advice}")


def first_odd(tensors: Iterable[tuple[str, torch.Tensor]]) -> str:
    """The first tensor with a value that is no finite number, and what it holds; "" where all are finite."""
    floating = [(name, value) for name, value in tensors if value.is_floating_point() and value.numel()]
    if all_finite(value for _, value in floating):
        return ""
    return next(odd for name, value in floating if (odd := _told(name, value)))


def all_finite(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether all values of floating-point tensors are finite; each is read once, and none is copied."""
    import torch

    # The extremes tell it ten times as fast as `isfinite`, which writes a tensor: NaN is both of them.
    extremes = (torch.aminmax(_comparable(value.detach())) for value in tensors)
    sound = [torch.stack(pair).isfinite().all() for pair in extremes]
    return not sound or bool(torch.stack([one.to(sound[0].device) for one in sound]).all())


def _comparable(value: torch.Tensor) -> torch.Tensor:
    return value.float() if value.element_size() == 1 else value  # 8-bit floats have no order in torch


def _told(name: str, value: torch.Tensor) -> str:
    values = _comparable(value.detach())
    n_odd = int((~values.isfinite()).sum())
    if not n_odd:
        return ""
    what = "nan" if bool(values.isnan().any()) else "inf"
    return f"{name} holds {what} in {n_odd:,} of {value.numel():,} places"
