"""When n-grams need not go on: bounds against the weights themselves, and places taken for good."""

from __future__ import annotations

import numpy as np
import pytest

from seal_ir.decode.stopping import Stopping
from seal_ir.rank.weights import log_odds

SIZES = [2, 3, 120, 24_000, 37_683_288, 10**11]


def _weight(logprob: float, n_tokens: int) -> float:
    """That of a key that occurs once, without smoothing: no key of this probability weighs more."""
    return float(log_odds(np.array([logprob]), np.array([1]), n_tokens, 0.0)[0])


@pytest.mark.parametrize("n_tokens", SIZES)
def test_what_is_never_used_is_all_that_weighs_nothing(n_tokens: int) -> None:
    bound = Stopping(n_tokens).never_used
    assert _weight(bound, n_tokens) == 0.0
    assert 0.0 < _weight(bound + 1e-6, n_tokens) < 1e-5
    assert Stopping(n_tokens).least == bound == Stopping(n_tokens, least_weight=3.0).never_used


@pytest.mark.parametrize("weight", [0.5, 1.5, 8.0])
@pytest.mark.parametrize("n_tokens", SIZES[2:])
def test_what_stops_is_all_that_weighs_less_than_is_asked_for(n_tokens: int, weight: float) -> None:
    bound = Stopping(n_tokens, weight).least
    assert _weight(bound, n_tokens) == pytest.approx(weight, abs=1e-8)
    assert _weight(bound, n_tokens) < weight


@pytest.mark.parametrize("n_tokens", [0, 1])
def test_in_a_corpus_of_one_token_nothing_counts(n_tokens: int) -> None:
    assert Stopping(n_tokens).never_used == Stopping(n_tokens, 2.0).least == 0.0


def test_keys_are_likely_enough_and_rarer_than_what_they_begin_with() -> None:
    stopping = Stopping(1_000)
    bound = stopping.never_used
    found = stopping.is_key(
        np.array([bound, bound + 1e-6, -0.1, -0.1, -50.0]),
        np.array([3, 3, 3, 4, 3]),
        np.array([0, 0, 3, 9, 9]),
    )
    assert found.tolist() == [False, True, False, True, False]


def _going(stopping: Stopping, counts: list[int], free: list[bool]) -> tuple[list[bool], list[int]]:
    """Of three decodings with five places each, the second of which writes nothing here."""
    n = len(counts)
    widths = np.full(3, 5)
    jobs = np.array([0, 0, 2, 2, 2][:n])
    logprobs = np.array([-0.1, -0.2, -50.0, -0.3, -0.4][:n])
    going = stopping.going(jobs, logprobs, np.array(counts), np.array(free), widths)
    return going.tolist(), widths.tolist()


def test_all_that_is_likely_enough_goes_on_where_none_retires() -> None:
    found = _going(Stopping(1_000), [1, 2, 1, 0, 9], [True] * 5)
    assert found == ([True, True, False, True, True], [5, 5, 5])


def test_what_retires_takes_its_place_with_it() -> None:
    """Two of the last decoding do, one too unlikely as well; what is no key itself never does."""
    found = _going(Stopping(1_000, retired=2), [2, 3, 1, 2, 1], [True, True, True, True, False])
    assert found == ([False, True, False, False, True], [4, 5, 3])


def test_what_occurs_once_may_retire_and_what_is_just_at_the_bound_stops() -> None:
    assert _going(Stopping(1_000, retired=1), [1, 2, 1], [True] * 3) == ([False, True, False], [4, 5, 4])
    stopping = Stopping(1_000)
    logprobs = np.array([stopping.least, np.nextafter(stopping.least, 0.0)])
    one = np.zeros(2, np.int64)
    found = stopping.going(one, logprobs, one + 9, np.array([True, True]), np.full(1, 5))
    assert found.tolist() == [False, True]
