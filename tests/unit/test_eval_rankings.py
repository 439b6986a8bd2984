"""What is read of a run, and of a system's answers, before anything is measured."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.rankings import Coverage, Retrieved, cover, read_rankings, read_retrieved, system_names
from seal_ir.eval.systems import System, check_answers, read_system

RUN = Path("some.run")
RANKINGS = {"1": ["a", "b"], "2": ["c"], "9": ["a"]}


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def others(path: Path, *ids: str) -> Path:
    """A run of others, which brings its texts; its scores are all equal."""
    contexts = [{"id": docid, "title": "T", "text": f"text of {docid}", "score": 1} for docid in "ab"]
    return lines(path, *({"id": qid, "question": f"asks {qid}", "ctxs": contexts} for qid in ids))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("coverage", "shown"),
    [
        (
            Coverage(5, 4, 3, 2, 1, 0),
            "5 topics, 3 in run, 2 missing; 4 judged, 2 in run, 2 missing; missing counts as 0; no run topics"
            " unknown",
        ),
        (
            Coverage(5, None, 3, None, None, 7),
            "5 topics, 3 in run, 2 missing; missing counts as 0; 7 run topics unknown",
        ),
    ],
)
def test_coverage_in_words(coverage: Coverage, shown: str) -> None:
    assert str(coverage) == shown


@pytest.mark.parametrize(
    ("topics", "qrels", "expected"),
    [
        (["1", "2", "3"], None, Coverage(3, None, 2, None, None, 1)),
        (["1", "3"], {"2": {"c": 1, "x": 1}, "1": {"a": 0, "b": 2}}, Coverage(2, 2, 1, 2, 2, 1)),
        (["1"], {"3": {"x": 1}, "1": {"c": 1}}, Coverage(1, 2, 1, 1, 0, 2)),
        (["1"], {"9": {"a": 1}}, Coverage(1, 1, 1, 1, 1, 1)),
    ],
)
def test_what_of_a_run_is_measured(
    topics: list[str], qrels: dict[str, dict[str, int]] | None, expected: Coverage
) -> None:
    for answers in (True, False):
        assert cover(RUN, RANKINGS, topics, qrels, answers=answers) == expected


def test_runs_of_other_topics_are_refused() -> None:
    ids = "(they are like '7', the run's like '1'); the ids must be equal"
    with pytest.raises(InputError) as told:
        cover(RUN, RANKINGS, ["7", "8"], None, answers=True)
    assert str(told.value) == f"some.run: 0 of 2 topics in run {ids}"
    with pytest.raises(InputError) as told:
        cover(RUN, RANKINGS, ["1"], {"7": {"a": 1}}, answers=False)
    assert str(told.value) == f"some.run: 0 of 1 judged topics in run {ids}"
    # Where no answers are looked for, topics need not be in the run as long as judged ones are.
    assert cover(RUN, RANKINGS, ["7"], {"1": {"a": 1}}, answers=False).in_run == 0
    assert cover(RUN, {}, ["7"], {"1": {"a": 1}}, answers=True) == Coverage(1, 1, 0, 0, 0, 0)


def test_a_run_with_its_ties_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    """Scores are equal where they are in single precision, as trec_eval reads them."""
    run = written(
        tmp_path / "run",
        "1 Q0 a#1 2 2 t\n1 Q0 b#1 1 2.00000001 t\n1 Q0 a#2 3 1 t\n1 Q0 c#1 4 1 t\n"
        "2 Q0 a#1 2 9 t\n2 Q0 c#1 1 8 t\n",
    )
    told = "ranks of 1 topics contradict their scores; scores count, the highest first: topics 2"
    found = read_retrieved(run)
    assert found == Retrieved(
        rankings={"1": ["b#1", "a#1", "c#1", "a#2"], "2": ["a#1", "c#1"]},
        ties={"1": [(0, 2), (2, 4)]},
        docids=frozenset({"a#1", "a#2", "b#1", "c#1"}),
        told=[f"{run}: {told}"],
    )
    pages = read_retrieved(run, "#")
    assert (pages.rankings, pages.ties) == ({"1": ["b", "a", "c"], "2": ["a", "c"]}, {"1": [(0, 2)]})
    assert pages.docids == found.docids
    assert read_rankings(run) == found.rankings
    assert read_rankings(run, "#") == pages.rankings


def test_a_run_of_others_brings_texts_and_has_an_order_of_its_own(tmp_path: Path) -> None:
    run = others(tmp_path / "run.json", "x", "y")
    assert read_retrieved(run) == Retrieved(
        rankings={"x": ["a", "b"], "y": ["a", "b"]},
        docids=frozenset("ab"),
        bodies={"a": "text of a", "b": "text of b"},
        told=[],
    )
    assert read_retrieved(run, None, {"1": "asks y", "2": "asks x"}).rankings.keys() == {"1", "2"}


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["x/demo.lm.trec", "b.trec.gz", "c.txt", ".trec"], ["demo.lm", "b", "c", ".trec"]),
        (["x/a.trec", "y/a.trec", "b.run.zst"], ["x/a.trec", "y/a.trec", "b"]),
        (["a.jsonl.xz", "b.json.bz2", "c.tsv.gz", "d.doc"], ["a", "b", "c", "d.doc"]),
        (["a.gz.trec", "run.gz"], ["a.gz", "run"]),
    ],
)
def test_names_of_systems(paths: list[str], names: list[str]) -> None:
    assert system_names([Path(path) for path in paths]) == names


KILT = {"id": "1", "input": "?", "output": [{"answer": "in it", "provenance": [{"wikipedia_id": "7"}]}]}
ANSWERS = {"qid": "2", "question": "?", "answer": "beside it"}


@pytest.fixture
def files(tmp_path: Path) -> Mapping[str, Path]:
    """Runs with and without answers, and answers alone."""
    return {
        "trec": written(tmp_path / "run.trec", "1 Q0 7#1 1 1 t\n"),
        "kilt": lines(tmp_path / "kilt.jsonl", KILT),
        "answers": lines(tmp_path / "answers.jsonl", ANSWERS),
    }


@pytest.mark.parametrize(
    ("measures", "run", "predictions", "rankings", "answers"),
    [
        (["P@1"], "trec", None, {"1": ["7"]}, {}),
        (["P@1"], "kilt", None, {"1": ["7"]}, {}),
        (["P@1"], "kilt", "answers", {"1": ["7"]}, {}),  # no measure looks at the answers
        (["EM", "P@1"], "kilt", None, {"1": ["7"]}, {"1": "in it"}),
        (["EM", "P@1"], "kilt", "answers", {"1": ["7"]}, {"2": "beside it"}),
        (["EM", "KiltEM"], "trec", "answers", {"1": ["7"]}, {"2": "beside it"}),
        (["EM"], "answers", None, {}, {"2": "beside it"}),
        (["EM"], "trec", "answers", {}, {"2": "beside it"}),  # no measure looks at the ranking
        (["EM", "F1"], "kilt", "kilt", {}, {"1": "in it"}),
    ],
)
def test_what_measures_need_of_a_system(
    files: Mapping[str, Path],
    measures: list[str],
    run: str,
    predictions: str | None,
    rankings: dict[str, list[str]],
    answers: dict[str, str],
) -> None:
    beside = None if predictions is None else files[predictions]
    system = read_system(files[run], beside, parse_measures(measures), "#")
    assert (system.rankings, system.answers) == (rankings, answers)
    assert system.topics == rankings.keys() | answers.keys()


def test_a_system_is_read_by_the_questions_that_are_asked(tmp_path: Path) -> None:
    run = others(tmp_path / "run.json", "x")
    system = read_system(run, None, parse_measures(["P@1"]), None, {"1": "asks x"})
    assert system == System(read_retrieved(run, None, {"1": "asks x"}), {})
    assert system.rankings == {"1": ["a", "b"]}


def test_systems_that_lack_what_measures_need(files: Mapping[str, Path]) -> None:
    with pytest.raises(UsageError) as told:
        read_system(files["answers"], None, parse_measures(["EM", "KiltEM", "P@1"]))
    assert str(told.value) == (
        f"{files['answers']}: answers without a ranking, which KiltEM needs; give the run as --run and these"
        " as --predictions"
    )
    with pytest.raises(UsageError) as told:
        read_system(files["trec"], None, parse_measures(["P@1", "F1", "EM"]))
    assert str(told.value) == f"{files['trec']}: a run without answers, which F1 needs; give --predictions"


def test_answers_to_other_questions_are_refused() -> None:
    check_answers(RUN, {}, ["1", "2"])
    check_answers(RUN, {"x": "?", "2": "?"}, ["1", "2"])
    with pytest.raises(InputError) as told:
        check_answers(RUN, {"x": "?", "y": "?"}, ["1", "2"])
    assert str(told.value) == (
        "some.run: 0 of 2 topics have an answer here (they are like '1', those here like 'x'); the ids must"
        " be equal"
    )
