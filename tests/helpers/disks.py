"""A disk that is full, for a process that is not told so."""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full(n_bytes: int) -> Iterator[None]:
    """No file may grow beyond so many bytes: writing fails as on a full disk, for whoever writes.

    Python writes no caches of modules meanwhile: it does not notice one cut short, and reads it later.
    """
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    uncached, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = uncached
