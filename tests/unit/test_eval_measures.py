"""Names of measures, and their values on the worked examples of docs/eval.md."""

from __future__ import annotations

import re

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.answer_measures import answer_measure
from seal_ir.eval.measures import (
    aggregate,
    judged_values,
    need_answers,
    need_passages,
    need_qrels,
    parse_measures,
)


def values(name: str, qrels: dict[str, dict[str, int]], rankings: dict[str, list[str]]) -> dict[str, float]:
    (column,) = parse_measures([name])
    return judged_values(column, qrels, rankings)


def figure(name: str, qrels: dict[str, dict[str, int]], rankings: dict[str, list[str]]) -> float:
    (column,) = parse_measures([name])
    return aggregate(column, judged_values(column, qrels, rankings).values())


def test_notation_comes_back() -> None:
    names = ["AnswerAccuracy@20", "Success@1", "Rprec", "RR", "RR@10", "nDCG@10", "P(rel=2)@5", "R@100", "AP"]
    columns = parse_measures([*names, "Success@1", "MRR@10"])
    assert [column.name for column in columns] == names
    assert [column.label for column in columns][:2] == ["accuracy@20", "Success@1"]
    assert [column.cutoff for column in columns][:2] == [20, None]
    plain, credited = parse_measures(["EM", "KiltF1"])
    assert (plain.label, plain.written) == ("EM", answer_measure("EM"))
    assert (credited.label, credited.written) == ("KILT-F1", answer_measure("KiltF1"))


@pytest.mark.parametrize(
    ("name", "judged", "by_sets", "ranked", "depth", "needs"),
    [
        ("AP", True, False, True, 0, "qrels"),
        ("nDCG@10", True, False, True, 10, "qrels"),
        ("IPrec@1.0", True, False, True, 0, "qrels"),
        ("AnswerAccuracy@20", False, False, True, 20, "answers passages"),
        ("KiltRprec", True, True, True, 0, "qrels"),
        ("KiltP@5", True, True, True, 5, "qrels"),
        ("F1", False, False, False, 0, "answers"),
        ("KiltF1", False, True, True, 0, "answers qrels"),
    ],
)
def test_what_a_measure_looks_at(
    name: str, judged: bool, by_sets: bool, ranked: bool, depth: int, needs: str
) -> None:
    (column,) = columns = parse_measures([name])
    assert (column.judged, column.by_sets, column.ranked, column.depth) == (judged, by_sets, ranked, depth)
    needed = {"answers": need_answers, "passages": need_passages, "qrels": need_qrels}
    assert [kind for kind, need in needed.items() if need(columns)] == needs.split()
    assert [kind for kind, need in needed.items() if need([])] == []


def test_all_bad_names_are_told_together() -> None:
    with pytest.raises(UsageError) as caught:
        parse_measures(["Success@1", "Foo", "P@k", "nDCG@0", "Foo"])
    assert re.fullmatch(
        r"--measures: 'Foo': measure not found: Foo; see https://ir-measur\.es for names;"
        r" 'P@k': (?:(?!https).)+; 'nDCG@0': cutoff is 0; it must be a whole number from 1",
        str(caught.value),
    )


SHARE = "for the share of topics with an answer in the top k write"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Accuracy@5", f"that is another measure in ir_measures; {SHARE} AnswerAccuracy@5$"),
        ("Accuracy(rel=2)@5", "that is another measure in ir_measures; for"),
        ("accuracy@20", f"{SHARE} AnswerAccuracy@20$"),
        ("AnswerAccuracy", "write AnswerAccuracy@k"),
        ("AnswerAccuracy@0", r"write AnswerAccuracy@k \(from 1\)$"),
        ("acc_05", "write AnswerAccuracy@5$"),
        ("hits@10", "hits@k is Success@10 here"),
        ("HIT_07", "hits@k is Success@7 here"),
        ("hits@0", r"hits@k is Success@k \(from 1\) here"),
        ("gm_map", "this measure of trec_eval's cannot be computed here; leave it out$"),
        ("P_5x", "measure not found"),
        ("success.0", "cutoff is 0"),
        ("ndcg_cut.-1", "measure not found|invalid|problem"),
        ("Success", "cutoff is missing$"),
        ("RR@1.5", "cutoff"),
        ("P@True", "cutoff is True"),
        ("P(rel=0)@5", "rel is 0"),
        ("IPrec@1.5", "recall is 1.5; it must lie in 0 to 1$"),
        ("nDCG(gains={1:1.5})@1", "integer"),
        ("Rprec@3", "unsupported params"),
        ("", "multiple expressions"),
    ],
)
def test_names_that_are_refused(name: str, hint: str) -> None:
    with pytest.raises(UsageError, match=rf"^--measures: {re.escape(repr(name))}: .*\b(?:{hint})"):
        parse_measures([name])


