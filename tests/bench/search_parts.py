"""What a search costs, by part: CPU seconds and clock seconds of a searcher over queries, and peak memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from seal_ir.decode.constraint import Constraint
from seal_ir.lm.next_tokens import DeviceTokens, HostTokens
from seal_ir.published import rank as published_ranking
from seal_ir.search.pipeline import batched, overlapped
from seal_ir.search.searcher import SealSearcher

PARTS = ("model", "read", "constraint", "locate", "score", "text", "other")
_INDEX_PARTS = {
    "extend": "constraint",
    "verify": "constraint",
    "successors": "constraint",
    "find": "constraint",
    "locate": "locate",
    "extract": "text",
    "streams": "text",
    "docid": "text",
}


@dataclass(frozen=True)
class Measured:
    """One run over queries.

    Attributes:
        seconds: CPU seconds a query, by `PARTS`. "read" is the softmax over the vocabulary and the
            selection of candidates, "score" is ranking without locating and reading texts, "other" is the
            decoder's own work.
        wall: seconds on the clock a query.
        n_queries: how many.
        n_hits: documents found a query, for a look at whether there was anything to rank.
        n_keys: keys a query.
    """

    seconds: dict[str, float]
    wall: float
    n_queries: int
    n_hits: float
    n_keys: float

    @property
    def total(self) -> float:
        """CPU seconds a query."""
        return sum(self.seconds.values())

    def share(self, *parts: str) -> float:
        """Of the total."""
        return sum(self.seconds[part] for part in parts) / self.total


class Watch:
    """Seconds by part: those of the processor, or of another clock."""

    def __init__(self, clock: Callable[[], float] = time.process_time) -> None:
        self._clock = clock
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._open: list[tuple[str, float]] = []

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Count the time of the block for a part; a part inside it counts for itself alone."""
        now = self._clock()
        if self._open:
            self.seconds[self._open[-1][0]] += now - self._open[-1][1]
        self._open.append((name, now))
        try:
            yield
        finally:
            now = self._clock()
            ended, since = self._open.pop()
            self.seconds[ended] += now - since
            if self._open:
                self._open[-1] = (self._open[-1][0], now)

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, its time counted."""

        def timed(*args: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*args, **options)

        return timed


def measure(searcher: SealSearcher, queries: Sequence[str], batch_size: int) -> Measured:
    """Decode and rank as the search command does, in this thread, 100 hits a query."""
    watch = Watch()
    n_hits = n_keys = 0
    with instrumented(searcher, watch):
        wall = time.perf_counter()
        with watch.part("other"):
            for batch in batched(queries, batch_size):
                for keys in searcher.decode_counted(batch).queries:
                    n_keys += len(keys.keys)
                    with watch.part("score"):
                        ranked = searcher.rank(keys, 100)
                    with watch.part("text"):
                        n_hits += len(searcher.hits(ranked, texts=False))
        wall = time.perf_counter() - wall
    n = len(queries)
    seconds = {part: value / n for part, value in watch.seconds.items()}
    return Measured(seconds, wall / n, n, n_hits / n, n_keys / n)


def clock_seconds(searcher: SealSearcher, queries: Sequence[str], batch_size: int, threads: int) -> float:
    """Seconds on the clock a query, ranking in threads beside the next batch's decoding."""
    started = time.perf_counter()
    for _ in overlapped(
        ((batch, searcher.decode_counted(batch).queries) for batch in batched(queries, batch_size)),
        lambda keys: searcher.hits(searcher.rank(keys, 100), texts=False),
        threads,
    ):
        pass
    return (time.perf_counter() - started) / len(queries)


def peak_rss() -> int:
    """Bytes of memory of this process at most."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def instrumented(searcher: SealSearcher, watch: Watch) -> Iterator[None]:
    """Forward passes of the network, calls of the index, and the slow path's own stages are timed."""
    model: Any = searcher.generator.model
    network = getattr(model, "network", None) or model._network
    with ExitStack() as stack:
        for module in (network, network.get_encoder() if network.config.is_encoder_decoder else None):
            if module is not None:
                stack.enter_context(_replaced(module, "forward", watch.wrapped("model", module.forward)))
        for name, part in _INDEX_PARTS.items():
            function = watch.wrapped(part, getattr(searcher.index, name))
            stack.enter_context(_replaced(searcher.index, name, function))
        # Row by row a clock would cost as much as what it measures, so the loop over rows is timed.
        located = watch.wrapped("locate", published_ranking._located)
        stack.enter_context(_replaced(published_ranking, "_located", located))
        stack.enter_context(_replaced(torch, "log_softmax", watch.wrapped("read", torch.log_softmax)))
        for kind in (HostTokens, DeviceTokens):
            stack.enter_context(_replaced(kind, "read", watch.wrapped("read", kind.read)))
            stack.enter_context(_replaced(kind, "whole", watch.wrapped("read", kind.whole)))
        yield


@dataclass
class Steps:
    """How many steps decoding took."""

    n: int = 0


@contextmanager
def counted_steps() -> Iterator[Steps]:
    """Counts the steps of decoding while the block runs."""
    steps, best = Steps(), Constraint.best

    def counted(self: Constraint, *args: Any) -> Any:
        steps.n += 1
        return best(self, *args)

    with _replaced(Constraint, "best", counted):
        yield steps


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """The attribute while the block runs."""
    own = vars(owner).get(name)  # else it is the class's
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
