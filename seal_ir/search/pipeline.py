"""Two stages that overlap: the model writes the next batch's keys while threads rank the last one's."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from seal_ir.threads import capped

Batch = TypeVar("Batch")
Item = TypeVar("Item")
Result = TypeVar("Result")


def overlapped(
    batches: Iterable[Batch],
    first: Callable[[Batch], Sequence[Item]],
    second: Callable[[Item], Result],
    threads: int,
) -> Generator[tuple[Batch, list[Result]], None, None]:
    """Each batch with the results of its items, in order; no more than two batches are held.

    What a stage raises is raised here, and an iterator that ends or is closed leaves no thread behind and
    starts nothing new; what a thread is in the middle of is waited for.

    Args:
        batches: read one ahead of what has been given out.
        first: makes the items of a batch, in the caller's thread.
        second: makes the result of an item, in one of `threads` threads, while `first` is at the next batch.
        threads: at least 1; `most_threads` at most, see there.
    """
    with ThreadPoolExecutor(capped(threads), thread_name_prefix="rank") as pool:
        waiting: tuple[Batch, list[Future[Result]]] | None = None
        try:
            for batch in batches:
                started = [pool.submit(second, item) for item in first(batch)]
                ready, waiting = waiting, (batch, started)
                if ready is not None:
                    yield ready[0], [future.result() for future in ready[1]]
            if waiting is not None:
                yield waiting[0], [future.result() for future in waiting[1]]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def batched(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Consecutive pieces of `size` items, the last one shorter."""
    for at in range(0, len(items), size):
        yield items[at : at + size]
