"""A process that dies in front of a change of the file system: for programs in a process of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CHANGES = (
    *((Path, name) for name in ("replace", "rename", "unlink", "write_text", "write_bytes")),
    *((os, name) for name in ("unlink", "rmdir", "fsync", "mkdir")),
)


def die_before_change(number: int) -> None:
    """Let this process be killed in front of a change from now on, the `number`-th, counted from 0."""
    left = number

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **options)

        return counted

    for module, name in _CHANGES:
        setattr(module, name, dying(getattr(module, name)))
