"""Where and how a model computes: device, precision and threads. Torch is loaded when one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seal_ir.errors import UsageError
from seal_ir.processes import capped, wait_passively

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")  # the first one is the default
AUTO = "auto"  # the fastest one of the device


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
