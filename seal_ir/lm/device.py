"""Where a model computes, and in what numbers: device, threads, precision, and weights that are finite.

Torch is loaded when one of them is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from seal_ir.errors import ModelError, UsageError
from seal_ir.processes import capped, wait_passively

if TYPE_CHECKING:
    import torch

    from seal_ir.lm.protocols import Generator

DTYPES = ("float32", "bfloat16", "float16")  # the first one is the default
AUTO = "auto"  # the fastest one of the device
_LARGEST_HALF = "beyond 65,504 a number is inf in float16; load it in bfloat16 or float32"
_DAMAGED = "its training diverged or its file is damaged; get the model anew, or train it with a lower --lr"


def told_place(generator: Generator) -> str:
    """Device and precision of a model, as people say them."""
    return f"on {generator.device} in {generator.dtype}"


def use_threads(n: int) -> None:
    """Load torch, if it is not yet there, and let it use n threads, or `most_threads`."""
    wait_passively()
    import torch

    torch.set_num_threads(capped(n))


def chosen_device(device: str | None) -> torch.device:
    """The device of a name; CUDA where there is one if it has none.

    Raises:
        UsageError: it is not available here.
    """
    import torch

    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        # There are devices that hold shapes only, and some that torch knows by name and cannot run.
        sound = torch.ones(2, device=chosen).add(1).tolist() == [2.0, 2.0]
    except Exception as error:  # noqa: BLE001 - every backend fails in its own way
        reason = " ".join(str(error).split(". ")[0].split())[:200] or type(error).__name__
        raise UsageError(f"device {device!r} is not available here: {reason}") from error
    if not sound:
        raise UsageError(f"device {device!r} does not add up numbers; choose another one, such as cpu")
    return chosen


def fastest_dtype(device: torch.device) -> str:
    """The precision in which a device multiplies fastest: bfloat16 where it has instructions for that."""
    import torch

    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float16"
    cpu: Any = torch.cpu
    names = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    has = device.type == "cpu" and any(getattr(cpu, name, bool)() for name in names)
    return "bfloat16" if has else "float32"


def chosen_dtype(dtype: str | None, device: torch.device) -> torch.dtype:
    """The precision of a name on a device: float32 if it has none; "auto" is that of `fastest_dtype`.

    Raises:
        UsageError: there is no such precision.
    """
    import torch

    if dtype is not None and dtype not in (*DTYPES, AUTO):
        raise UsageError(f"dtype is {dtype!r}; it must be one of {', '.join(DTYPES)}, {AUTO}")
    chosen: torch.dtype = getattr(torch, fastest_dtype(device) if dtype == AUTO else dtype or DTYPES[0])
    return chosen


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
