"""Whether a network's weights are numbers. One that is not makes every probability of the model none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from seal_ir.errors import ModelError

Named = Iterable[tuple[str, torch.Tensor]]
_LARGEST_HALF = "beyond 65,504 a number is inf in float16; load it in bfloat16 or float32"
_DAMAGED = "its training diverged or its file is damaged; get the model anew, or train it with a lower --lr"


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
        half = getattr(network, "dtype", None) == torch.float16
        advice = _LARGEST_HALF if half and " holds inf " in odd else _DAMAGED
        raise ModelError(f"{source}: the model's weights are not finite numbers: {odd}; {advice}")


def first_odd(tensors: Named) -> str:
    """The first tensor with a value that is no finite number, and what it holds; "" where all are finite."""
    floating = [(name, value) for name, value in tensors if value.is_floating_point() and value.numel()]
    if all_finite(value for _, value in floating):
        return ""
    return next(odd for name, value in floating if (odd := _told(name, value)))


@torch.no_grad()
def all_finite(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether all values of floating-point tensors are finite; each is read once, and none is copied."""
    # The extremes tell it ten times as fast as `isfinite`, which writes a tensor: NaN is both of them.
    sound = [torch.stack(torch.aminmax(_comparable(value))).isfinite().all() for value in tensors]
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
