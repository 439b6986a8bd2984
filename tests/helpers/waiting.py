"""Waiting for what another thread, process or node does."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(true: Callable[[], object], seconds: float = 30.0, every: float = 0.005) -> None:
    """Until it holds; asked every so many seconds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(every)
