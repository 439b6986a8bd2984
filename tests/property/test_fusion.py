"""Fusing two rankings: laws that hold whatever they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import UsageError
from seal_ir.search.fusion import METHODS, Entry, Fusion, best, fuse, normalised

SCORE = st.sampled_from([-1.5, 0.0, 2.0, 2.5]) | st.floats(-100, 100)
RANKING = st.dictionaries(st.sampled_from("abcdefgh"), SCORE, max_size=8).map(
    lambda scores: best(scores.items(), len(scores))
)
FUSION = st.builds(Fusion, st.sampled_from(METHODS), st.floats(0, 1), st.integers(0, 100))


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
    mirrored = Fusion(fusion.method, 1 - fusion.alpha, fusion.rrf_k)
    one, two = fuse(first, second, fusion), fuse(second, first, mirrored)
    assert dict(one) == pytest.approx(dict(two), abs=1e-12)


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


@given(RANKING)
def test_normalised_scores(ranking: list[Entry]) -> None:
    spread = normalised(ranking)
    assert docids(spread) == docids(ranking)
    scores = [score for _, score in spread]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    if ranking:
        assert scores[0] == 1
        assert scores[-1] == (0 if ranking[0][1] > ranking[-1][1] else 1)


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


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"method": "borda"}, "unknown fusion 'borda'; choose one of rrf, interpolation"),
        ({"alpha": 1.01}, "alpha is 1.01; it must be within 0 and 1"),
        ({"alpha": float("nan")}, "alpha is nan"),
        ({"rrf_k": -1}, "rrf_k is -1"),
    ],
)
def test_values_that_mean_nothing(values: dict[str, float], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Fusion(**values)  # type: ignore[arg-type]