TREC_EVAL_NAMES = {
    "map": "AP",
    "map_cut.100": "AP@100",
    "ndcg": "nDCG",
    "ndcg_cut.10": "nDCG@10",
    "ndcg_cut_10": "nDCG@10",
    "recall.100": "R@100",
    "recall_100": "R@100",
    "success.5": "Success@5",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "P_10": "P@10",
    "P.5,10": "P@5 P@10",
    "success": "Success@1 Success@5 Success@10",
    "iprec_at_recall_0.10": "IPrec@0.1",
    "set_F.0.5": "SetF(beta=0.5)",
    "num_rel_ret": "NumRet(rel=1)",
}


@pytest.mark.parametrize(("name", "ours"), TREC_EVAL_NAMES.items())
def test_i15_trec_evals_names_are_accepted(name: str, ours: str) -> None:
    assert [column.name for column in parse_measures([name])] == ours.split()


def test_a_measure_by_two_names_is_one_column() -> None:
    assert [column.name for column in parse_measures(["map", "AP", "P.5,10", "P@10"])] == [
        "AP",
        "P@5",
        "P@10",
    ]


def test_trec_evals_groups_leave_stdout_alone(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    names = [column.name for column in parse_measures(["official"])]
    assert {"AP", "Rprec", "Bpref", "RR", "P@5"} <= set(names)
    assert capsys.readouterr().out == ""
    assert [message[:48] for message in caplog.messages] == [
        "--measures official: skipped ['gm_map']: measure"
    ]


def test_b1_topics_without_results_count() -> None:
    qrels, rankings = {"1": {"a": 1}, "2": {"b": 1}}, {"1": ["a"]}
    for name in ("Success@1", "Rprec", "RR", "RR@10", "nDCG@10", "AP", "P@1", "R@10", "Judged@10"):
        assert values(name, qrels, rankings) == {"1": 1, "2": 0}
        assert figure(name, qrels, rankings) == 0.5


def test_b5_recall_hits_and_precision_are_three_things() -> None:
    qrels, rankings = {"1": dict.fromkeys("abcd", 1)}, {"1": ["a", "x", "b", "c"]}
    expected = {
        "R@2": 0.25,
        "Success@2": 1,
        "P@2": 0.5,
        "Rprec": 0.75,
        "AP": 0.6042,
        "RR": 1,
        "nDCG@4": 0.7537,
    }
    assert {name: round(figure(name, qrels, rankings), 4) for name in expected} == expected


def test_b9_evaluating_twice_gives_the_same() -> None:
    qrels, rankings = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}, {"1": ["b", "a"], "2": ["c"]}
    columns = parse_measures(["nDCG@10", "RR@10", "Judged@2", "SetF(beta=0.5)", "NumRet"])
    first, second = (
        [aggregate(c, judged_values(c, qrels, rankings).values()) for c in columns] for _ in range(2)
    )
    assert first == second
    assert first[:3] == pytest.approx([0.8155, 0.75, 1.0], abs=1e-4)
    assert first[-1] == 3  # a count: summed, not averaged


def test_counts_of_judgements_count_topics_without_results_too() -> None:
    """As with trec_eval's -c: what was judged does not depend on the run."""
    qrels = {"1": {"a": 1, "b": 2, "c": 0}, "2": {"b": 1, "d": -1}}
    for rankings in ({}, {"1": ["a"]}, {"1": ["a"], "2": ["b"]}):
        assert (figure("num_q", qrels, rankings), figure("num_rel", qrels, rankings)) == (2, 3)


def test_topics_without_relevant_documents_and_unjudged_topics() -> None:
    qrels, rankings = {"1": {"a": 1}, "2": {"b": 0}}, {"1": ["a"], "2": ["b"], "9": ["a"]}
    assert values("Success@1", qrels, rankings) == {"1": 1, "2": 0}
