"""Weights of LM+FM: against the formula at 60 digits, and at the ends of the scale."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seal_ir.rank.weights import log_odds, trust_in
from tests.helpers.examples import examples


def _one(logprob: float, count: int, n_tokens: int, smoothing: float) -> float:
    return float(log_odds(np.array([logprob]), np.array([count]), n_tokens, smoothing)[0])


def _exactly(logprob: float, count: int, n_tokens: int, smoothing: float) -> float:
    with localcontext() as context:
        context.prec = 60
        p = (count + Decimal(smoothing)) / (n_tokens + Decimal(smoothing))
        q = Decimal(logprob).exp()
        return float(max(Decimal(0), (q * (1 - p) / (p * (1 - q))).ln()))


@examples(300)
@given(
    logprob=st.floats(-200, -1e-7),
    n_tokens=st.integers(2, 10**11),
    part=st.floats(0, 1),
    smoothing=st.sampled_from([0.0, 0.5, 5.0]),
)
@example(logprob=-1e-7, n_tokens=10**11, part=0.0, smoothing=0.0)
@example(logprob=-1e-7, n_tokens=2, part=1.0, smoothing=5.0)
@example(logprob=-0.01, n_tokens=3 * 10**9, part=1.0, smoothing=0.0)
def test_weight_is_the_formula(logprob: float, n_tokens: int, part: float, smoothing: float) -> None:
    count = max(1, min(n_tokens - 1, int(part * n_tokens)))
    expected = _exactly(logprob, count, n_tokens, smoothing)
    assert _one(logprob, count, n_tokens, smoothing) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 5.0])
@pytest.mark.parametrize("count", [1, 999, 1000])
@pytest.mark.parametrize("logprob", [0.0, -0.0, -1e-300, -1e-9, -5.9e-8, -1.0, -745.0, -1e30, -math.inf])
def test_weight_is_finite_at_the_ends(logprob: float, count: int, smoothing: float) -> None:
    weight = _one(logprob, count, 1000, smoothing)
    assert 0.0 <= weight < 50.0
    if count == 1000 or logprob < -700:
        assert weight == 0.0  # P(n) = 1, or the model thinks nothing of it


def test_a_certain_key_weighs_as_much_as_float32_can_say() -> None:
    """float32 rounds probabilities above 1 - 2^-24 to 1: all of them have the weight of the least."""
    assert _one(0.0, 1, 1000, 5.0) == _one(-1e-9, 1, 1000, 5.0) > _one(-1e-6, 1, 1000, 5.0)


def test_weight_rises_with_the_models_probability_and_falls_with_the_count() -> None:
    logprobs = np.linspace(-30, 0, 400)
    weights = log_odds(logprobs, np.full(400, 3), 10_000, 5.0)
    assert (np.diff(weights) >= 0).all()
    assert weights[-1] > weights[-50] > 0
    counts = np.arange(1, 10_001)
    weights = log_odds(np.full(10_000, -0.5), counts, 10_000, 5.0)
    assert (np.diff(weights) <= 0).all()
    assert weights[0] > 0 == weights[-1]


def test_a_corpus_of_one_token_and_no_keys() -> None:
    assert _one(-0.1, 1, 1, 0.0) == 0.0
    assert log_odds(np.empty(0), np.empty(0, np.int64), 10, 5.0).shape == (0,)


def test_trust_is_what_is_set_in_large_collections_and_less_in_small_ones() -> None:
    for n_tokens in (10_000_000, 37_683_288, 10**11):
        assert trust_in(0.7, n_tokens) == 0.7
    small = [trust_in(0.7, n_tokens) for n_tokens in (1, 2, 120, 24_000, 1_200_000, 9_999_999)]
    assert small == sorted(small)
    assert small[0] == small[1] > 0
    assert small[2:] == pytest.approx([0.301, 0.565, 0.663, 0.7], abs=1e-3)


@pytest.mark.parametrize("n_tokens", [1, 2, 500, 10**9])
def test_full_trust_and_none_are_the_same_everywhere(n_tokens: int) -> None:
    assert (trust_in(1.0, n_tokens), trust_in(0.0, n_tokens)) == (1.0, 0.0)
