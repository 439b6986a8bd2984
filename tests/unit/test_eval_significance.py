"""Randomisation tests, Holm's correction and bootstrap intervals on numbers worked out by other means."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.significance import Resampling, bootstrap_intervals, holm, randomisation_p


def enumerated(differences: list[float]) -> float:
    """The definition: all assignments of signs."""
    seen = abs(sum(differences))
    sums = [
        abs(sum(sign * value for sign, value in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(value >= seen - 1e-9 for value in sums) / len(sums)


@pytest.mark.parametrize(
    "differences",
    [
        [1.0],
        [1, 1, 1, 1, 1],
        [1, 1, -1, 0, 0, 1, 1, 1],
        [0.5, -0.25, 1 / 3, 1 / 3, 1 / 3, -1, 0.2, 0.7],
        [0.1, 0.2, 0.3, -0.6],  # the sum is 0 but for the last digit
        [3.0, -100.0, 7.0, 52.0],
        [0.31, 0.22, -0.17, 0.4, 0.05, -0.33, 0.6, 0.01, 0.9, -0.12],
    ],
)
def test_few_topics_are_enumerated(differences: list[float]) -> None:
    assert randomisation_p(np.array(differences)) == pytest.approx(enumerated(differences), abs=1e-12)


def test_known_values() -> None:
    assert randomisation_p(np.array([1.0] * 10)) == pytest.approx(2 / 1024)
    assert randomisation_p(np.array([1.0] * 8 + [-1.0] * 2)) == pytest.approx(2 * (1 + 10 + 45) / 1024)
    assert randomisation_p(np.array([1.0, -1.0])) == 1.0
    assert randomisation_p(np.zeros(7)) == 1.0
    assert randomisation_p(np.array([])) == 1.0


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 7.0, 1e300])
def test_p_values_do_not_depend_on_the_scale(scale: float) -> None:
    differences = np.array([0.31, 0.22, -0.17, 0.4, 0.05, -0.33, 0.6, 0.0, 0.9, -0.12])
    assert randomisation_p(differences * scale) == randomisation_p(differences)
    assert randomisation_p(-differences * scale) == randomisation_p(differences)


def test_differences_of_0_and_1_are_exact_for_any_number_of_topics() -> None:
    """It is then the sign test: 3,000 topics equal, 340 better, 270 worse."""
    differences = np.array([0.0] * 3000 + [1.0] * 340 + [-1.0] * 270)
    tail = sum(math.comb(610, k) for k in range(340, 611))
    assert randomisation_p(differences) == pytest.approx(2 * tail / 2**610)
    assert 0 < randomisation_p(np.ones(5000)) < 1e-300


def test_many_topics_are_sampled_by_a_seed_and_never_give_0() -> None:
    differences = np.random.default_rng(3).normal(0.06, 0.5, 300)
    p = randomisation_p(differences)
    assert p == randomisation_p(differences, Resampling(seed=0))
    other = randomisation_p(differences, Resampling(seed=1))
    assert other != p
    # The normal approximation, which is good for 300 topics; 10,000 permutations have an error below 0.01.
    z = abs(differences.sum()) / math.sqrt((differences**2).sum())
    assert p == pytest.approx(math.erfc(z / math.sqrt(2)), abs=0.015)
    far = np.random.default_rng(3).normal(3, 0.5, 300)
    assert randomisation_p(far, Resampling(permutations=99)) == 0.01


@pytest.mark.parametrize("shift", [0.05, 0.2, 0.35])
def test_what_is_sampled_comes_near_what_is_enumerated(shift: float, monkeypatch: pytest.MonkeyPatch) -> None:
    differences = np.random.default_rng(11).normal(shift, 1, 13)
    exact = randomisation_p(differences)
    assert exact == pytest.approx(enumerated(list(differences)), abs=1e-12)
    monkeypatch.setattr("seal_ir.eval.significance._EXACT_SUMS", 1)
    sampled = randomisation_p(differences)
    assert sampled != exact
    assert sampled == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 10_000))


def test_p_values_are_at_most_1() -> None:
    """The chances of these 79 sums add up to 1 and one bit."""
    assert randomisation_p(np.array([1.0, -1.0] * 39)) == 1


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.6]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_intervals_of_a_share_are_those_of_the_binomial_distribution() -> None:
    values = np.array([1.0] * 120 + [0.0] * 280)
    ((lo, hi),) = bootstrap_intervals(values[:, None])
    spread = 1.96 * math.sqrt(0.3 * 0.7 / 400)
    assert lo == pytest.approx(0.3 - spread, abs=0.005)
    assert hi == pytest.approx(0.3 + spread, abs=0.005)


@pytest.mark.parametrize("place", range(4))
def test_every_topic_is_drawn(place: int) -> None:
    """Of four topics one has a value; it is in a sample never with chance 0.32, thrice or more with 0.05."""
    values = np.zeros((4, 1))
    values[place] = 1
    assert tuple(bootstrap_intervals(values, Resampling(level=0.85))[0]) == (0.0, 0.5)


def test_intervals_follow_level_and_seed() -> None:
    values = np.random.default_rng(5).random((60, 1))
    wide, narrow = (bootstrap_intervals(values, Resampling(level=level))[0] for level in (0.99, 0.5))
    assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]
    assert (bootstrap_intervals(values) == bootstrap_intervals(values, Resampling(seed=0))).all()
    assert (bootstrap_intervals(values) != bootstrap_intervals(values, Resampling(seed=1))).any()


def test_series_are_sampled_together() -> None:
    """A system and the same system plus 0.1 have intervals 0.1 apart, and their difference has none."""
    values = np.random.default_rng(5).random(60)
    ends = bootstrap_intervals(np.stack([values, values + 0.1, np.full(60, 0.1)], axis=1))
    assert ends[1] == pytest.approx(ends[0] + 0.1)
    assert ends[2] == pytest.approx([0.1, 0.1])


def test_blocks_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).normal(0.1, 1, (40, 2))
    whole = bootstrap_intervals(values), randomisation_p(values[:, 0])
    monkeypatch.setattr("seal_ir.eval.significance._BLOCK", 997)
    assert (bootstrap_intervals(values) == whole[0]).all()
    assert randomisation_p(values[:, 0]) == whole[1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"permutations": 0}, "permutations is 0; it must be at least 1"),
        ({"resamples": 0}, "resamples is 0; it must be at least 1"),
        ({"level": 1.0}, "level is 1.0; it must lie between 0 and 1"),
        ({"level": 0.0}, "level is 0.0; it must lie between 0 and 1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_options_that_mean_nothing(values: dict[str, float], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}"):
        Resampling(**values)  # type: ignore[arg-type]


def test_the_least_that_can_be_drawn() -> None:
    """One assignment of signs and one sample of topics; the level may be anything in between."""
    least = Resampling(permutations=1, resamples=1, level=0.01, seed=0)
    differences = np.random.default_rng(3).normal(0.06, 0.5, 300)
    assert randomisation_p(differences, least) in (0.5, 1.0)
    ((lo, hi),) = bootstrap_intervals(differences[:, None], least)
    assert lo == hi
