"""A progress line on stderr: done, rate, time left."""

from __future__ import annotations

import sys
import time


class Progress:
    """Rewrites one line on a terminal; writes a line every ten seconds elsewhere."""

    def __init__(self, total: int, unit: str) -> None:
        self._total, self._unit = total, unit
        self._done = 0
        self._started = self._shown = time.monotonic()

    def advance(self, n: int) -> None:
        """Count n more."""
        self._done += n
        now = time.monotonic()
        if sys.stderr.isatty() or now - self._shown >= 10 or self._done == self._total:
            self._shown = now
            rate = self._done / max(now - self._started, 1e-9)
            left = (self._total - self._done) / rate
            line = f"{self._done:,}/{self._total:,} {self._unit}, {rate:.2f}/s, {left:.0f} s left"
            sys.stderr.write(f"\r{line} " if sys.stderr.isatty() else f"{line}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if sys.stderr.isatty():
            sys.stderr.write("\n")
