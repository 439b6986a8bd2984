"""What becomes of threads and locks in a forked process, which has but one of its parent's threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Generic, TypeVar

from seal_ir.errors import ModelError

Value = TypeVar("Value")


class OwnOfProcess(Generic[Value]):
    """A value that each process has for itself, for locks and what holds some.

    A fork copies a lock as it is: held for ever, if another thread of the parent was holding it.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        """Args: make: makes it, here and in each process that is forked from here."""
        self._make = make
        self._value, self._process = make(), os.getpid()

    def get(self) -> Value:
        """This process's own."""
        if self._process != os.getpid():
            self._value, self._process = self._make(), os.getpid()
        return self._value


def check_device(device: str | None) -> None:
    """Refuse CUDA in a process that was forked after its parent had used it.

    Args:
        device: that of a model, by name; None stands for CUDA where there is one.

    Raises:
        ModelError: it cannot be used here.
    """
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    if getattr(cuda, "_is_in_bad_fork", bool)() and (device is None or device.startswith("cuda")):
        raise ModelError(
            "this process was forked from one that had used CUDA already, and cannot use it; start processes"
            " with multiprocessing's spawn or forkserver, or give device='cpu'"
        )


def _one_thread() -> None:
    """OpenMP knows nothing of a fork: work that it gives to threads that are gone is never done."""
    set_num_threads = getattr(sys.modules.get("torch"), "set_num_threads", None)
    if set_num_threads is not None:
        set_num_threads(1)


os.register_at_fork(after_in_child=_one_thread)
