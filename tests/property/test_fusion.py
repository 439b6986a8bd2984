"""Fusing rankings: laws that hold whatever they are."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import UsageError
from seal_ir.search.fusion import METHODS, NORMALISATIONS, Entry, Fusion, best, fuse, fuse_all, normalised

SCORE = st.sampled_from([-1.5, 0.0, 2.0, 2.5]) | st.floats(-100, 100)
RANKING = st.dictionaries(st.sampled_from("abcdefgh"), SCORE, max_size=8).map(
    lambda scores: best(scores.items(), len(scores))
)
NORMALISATION = st.sampled_from(NORMALISATIONS)
FUSION = st.builds(Fusion, st.sampled_from(METHODS), st.floats(0, 1), st.integers(0, 100), NORMALISATION)


def docids(entries: list[Entry]) -> list[str]:
    return [docid for docid, _ in entries]


@given(RANKING, RANKING, FUSION)
def test_every_document_once_best_first_ties_by_docid(
    first: list[Entry], second: list[Entry], fusion: Fusion
) -> None:
    fused = fuse(first, second, fusion)
    assert sorted(docids(fused)) == sorted({*docids(first), *docids(second)})
    assert fused == sorted(fused, key=lambda entry: (-entry[1], entry[0]))


@given(RANKING, RANKING, FUSION)
def test_the_other_way_round_is_the_same(first: list[Entry], second: list[Entry], fusion: Fusion) -> None:
    mirrored = replace(fusion, alpha=1 - fusion.alpha)
    one, two = fuse(first, second, fusion), fuse(second, first, mirrored)
    assert dict(one) == pytest.approx(dict(two), abs=1e-12)


@given(st.lists(RANKING, min_size=1, max_size=4), FUSION, st.randoms())
def test_weights_go_with_their_rankings(
    rankings: list[list[Entry]], fusion: Fusion, random_: random.Random
) -> None:
    weights = [random_.choice([0.0, 0.25, 1.0, 3.0]) for _ in rankings]
    weights[0] += 1
    weighted = replace(fusion, weights=tuple(weights))
    order = random_.sample(range(len(rankings)), len(rankings))
    moved = replace(fusion, weights=tuple(weights[i] for i in order))
    fused = fuse_all(rankings, weighted)
    assert dict(fuse_all([rankings[i] for i in order], moved)) == pytest.approx(dict(fused), abs=1e-12)
    doubled = replace(fusion, weights=tuple(2 * weight for weight in weights))
    assert fuse_all(rankings, doubled) == [(docid, 2 * score) for docid, score in fused]


@given(RANKING, RANKING, FUSION)
def test_equal_weights_are_those_of_no_weights(
    first: list[Entry], second: list[Entry], fusion: Fusion
) -> None:
    plain = replace(fusion, alpha=0.5)
    share = 1.0 if fusion.method == "rrf" else 0.5
    assert fuse(first, second, replace(plain, weights=(share, share))) == fuse(first, second, plain)


@given(RANKING, st.integers(0, 100))
def test_a_ranking_fused_with_nothing_or_itself_keeps_its_order(ranking: list[Entry], rrf_k: int) -> None:
    for other in ([], ranking):
        assert docids(fuse(ranking, other, Fusion("rrf", rrf_k=rrf_k))) == docids(ranking)


@given(RANKING, RANKING, st.integers(0, 100))
def test_ranks_are_all_that_counts_for_rrf(first: list[Entry], second: list[Entry], rrf_k: int) -> None:
    fusion = Fusion("rrf", rrf_k=rrf_k)
    other = [(docid, -1000.0 * rank) for rank, docid in enumerate(docids(first))]
    assert fuse(first, second, fusion) == fuse(other, second, fusion)


@given(RANKING, RANKING)
def test_interpolation_from_one_end_to_the_other(first: list[Entry], second: list[Entry]) -> None:
    for alpha, whole in ((1.0, first), (0.0, second)):
        fused = dict(fuse(first, second, Fusion("interpolation", alpha)))
        assert fused == {**dict.fromkeys(fused, 0.0), **dict(normalised(whole))}


@given(RANKING, NORMALISATION, st.sampled_from([0.5, 4.0]), st.sampled_from([-8.0, 0.0, 64.0]))
def test_normalised_scores(ranking: list[Entry], normalisation: str, scale: float, shift: float) -> None:
    spread = normalised(ranking, normalisation)
    assert docids(spread) == docids(ranking)
    scores = [score for _, score in spread]
    assert scores == sorted(scores, reverse=True)
    if not ranking:
        return
    if ranking[0][1] == ranking[-1][1]:
        assert set(scores) == {1.0}
        return
    assert scores[-1] == 0
    measure = {"min-max": max(scores), "z-score": float(np.std(scores)), "sum": sum(scores)}[normalisation]
    if ranking[0][1] - ranking[-1][1] > 1e-6:
        assert measure == pytest.approx(1)
        other = normalised([(docid, scale * score + shift) for docid, score in ranking], normalisation)
        assert [score for _, score in other] == pytest.approx(scores, abs=1e-6)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), SCORE)), st.integers(0, 10))
def test_best_is_a_stable_sort(entries: list[Entry], n: int) -> None:
    kept = best(entries, n)
    assert kept == [entries[i] for i in sorted(range(len(entries)), key=lambda i: (-entries[i][1], i))[:n]]


def test_by_hand() -> None:
    first, second = [("a", 30.0), ("b", 20.0), ("c", 10.0)], [("c", 2.0), ("d", 1.5), ("a", 1.0)]
    assert fuse(first, second, Fusion()) == [
        ("a", 1 / 61 + 1 / 63),
        ("c", 1 / 63 + 1 / 61),
        ("b", 1 / 62),
        ("d", 1 / 62),
    ]
    assert fuse(first, second, Fusion("interpolation", 0.25)) == [
        ("c", 0.75),
        ("d", 0.375),
        ("a", 0.25),
        ("b", 0.125),
    ]
    assert fuse([("z", 5.0)], [("y", 1.0)], Fusion("interpolation")) == [("y", 0.5), ("z", 0.5)]
    third = [("d", 7.0)]
    weighted = Fusion("interpolation", normalisation="sum", weights=(3.0, 3.0, 0.5))
    assert fuse_all((first, second, third), weighted) == [
        ("a", 2.0),
        ("c", 2.0),
        ("d", 1.5),
        ("b", 1.0),
    ]
    assert fuse_all((first, second, third), Fusion("rrf", rrf_k=0, weights=(1, 0, 2)))[0] == ("d", 2.0)
    assert Fusion("interpolation", 0.6).of_each(3) == (0.6, 0.2, 0.2)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"method": "borda"}, "unknown fusion 'borda'; choose one of rrf, interpolation"),
        ({"alpha": 1.01}, "alpha is 1.01; it must be within 0 and 1"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"rrf_k": -1}, "rrf_k is -1"),
        ({"depth": -1}, "depth is -1"),
        (
            {"normalisation": "softmax"},
            "unknown normalisation 'softmax'; choose one of min-max, z-score, sum",
        ),
        ({"weights": (1.0, -1.0)}, "weights holds -1.0; weights are finite numbers from 0 on"),
        ({"weights": (1.0, float("nan"))}, "weights holds nan"),
        ({"weights": (1.0, True)}, "weights holds True"),
        ({"weights": (1.0, "2")}, "weights holds '2'"),
        ({"weights": (0.0, 0.0)}, "weights are all 0"),
    ],
)
def test_values_that_mean_nothing(values: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Fusion(**values)  # type: ignore[arg-type]
