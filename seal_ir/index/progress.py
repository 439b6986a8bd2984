"""How far a build is, on one line, with an estimate of the time that it still takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

TOKENISING, CHECKSUMS = "tokenising", "computing checksums"
_SECONDS = 10  # between lines where there is no terminal
_TERMINAL_SECONDS = 0.5
_LEAST_READ = 0.01  # of the input; before that any estimate is a guess
# Seconds of each phase where reading and tokenising before it take one: of Wikipedia's passages, on one core.
_PHASES = {
    "sorting suffixes": 0.22,
    "transforming": 0.015,
    "building the wavelet tree": 0.03,
    "storing tokens": 0.015,
    CHECKSUMS: 0.01,
}


class Estimate:
    """The seconds that are left of a build, from how far its input is read and how long phases have taken.

    Phases after reading are expected to need as many seconds for one of reading as a large collection's do;
    each one that is over corrects what is expected of the next ones. Where segments are built while others
    are read, that time counts as reading's, and one segment is expected to be left at the end.
    """

    def __init__(self, fraction: Callable[[], float | None]) -> None:
        """Args: fraction: how much of the input is read, from 0 to 1; None where that is not known."""
        self._fraction = fraction
        self._first: float | None = None  # when the first of several segments was read

    def left(self, phase: str, seconds: float) -> float | None:
        """Seconds that are left, or None where nothing is known.

        Args:
            phase: that has gone on, or now begins.
            seconds: since the beginning of the build.
        """
        fraction = self._fraction()
        if fraction is None or fraction < _LEAST_READ or seconds <= 0:
            return None
        name = phase.rpartition(": ")[2]
        if name == TOKENISING or fraction < 1:
            if name != TOKENISING and self._first is None:
                self._first = seconds
            expected = seconds / fraction
            last = expected if self._first is None else self._first
            return expected - seconds + last * sum(_PHASES.values())
        if name not in _PHASES or self._first is not None:
            return None
        at = list(_PHASES).index(name)
        shares = list(_PHASES.values())
        return seconds / (1 + sum(shares[:at])) * sum(shares[at:])


class BuildProgress:
    """Tells of the phases of a build on stderr: one line that changes on a terminal.

    Elsewhere a line for each new phase, and then one every ten seconds.
    """

    def __init__(self, fraction: Callable[[], float | None] = lambda: None) -> None:
        """Begin now. Args: fraction: as `Estimate` takes it."""
        self._estimate = Estimate(fraction)
        self._started = self._shown = time.monotonic()
        self._phase, self._width = "", 0

    def __call__(self, phase: str, done: int) -> None:
        """A phase begins or has gone on; `done` documents so far."""
        now = time.monotonic()
        terminal = sys.stderr.isatty()
        if phase == self._phase and now - self._shown < (_TERMINAL_SECONDS if terminal else _SECONDS):
            return
        self._phase, self._shown = phase, now
        line = f"{phase}: {done:,} documents, {now - self._started:.0f} s"
        if (left := self._estimate.left(phase, now - self._started)) is not None:
            line += f", about {left:.0f} s left"
        if terminal:
            sys.stderr.write(f"\r{line.ljust(self._width)}")
            self._width = len(line)
        else:
            sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the line."""
        if self._width:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._width = 0
