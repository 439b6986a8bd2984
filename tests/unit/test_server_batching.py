"""Calls that come together are worked on together, each gets its own result, and none is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.server.batching import Batcher, BatchTold
from seal_ir.server.failures import OverloadedError, UnavailableError
from seal_ir.server.limits import Limits
from tests.helpers.waiting import wait_until

SHORT = Limits(batch_size=4, wait_ms=1, max_waiting=6)


class Work:
    """A first stage that can be held, and knows its batches."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.may_go = threading.Event()
        self.may_go.set()

    def __call__(self, group: str, items: Sequence[int]) -> list[Callable[[], str]]:
        self.batches.append((group, list(items)))
        assert self.may_go.wait(30)
        if -1 in items:
            raise ValueError("minus one")
        return [partial(self._rest, group, item) for item in items]

    @staticmethod
    def _rest(group: str, item: int) -> str:
        if item == -2:
            raise KeyError("minus two")
        return f"{group}{item}"


@contextmanager
def batcher(work: Work, limits: Limits = SHORT, told: list[BatchTold] | None = None) -> Iterator[Batcher]:
    made = Batcher(work, limits, told=(told if told is not None else []).append)
    try:
        yield made
    finally:
        work.may_go.set()
        made.close()


def held(made: Batcher, work: Work) -> Future[str]:
    """A first call, whose batch is held by now."""
    work.may_go.clear()
    first = made.submit("first", 0)
    wait_until(lambda: work.batches)
    return first


def test_calls_that_come_while_a_batch_runs_are_the_next_one() -> None:
    work, told = Work(), list[BatchTold]()
    with batcher(work, told=told) as made:
        first = held(made, work)
        futures = [made.submit("a", item) for item in range(3)]
        assert made.n_waiting == 3
        work.may_go.set()
        assert [future.result(30) for future in [first, *futures]] == ["first0", "a0", "a1", "a2"]
    assert work.batches == [("first", [0]), ("a", [0, 1, 2])]
    assert [batch.n_items for batch in told] == [1, 3]
    assert all(seconds >= 0 for batch in told for seconds in (batch.seconds, *batch.waited_s))


def test_the_group_of_whoever_waits_longest_comes_first_and_groups_do_not_mix() -> None:
    work = Work()
    with batcher(work) as made:
        held(made, work)
        calls = [("b", 1), ("a", 2), ("b", 3), ("a", 4)]
        futures = [made.submit(*call) for call in calls]
        work.may_go.set()
        assert [future.result(30) for future in futures] == ["b1", "a2", "b3", "a4"]
    assert work.batches[1:] == [("b", [1, 3]), ("a", [2, 4])]


def test_a_full_batch_waits_for_nobody_and_one_that_is_not_waits_as_long_as_it_may() -> None:
    work = Work()
    with batcher(work, Limits(batch_size=2, wait_ms=60_000)) as made:
        pair = [made.submit("a", item) for item in (1, 2)]
        assert [future.result(30) for future in pair] == ["a1", "a2"]
        single = made.submit("a", 3)
        with pytest.raises(TimeoutError):
            single.result(0.2)
    assert single.result(0) == "a3"  # closing waits for nobody either
    assert work.batches == [("a", [1, 2]), ("a", [3])]


def test_more_than_may_wait_are_refused_and_told_when_to_come_back() -> None:
    work = Work()
    with batcher(work) as made:
        held(made, work)
        futures = [made.submit("a", item) for item in range(SHORT.max_waiting)]
        with pytest.raises(OverloadedError, match="6 queries are waiting") as refused:
            made.submit("a", 7)
        assert refused.value.retry_after_s >= 1
        assert futures[0].cancel()  # who gives up makes room
        more = made.submit("a", 8)
        work.may_go.set()
        assert more.result(30) == "a8"
        with pytest.raises(CancelledError):
            futures[0].result(0)
    assert 0 not in [item for _, items in work.batches[1:] for item in items]


def test_one_fault_is_of_one_call_only(caplog: pytest.LogCaptureFixture) -> None:
    work = Work()
    with batcher(work) as made:
        held(made, work)
        futures = [made.submit("a", item) for item in (1, -1, -2, 3)]
        work.may_go.set()
        assert [futures[0].result(30), futures[3].result(30)] == ["a1", "a3"]
        with pytest.raises(ValueError, match="minus one"):
            futures[1].result(30)
        with pytest.raises(KeyError):
            futures[2].result(30)
        assert made.submit("a", 5).result(30) == "a5"
    assert "a batch of 4 failed (minus one); each is tried alone" in caplog.text


def test_closing_ends_what_waits_and_takes_no_more() -> None:
    work = Work()
    with batcher(work) as made:
        held(made, work)
        futures = [made.submit(group, 1) for group in ("a", "b")]
        work.may_go.set()
        made.close()
        assert [future.result(0) for future in futures] == ["a1", "b1"]
        assert not made.is_running
        with pytest.raises(UnavailableError, match="being shut down"):
            made.submit("a", 2)


@given(
    calls=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99)), max_size=30),
    batch_size=st.integers(1, 5),
)
def test_every_call_gets_its_own_result_whatever_comes_together(
    calls: list[tuple[str, int]], batch_size: int
) -> None:
    work = Work()
    with batcher(work, Limits(batch_size=batch_size, wait_ms=0, max_waiting=30)) as made:
        futures = [made.submit(group, item) for group, item in calls]
        assert [future.result(30) for future in futures] == [f"{group}{item}" for group, item in calls]
    assert all(0 < len(items) <= batch_size for _, items in work.batches)
    for wanted in "abc":  # in the order in which they came
        seen = [item for group, items in work.batches if group == wanted for item in items]
        assert seen == [item for group, item in calls if group == wanted]
