"""How any engine takes arguments, gives results and shares threads; answers: property/test_engine.py."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from tests.helpers.engines import (
    BOUNDARY,
    FACTORIES,
    MODULES,
    Factory,
    Probe,
    integers,
    ranges,
    symbols,
    ticks_during,
)

DOCUMENTS = [[1, 5, 9, 5], [1], [1, 9, 5], [1, 70_000]]
N_ROWS = sum(map(len, DOCUMENTS)) + 1


@pytest.fixture(params=sorted(FACTORIES), scope="module")
def engine_factory(request: pytest.FixtureRequest) -> Factory:
    pytest.importorskip(MODULES[request.param])
    return FACTORIES[request.param]


@pytest.fixture(scope="module")
def engine(engine_factory: Factory) -> Any:
    return engine_factory(DOCUMENTS).engine


@pytest.fixture(scope="module")
def large_engine(engine_factory: Factory) -> Any:
    """100,000 symbols in 500 documents, enough for a call to take some time."""
    words = np.random.default_rng(0).zipf(1.3, 100_000) % 20_000 + 2
    return engine_factory([[BOUNDARY, *part] for part in words.reshape(500, 200).tolist()]).engine


@pytest.mark.parametrize("bad", [(-1, 3), (0, N_ROWS + 1), (4, 3), (-3, -1), (N_ROWS + 1, N_ROWS + 1)])
def test_ranges_that_do_not_exist_are_refused(engine, bad) -> None:
    message = f"ranges[1] is [{bad[0]}, {bad[1]}), not a range within [0, {N_ROWS})"
    asked = ranges((0, 3), bad)
    calls = [
        lambda: engine.extend(asked, symbols(5, 5)),
        lambda: engine.verify(asked, symbols(5, 5).reshape(2, 1)),
        lambda: engine.successors(asked),
    ]
    for call in calls:
        with pytest.raises(IndexError, match=f"^{re.escape(message)}$"):
            call()


@pytest.mark.parametrize("bad", [-1, 0, N_ROWS])
def test_rows_that_stand_for_nothing_are_refused(engine, bad) -> None:
    message = f"rows[1] is {bad}, rows of occurrences are within [1, {N_ROWS})"
    with pytest.raises(IndexError, match=f"^{re.escape(message)}$"):
        engine.locate(integers(1, bad))


@pytest.mark.parametrize("bad", [-1, 4])
def test_documents_that_do_not_exist_are_refused(engine, bad) -> None:
    message = f"documents[1] is {bad}, documents are within [0, 4)"
    for call in (engine.extract, engine.rows, engine.only, engine.without):
        with pytest.raises(IndexError, match=f"^{re.escape(message)}$"):
            call(integers(0, bad))


def test_a_view_holds_its_engine(engine_factory) -> None:
    view = engine_factory(DOCUMENTS).engine.without(integers(1, 1, 3)).only(integers(1))
    assert Probe(view).extract([0]) == [[1, 9, 5]]
    assert view.size_in_bytes()["live"] > 0


def test_a_view_without_documents_has_no_n_grams(engine) -> None:
    for view in (engine.only(integers()), engine.without(integers(0, 1, 2, 3))):
        assert (view.n_rows, view.n_documents) == (1, 0)
        assert Probe(view).successors(()) == {}
        assert Probe(view).range((5,)) == (0, 0)


def test_lengths_that_differ_are_refused(engine) -> None:
    with pytest.raises(ValueError, match=r"^symbols has 1 entries, expected 2$"):
        engine.extend(ranges((0, 3), (0, 3)), symbols(5))
    with pytest.raises(ValueError, match=r"^candidates has 2 entries, expected 4$"):
        engine.verify(ranges((0, 3), (0, 3)), symbols(5, 9).reshape(1, 2))


def test_empty_batches_give_empty_arrays(engine) -> None:
    assert engine.extend(ranges(), symbols()).shape == (0, 2)
    assert engine.verify(ranges(), np.zeros((0, 3), dtype=np.uint32)).shape == (0, 3, 2)
    assert engine.verify(ranges((0, 3)), np.zeros((1, 0), dtype=np.uint32)).shape == (1, 0, 2)
    offsets, found, found_ranges = engine.successors(ranges())
    assert (offsets.tolist(), found.shape, found_ranges.shape) == ([0], (0,), (0, 2))
    assert engine.locate(integers()).shape == (0, 2)
    offsets, found = engine.extract(integers())
    assert (offsets.tolist(), found.shape) == ([0], (0,))


def test_results_have_the_types_of_the_stub_and_outlive_the_engine(engine_factory) -> None:
    engine = engine_factory(DOCUMENTS).engine
    whole = ranges((0, N_ROWS))
    offsets, found, found_ranges = engine.successors(whole)
    assert (offsets.dtype, found.dtype, found_ranges.dtype) == (np.int64, np.uint32, np.int64)
    assert engine.extend(whole, symbols(5)).dtype == np.int64
    assert engine.locate(integers(1)).dtype == np.int64
    del engine
    assert found.tolist() == [1, 5, 9, 70_000]
    assert (found_ranges[:, 1] - found_ranges[:, 0]).tolist() == [4, 3, 2, 1]


def test_read_only_arrays_are_taken(engine) -> None:
    whole, five = ranges((0, N_ROWS)), symbols(5)
    whole.flags.writeable = five.flags.writeable = False
    lo, hi = engine.extend(whole, five)[0]
    assert hi - lo == 3


def test_n_grams_do_not_cross_documents(engine) -> None:
    probe = Probe(engine)
    assert probe.count((9, 5)) == 2
    assert probe.count((5, 1)) == 0  # document 0 ends with 5, document 1 begins with 1
    assert probe.count((1, 1)) == 0
    assert probe.count((1, 9)) == 1
    assert probe.occurrences((9, 5)) == [(0, 4), (2, 3)]


def _ask_everything(engine: Any, seed: int) -> list[bytes]:
    source = np.random.default_rng(seed)
    bounds = np.sort(source.integers(0, engine.n_rows, (50, 2)), axis=1)
    offsets, found, found_ranges = engine.successors(bounds)
    asked = source.choice(found, 50).astype(np.uint32)
    answers = [
        offsets,
        found,
        found_ranges,
        engine.extend(bounds, asked),
        engine.verify(bounds, np.tile(asked, (50, 1))),
        engine.locate(source.integers(1, engine.n_rows, 500)),
        *engine.extract(source.integers(0, engine.n_documents, 20)),
    ]
    return [answer.tobytes() for answer in answers]


@pytest.mark.slow
def test_eight_threads_get_the_answers_of_one(large_engine) -> None:
    alone = [_ask_everything(large_engine, seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda seed: _ask_everything(large_engine, seed), range(8)))
    assert together == alone


@pytest.mark.slow
def test_other_threads_run_during_a_call(large_engine) -> None:
    # Not the empty n-gram's range, which engines know without looking.
    whole = ranges((1, large_engine.n_rows))
    candidates = symbols(*range(2, 10_002))
    rows = np.arange(1, large_engine.n_rows)
    documents = np.arange(500)
    calls: dict[str, Callable[[int], object]] = {
        "successors": lambda n: large_engine.successors(np.tile(whole, (n, 1))),
        "verify": lambda n: large_engine.verify(np.tile(whole, (n, 1)), np.tile(candidates, (n, 1))),
        "extend": lambda n: large_engine.extend(np.tile(whole, (n, 1)), np.full(n, 3, dtype=np.uint32)),
        "locate": lambda n: large_engine.locate(np.tile(rows, n)),
        "extract": lambda n: large_engine.extract(np.tile(documents, n)),
    }
    ticks = {name: ticks_during(_lasting(call)) for name, call in calls.items()}
    assert all(n >= 5 for n in ticks.values()), ticks


def _lasting(call: Callable[[int], object]) -> Callable[[], object]:
    """The call on so much work that it takes long enough to be looked at, however fast the engine is."""
    n, seconds = 1, 0.0
    while seconds < 0.1:
        n *= 4
        started = time.perf_counter()
        call(n)
        seconds = time.perf_counter() - started
    return lambda: call(n)


def test_views_of_thousands_of_documents(engine_factory: Factory) -> None:
    """Walked through in threads."""
    documents = [[BOUNDARY, 16 + number % 7, 16 + number % 11, 16 + number % 3] for number in range(6000)]
    chosen = [number for number in range(len(documents)) if number % 13 % 3]
    alone = engine_factory([documents[number] for number in chosen])
    view = Probe(engine_factory(documents).engine.only(integers(*chosen)))
    assert view.engine.n_rows == alone.engine.n_rows
    for ngram in ([], [20], [16, 16], [22, 26, 18]):
        assert view.range(ngram) == alone.range(ngram)
        assert view.successors(ngram) == alone.successors(ngram)
    assert view.occurrences([17, 20]) == alone.occurrences([17, 20])
    with pytest.raises(IndexError):
        view.engine.only(integers(*range(len(chosen) + 1)))
