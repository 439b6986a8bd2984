"""Where the time goes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stopwatch:
    """Seconds by part. Parts do not nest. Cheap enough to be always on: a microsecond a part.

    Attributes:
        seconds: by part.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        """Args: clock: seconds; `time.process_time` counts those of the processors."""
        self._clock = clock
        self.seconds: dict[str, float] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of a block to a part."""
        started = self._clock()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + self._clock() - started
