"""Choosing settings: what is chosen is the best, and held-out questions have no say in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.arrays import Doubles
from seal_ir.config import RankConfig
from seal_ir.errors import UsageError
from seal_ir.tune.choosing import Choice, Evaluate, by_coordinates, by_grid, check_folds, score, split
from seal_ir.tune.ranges import Point, Range, Space

SPACE = Space(
    [
        Range("rank", "alpha", [1.0, 2.0, 3.0]),
        Range("rank", "beta", [0.0, 0.8, 1.0]),
        Range("rank", "length", [0, 1]),
    ],
    RankConfig(),
    None,
)
SEED = st.integers(0, 10_000)
N_TOPICS, N_FOLDS = 12, 3
SEARCHES = st.sampled_from([by_grid, by_coordinates])


def world(seed: int, n_columns: int = 2) -> tuple[dict[Point, Doubles], Evaluate, list[Point]]:
    """Random values of every point, few of them different; what gives them out; which were asked for."""
    draw = np.random.default_rng(seed)
    points = list(dict.fromkeys([SPACE.default, *SPACE.grid()]))
    absent = draw.random((N_TOPICS, n_columns)) < 0.1
    known = {point: draw.integers(0, 3, (N_TOPICS, n_columns)) / 2 for point in points}
    for values in known.values():
        values[absent] = np.nan
    asked: list[Point] = []

    def evaluate(wanted: Sequence[Point]) -> list[Doubles]:
        asked.extend(wanted)
        return [known[point] for point in wanted]

    return known, evaluate, asked


def chosen(choice: Choice) -> Point:
    return choice.tried[choice.chosen]


@given(SEED, SEED)
def test_a_grid_takes_the_best_and_of_equal_ones_the_first(seed: int, fold_seed: int) -> None:
    known, evaluate, asked = world(seed)
    folds = split(N_TOPICS, N_FOLDS, fold_seed)
    choice = by_grid(SPACE, evaluate, folds)
    assert asked == list(known)
    for mask, found in [
        (folds >= 0, choice.chosen),
        *((folds != f, choice.by_fold[f]) for f in range(N_FOLDS)),
    ]:
        scores = [float(np.mean(np.nanmean(values[mask], axis=0))) for values in known.values()]
        assert found == scores.index(max(scores))
    for topic, fold in enumerate(folds):
        expected = known[choice.tried[choice.by_fold[fold]]][topic]
        assert np.array_equal(choice.held_out[topic], expected, equal_nan=True)


@given(SEED, SEED)
def test_coordinates_end_where_no_single_change_helps(seed: int, fold_seed: int) -> None:
    known, evaluate, asked = world(seed)
    choice = by_coordinates(SPACE, evaluate, split(N_TOPICS, N_FOLDS, fold_seed))
    assert choice.tried[0] == SPACE.default == asked[0]
    assert len(asked) == len(set(asked))  # nothing twice
    end = chosen(choice)
    for at in range(len(SPACE.ranges)):
        assert all(score(known[other]) <= score(known[end]) for other in SPACE.around(end, at))
    assert score(known[end]) >= score(known[SPACE.default])


@given(SEED, SEED, SEARCHES, st.integers(0, N_FOLDS - 1))
def test_held_out_topics_have_no_say(seed: int, fold_seed: int, search: object, fold: int) -> None:
    assert callable(search)
    known, evaluate, _ = world(seed)
    folds = split(N_TOPICS, N_FOLDS, fold_seed)
    before = search(SPACE, evaluate, folds)
    for values in known.values():
        values[folds == fold] = np.random.default_rng(seed + 1).random(values[folds == fold].shape)
    after = search(SPACE, evaluate, folds)
    assert before.tried[before.by_fold[fold]] == after.tried[after.by_fold[fold]]


@given(st.integers(2, 60), st.integers(2, 10), SEED)
def test_folds_are_of_equal_size_and_by_seed(n_topics: int, n_folds: int, seed: int) -> None:
    if n_topics < n_folds:
        with pytest.raises(UsageError, match=f"only {n_topics} topics to divide"):
            split(n_topics, n_folds, seed)
        return
    folds = split(n_topics, n_folds, seed)
    sizes = np.bincount(folds, minlength=n_folds)
    assert sizes.sum() == n_topics
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(folds, split(n_topics, n_folds, seed))


def test_a_score_by_hand() -> None:
    values = np.array([[1.0, 0.0], [0.0, np.nan], [1.0, 1.0], [0.0, 0.5]])
    assert score(values) == pytest.approx((0.5 + 0.5) / 2)


def test_a_fold_without_a_judged_topic() -> None:
    values = np.array([[1.0, np.nan], [0.0, np.nan], [1.0, 1.0], [0.0, 0.5]])
    check_folds(values, np.array([0, 1, 0, 1]), ["a", "b"])
    with pytest.raises(UsageError, match="fold 1 has no topic judged for b"):
        check_folds(values, np.array([0, 0, 1, 1]), ["a", "b"])
