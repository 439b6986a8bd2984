"""What equal scores leave open: where ties are, how they may be put, which figures that changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import pytest

from seal_ir.eval.evidence import EvidenceMeasure, evidence_measure
from seal_ir.eval.measures import judged_values, parse_measures
from seal_ir.eval.ties import MOST_ORDERS, left_open, orders, orders_by_sets, parted, tied_places


@pytest.mark.parametrize(
    ("scores", "ties"),
    [
        ([], []),
        ([1], []),
        ([2, 1], []),
        ([1, 1], [(0, 2)]),
        ([3, 2, 2], [(1, 3)]),
        ([3, 3, 2, 1, 1, 1, 0], [(0, 2), (3, 6)]),
        ([3, 3, 2, 2], [(0, 2), (2, 4)]),
        ([0.0, -0.0, -1], [(0, 2)]),
    ],
)
def test_places_of_equal_scores(scores: list[float], ties: list[tuple[int, int]]) -> None:
    assert tied_places(scores) == ties


@pytest.mark.parametrize(
    ("ranking", "ties", "grades", "expected"),
    [
        ("abcd", [(1, 3)], {"b": 1}, ("abcd", "acbd")),
        ("abcd", [(0, 4)], {"c": 2, "b": 1}, ("cb", "bc")),
        ("abcd", [(0, 2), (2, 4)], {"b": 1, "c": 1}, ("bacd", "abdc")),
        ("abcd", [(0, 2), (2, 4)], {"a": 1, "b": 1, "d": 1}, ("abdc", "abcd")),  # a and b stay as they are
        ("ab", [(0, 2)], {"a": 0}, ("ab", "ba")),  # a judged one counts for Judged@k
        ("ab", [(0, 2)], {"a": -1, "b": 0}, None),
        ("ab", [(0, 2)], {"a": 1, "b": 1}, None),
        ("ab", [(0, 2)], {}, None),
        ("ab", [], {"a": 1}, None),
    ],
)
def test_the_best_first_and_last(
    ranking: str, ties: list[tuple[int, int]], grades: dict[str, int], expected: tuple[str, str] | None
) -> None:
    found = orders(list(ranking), ties, grades)
    if expected is None:
        assert found is None
        return
    assert found is not None
    best, worst = map("".join, found)
    if len(expected[0]) == len(ranking):
        assert (best, worst) == expected
    else:  # what is not relevant may stand anyhow
        assert (best[: len(expected[0])], worst[-len(expected[1]) :]) == expected


@pytest.mark.parametrize("grades", [{"a": 1, "c": 0}, {"b": 2, "c": 1, "d": -1}, {"a": 0, "d": -1}])
def test_measures_of_graded_relevance_lie_between_the_two_ends(grades: Mapping[str, int]) -> None:
    """Of all orders that a tie of four allows, and a place behind it."""
    columns = parse_measures(["P@2", "nDCG@3", "AP", "RR", "Bpref", "Judged@2", "ERR@2", "R(rel=2)@2"])
    judged = {"1": {**grades, "e": 1}}
    ends = orders(list("abcde"), [(0, 4)], judged["1"])
    assert ends is not None
    for column in columns:
        values = [judged_values(column, judged, {"1": [*order, "e"]})["1"] for order in permutations("abcd")]
        best, worst = (judged_values(column, judged, {"1": ranking})["1"] for ranking in ends)
        assert (best, worst) == pytest.approx((max(values), min(values))), column.name


def kilt(name: str) -> EvidenceMeasure:
    measure = evidence_measure(name)
    assert measure is not None
    return measure


@pytest.mark.parametrize(
    ("name", "ranking", "ties", "sets", "expected"),
    [
        ("KiltRprec", "acb", [(0, 2)], ["ab", "c"], (1, 1 / 2)),  # both relevant, of different sets
        ("KiltRprec", "abcd", [(0, 4)], ["ab", "cd"], (1, 1 / 2)),  # the least has pages of both first
        ("KiltSuccess@1", "acb", [(0, 2)], ["ab", "c"], None),  # a has its place with b, behind c
        ("KiltSuccess@1", "acx", [(0, 2)], ["ab", "c"], (1, 0)),
        ("KiltP@1", "axb", [(1, 3)], ["ab"], (1, 0)),
        ("KiltRprec", "axyb", [(1, 3)], ["ab", "b"], None),  # x and y are of no set
        ("KiltRprec", "abx", [(0, 2)], ["ab"], None),
        ("KiltR@2", "abx", [], ["ab", "x"], None),
        ("KiltRprec", "xayb", [(0, 2), (2, 4)], ["ab"], (1 / 2, 1 / 2)),  # a among the first two either way
        ("KiltSuccess@2", "xayb", [(0, 2), (2, 4)], ["ab"], (1, 0)),
    ],
)
def test_orders_for_measures_over_sets_of_pages(
    name: str,
    ranking: str,
    ties: list[tuple[int, int]],
    sets: list[str],
    expected: tuple[float, float] | None,
) -> None:
    measure, pages = kilt(name), [list(page) for page in sets]
    found = orders_by_sets(list(ranking), ties, pages, measure)
    if expected is None or expected[0] == expected[1]:
        assert found is None
        return
    assert found is not None
    assert tuple(measure(order, pages) for order in found) == expected
    for order in found:
        assert [sorted(order[lo:hi]) for lo, hi in ties] == [sorted(ranking[lo:hi]) for lo, hi in ties]
        tied = {place for lo, hi in ties for place in range(lo, hi)}
        assert all(order[i] == ranking[i] for i in range(len(ranking)) if i not in tied)


def test_all_orders_are_tried_once_where_they_are_not_too_many() -> None:
    """Two pages of two sets among twelve: 12 times 11 orders, and the one that is there."""
    ranking, sets = [f"d{i}" for i in range(14)], [["d3", "x"], ["d5"]]
    tried: list[tuple[str, ...]] = []

    def measure(order: Sequence[str], pages: Sequence[Sequence[str]]) -> float:
        tried.append(tuple(order))
        return kilt("KiltRprec")(order, pages)

    assert orders_by_sets(ranking, [(0, 12)], sets, measure) is not None
    assert (len(tried), len(set(tried))) == (133, 132)


@pytest.mark.parametrize("n_sets", [4, 12])
def test_of_too_many_orders_some_are_tried(n_sets: int) -> None:
    ranking = [f"d{i}" for i in range(40)]
    sets = [[docid] for docid in ranking[10 : 10 + n_sets]]
    tried: list[list[str]] = []

    def measure(order: Sequence[str], pages: Sequence[Sequence[str]]) -> float:
        tried.append(list(order))
        return kilt("KiltR@5")(order, pages)

    found = orders_by_sets(ranking, [(2, 20), (20, 40)], sets, measure)
    assert found is not None
    assert [kilt("KiltR@5")(order, sets) for order in found] == [min(3, n_sets) / n_sets, 0]
    assert len(tried) == MOST_ORDERS + 1
    for order in tried:
        assert order[:2] == ranking[:2]
        assert sorted(order[2:20]) == sorted(ranking[2:20])
        assert sorted(order[20:]) == sorted(ranking[20:])
    assert len(set(map(tuple, tried))) > MOST_ORDERS // 2
    again = list(tried)
    tried.clear()
    assert orders_by_sets(ranking, [(2, 20), (20, 40)], sets, measure) == found
    assert tried == again


@pytest.mark.parametrize(
    ("name", "sets"), [("KiltRprec", ["d40 d20 d50"]), ("KiltSuccess@57", ["d20", "d40", "d50"])]
)
def test_of_too_many_orders_those_of_whole_sets_are_tried(name: str, sets: list[str]) -> None:
    """One of 34,220 orders of three pages among sixty has all of them first, one all of them last."""
    ranking, pages = [f"d{i}" for i in range(60)], [texts.split() for texts in sets]
    found = orders_by_sets(ranking, [(0, 60)], pages, kilt(name))
    assert found is not None
    assert [kilt(name)(order, pages) for order in found] == [1, 0]


@pytest.mark.parametrize(("k", "is_parted"), [(1, False), (2, True), (3, True), (4, False), (9, False)])
def test_ties_that_a_cut_goes_through(k: int, is_parted: bool) -> None:
    """Places 1, 2 and 3, from 0: the second to the fourth document."""
    assert parted([(1, 4)], [k]) == ([(1, 4)] if is_parted else [])
    assert parted([(1, 4)], [k, 2]) == [(1, 4)]
    assert parted([(1, 4)], []) == []


def test_figures_that_are_left_open_and_their_topics() -> None:
    columns = parse_measures(["P@1", "RR", "AP", "NumRet"])
    best = {"P@1": {"1": 1.0, "2": 1.0, "3": 0.0}, "RR": {"1": 0.5, "2": 0.5, "3": 1.0}}
    worst = {"P@1": {"1": 1.0, "2": 0.0, "3": 0.0}, "RR": {"1": 0.5, "2": 0.5, "3": 0.5}}
    last = 0.5 + 1e-12  # rounding is no other value
    best |= {"AP": {"1": last, "2": 0.5}, "NumRet": {"1": 3.0, "2": 2.0}}
    worst |= {"AP": {"1": 0.5, "2": 0.5}, "NumRet": {"1": 1.0, "2": 2.0}}
    (found,) = left_open("run", columns, best, worst)
    assert (found.kind, found.text) == (
        "ties",
        "run: equal scores of 3 topics leave open P@1 (0.3333 to 0.6667), RR (0.5000 to 0.6667), NumRet"
        " (3.0000 to 5.0000); they are put in trec_eval's order, by id from the last: topics 2, 3, 1",
    )
    assert list(left_open("run", columns, worst, worst)) == []
    assert list(left_open("run", columns, {}, {})) == []
    (found,) = left_open("run", columns, {"AP": {"1": 0.5, "2": 0.25}}, {"AP": {"1": 0.499999, "2": 0.25}})
    assert found.text.endswith("topics 1")  # however little it is
    (found,) = left_open("run", columns, worst, best)  # a measure that is lower on what others gain from
    assert "P@1 (0.3333 to 0.6667)" in found.text
