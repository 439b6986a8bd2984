"""Threads and processes: how many are sensible here, and what becomes of locks and threads in a fork.

Everything that has a number of threads has its default and its limit from here: from what the user, the
affinity and a container's quota allow. A forked process has but one of its parent's threads.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Generic, TypeVar

from seal_ir.errors import ModelError, shown

logger = logging.getLogger(__name__)
Value = TypeVar("Value")
_PER_CORE = 4  # more threads than this on a core only wait for each other


def usable_cores(root: Path = Path("/")) -> int:
    """How many cores this process may use at once, at least 1: by affinity, and by the quotas of its cgroups.

    A quota of one and a half cores counts as two. Both versions of cgroups are understood, and a quota of any
    group above the process's own counts, as it does for the kernel.

    Args:
        root: where /proc and /sys are.
    """
    has_affinity = hasattr(os, "sched_getaffinity")  # macOS has none
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min([cores, *(math.ceil(quota) for quota in _quotas(root))]))


def default_threads() -> int:
    """The number of threads where none is given: OMP_NUM_THREADS if it is a number, else `usable_cores`."""
    # It may hold a number for each level of nesting; the first one counts.
    asked = re.fullmatch(r"\s*(\d{1,9})\s*(,.*)?", os.environ.get("OMP_NUM_THREADS", ""))
    if asked is None or int(asked[1]) < 1:
        return usable_cores()
    return min(int(asked[1]), most_threads())


def most_threads() -> int:
    """The most threads or processes that are started for one task: four for each core."""
    return _PER_CORE * usable_cores()


def capped(threads: int) -> int:
    """A number of threads that a caller gave, or `most_threads` with a logged warning."""
    most = most_threads()
    if threads <= most:
        return threads
    told = "threads is %s; going on with %d, four for each core that may be used"
    logger.warning(told, shown(threads), most)
    return most


def wait_passively() -> None:
    """Let OpenMP's idle threads sleep instead of turning in circles, unless the user has said how they wait.

    Two programs on the same cores else take them from each other. OpenMP reads this once, when torch is
    loaded; after that nothing is changed.
    """
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


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


def _quotas(root: Path) -> Iterator[float]:
    """The quotas of this process's cgroups and all above them, in cores."""
    for folder in _groups(root):
        for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
            words = " ".join(_read(folder / name) for name in names).split()
            if len(words) == 2 and all(word.isdecimal() for word in words) and all(map(int, words)):
                yield int(words[0]) / int(words[1])  # "max", and -1 in version 1, are no quota


def _groups(root: Path) -> Iterator[Path]:
    """Folders of this process's cgroups that can have a quota of time on the CPU, and of those above them."""
    mounted = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = (mounted / controllers, mounted / "cpu") if controllers else (mounted, mounted / "unified")
        own = PurePosixPath(path.lstrip("/"))
        if ".." in own.parts:  # outside of what is mounted here
            own = PurePosixPath()
        yield from (mount / above for mount in mounts for above in (own, *own.parents))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _one_thread() -> None:
    """Pools know nothing of a fork: work that they give to threads that are gone is never done.

    OpenMP is torch's pool; tokenizers' own is used for batches, and left alone after a fork unless the user's
    TOKENIZERS_PARALLELISM asks for it.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    set_num_threads = getattr(sys.modules.get("torch"), "set_num_threads", None)
    if set_num_threads is not None:
        set_num_threads(1)


os.register_at_fork(after_in_child=_one_thread)
