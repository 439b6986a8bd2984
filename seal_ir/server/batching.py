"""Dynamic batching: calls that come at about the same time are worked on together.

A batch has two stages. The first is done for all of its items at once, in one thread, so that one model does
one thing at a time. What is left of each item is done in other threads, while the first stage of the next
batch runs. A batch begins when it is full, or when its first item has waited long enough; while one runs, the
next one grows. Items of different groups are never in one batch, and the group of whoever waits longest comes
first.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, NamedTuple, TypeVar

from seal_ir.processes import capped
from seal_ir.server.failures import OverloadedError, UnavailableError
from seal_ir.server.limits import Limits

logger = logging.getLogger(__name__)
Group = TypeVar("Group", bound=Hashable)
Item = TypeVar("Item")
Result = TypeVar("Result")
_FORGETTING = 0.2  # the share of the last batch in the mean time of one


class BatchTold(NamedTuple):
    """What is told of a batch after its first stage: items, seconds, and how long each item waited."""

    n_items: int
    seconds: float
    waited_s: Sequence[float]


class _Call(NamedTuple, Generic[Group, Item, Result]):
    group: Group
    item: Item
    future: Future[Result]
    came: float


class Batcher(Generic[Group, Item, Result]):
    """Calls from any thread, worked on in batches by a thread of its own.

    Attributes:
        n_waiting: calls whose batch has not begun.
    """

    def __init__(
        self,
        first: Callable[[Group, Sequence[Item]], Sequence[Callable[[], Result]]],
        limits: Limits,
        *,
        threads: int = 1,
        told: Callable[[BatchTold], None] = lambda batch: None,
    ) -> None:
        """Start the thread.

        Args:
            first: the first stage of a batch: its group and items in, of each item what is left to do out.
                Where it raises for several items, each is tried alone: one fault is of one call only.
            limits: size of a batch, how long the first item waits, how many may wait.
            threads: threads of the second stage.
            told: is told of each batch.
        """
        self._first, self._limits, self._told = first, limits, told
        self._calls: deque[_Call[Group, Item, Result]] = deque()
        self._changed = threading.Condition()
        self._is_open = True
        self._batch_s = 0.0
        self._pool = ThreadPoolExecutor(capped(threads), thread_name_prefix="rank")
        self._thread = threading.Thread(target=self._run, name="decode", daemon=True)
        self._thread.start()

    @property
    def n_waiting(self) -> int:
        """Calls whose batch has not begun."""
        return len(self._calls)

    @property
    def is_running(self) -> bool:
        """Whether calls are taken, and worked on."""
        return self._is_open and self._thread.is_alive()

    def submit(self, group: Group, item: Item) -> Future[Result]:
        """The result of an item, to come. A future that is cancelled before its batch begins costs nothing.

        Raises:
            OverloadedError: as many calls wait as may.
            UnavailableError: the batcher is closed.
        """
        call = _Call[Group, Item, Result](group, item, Future(), time.monotonic())
        with self._changed:
            if not self._is_open:
                raise UnavailableError("the server is being shut down; ask another one")
            if len(self._calls) >= self._limits.max_waiting:
                self._drop_cancelled()
            if (n := len(self._calls)) >= self._limits.max_waiting:
                raise OverloadedError(
                    f"{n} queries are waiting, as many as may; ask again later", self._clear_s(n)
                )
            self._calls.append(call)
            self._changed.notify_all()
        return call.future

    def close(self) -> None:
        """Take no more calls, end those that are there, and the threads."""
        with self._changed:
            self._is_open = False
            self._changed.notify_all()
        self._thread.join()
        self._pool.shutdown()

    def _clear_s(self, n_calls: int) -> int:
        """In about how many seconds n calls are done."""
        return math.ceil(math.ceil(n_calls / self._limits.batch_size) * self._batch_s)

    def _drop_cancelled(self) -> None:
        self._calls = deque(call for call in self._calls if not call.future.cancelled())

    def _run(self) -> None:
        before: list[Future[None]] = []
        while batch := self._next_batch():
            finishing = self._begun(batch)
            wait(before)  # no more than two batches are held
            before = finishing
        wait(before)

    def _next_batch(self) -> list[_Call[Group, Item, Result]]:
        """The calls of the next batch, which nobody can cancel any more; none when all is done."""
        with self._changed:
            while self._is_open or self._calls:
                self._drop_cancelled()
                if not self._calls:
                    self._changed.wait()
                elif (left := self._left_s()) > 0:
                    self._changed.wait(left)
                elif batch := self._taken():
                    return batch
        return []

    def _left_s(self) -> float:
        """For how many seconds more the batch of the first call may grow."""
        first = self._calls[0]
        n_alike = sum(call.group == first.group for call in self._calls)
        if not self._is_open or n_alike >= self._limits.batch_size:
            return 0.0
        return first.came + self._limits.wait_ms / 1000 - time.monotonic()

    def _taken(self) -> list[_Call[Group, Item, Result]]:
        group = self._calls[0].group
        taken: list[_Call[Group, Item, Result]] = []
        others: deque[_Call[Group, Item, Result]] = deque()
        for call in self._calls:
            if call.group != group or len(taken) >= self._limits.batch_size:
                others.append(call)
            elif call.future.set_running_or_notify_cancel():
                taken.append(call)
        self._calls = others
        return taken

    def _begun(self, batch: list[_Call[Group, Item, Result]]) -> list[Future[None]]:
        """The first stage of a batch; the second one has been handed to other threads."""
        began = time.monotonic()
        try:
            left = self._first(batch[0].group, [call.item for call in batch])
        except Exception as error:  # noqa: BLE001 - whatever it is belongs to who called
            if len(batch) > 1:
                logger.warning("a batch of %d failed (%s); each is tried alone", len(batch), error)
                return [finishing for call in batch for finishing in self._begun([call])]
            batch[0].future.set_exception(error)
            return []
        seconds = time.monotonic() - began
        self._batch_s += (seconds - self._batch_s) * (_FORGETTING if self._batch_s else 1.0)
        self._told(BatchTold(len(batch), seconds, [began - call.came for call in batch]))
        return [self._pool.submit(_finish, call.future, rest) for call, rest in zip(batch, left, strict=True)]


def _finish(future: Future[Result], rest: Callable[[], Result]) -> None:
    try:
        result = rest()
    except Exception as error:  # noqa: BLE001 - whatever it is belongs to who called
        future.set_exception(error)
    else:
        future.set_result(result)
