"""The threads of torch, which is loaded no earlier than they are asked for."""

from __future__ import annotations

from seal_ir.threads import capped, wait_passively


def use_threads(n: int) -> None:
    """Load torch, if it is not yet there, and let it use n threads, or `most_threads`."""
    wait_passively()
    import torch

    torch.set_num_threads(capped(n))
