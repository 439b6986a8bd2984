"""Threads that what is tested began, told from those of other tests in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_thread_left() -> Iterator[None]:
    """No thread that began here is alive at the end."""
    before = set(threading.enumerate())
    yield
    assert not set(threading.enumerate()) - before
