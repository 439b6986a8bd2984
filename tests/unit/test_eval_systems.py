"""Several systems in one table: what each is measured with, and what the table keeps of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.answers import TOKENS
from seal_ir.eval.evaluation import evaluate
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage

QUESTIONS = Questions("t", ["1", "2", "3"], {"1": ["yes"], "3": ["no"]}, {"1": {"a": 1}, "2": {"b": 1}})
BOTH = parse_measures(["P@1", "AnswerAccuracy@1"])
TEXTS = {"a": "yes", "x": "no"}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.trec"
    path.write_text("1 Q0 a 1 1 t\n2 Q0 x 1 1 t\n", encoding="utf-8")
    return path


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A run that brings its texts."""
    path = tmp_path / "own.jsonl"
    texts = {"1": "yes", "2": "yes", "3": "no"}
    records = [
        {"id": qid, "question": f"asks {qid}", "ctxs": [{"id": f"x{qid}", "text": text, "score": 1}]}
        for qid, text in texts.items()
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def test_a_table_keeps_what_each_system_has(run: Path, own: Path) -> None:
    table = evaluate([own, run], QUESTIONS, BOTH, lambda docids: {d: TEXTS[d] for d in docids if d in TEXTS})
    first, second = table.results
    assert (first.system, first.path, second.system, second.path) == ("own", own, "run", run)
    assert first.in_run == {"1", "2", "3"}
    assert first.coverage == Coverage(3, 2, 3, 2, 0, 0)
    assert first.values == {"P@1": {"1": 0, "2": 0}, "AnswerAccuracy@1": {"1": 1, "2": 0, "3": 1}}
    assert second.in_run == {"1", "2"}
    assert second.coverage == Coverage(3, 2, 2, 2, 1, 0)
    assert second.figures == {"P@1": 0.5, "AnswerAccuracy@1": 1 / 3}
    assert (table.matching, table.columns, table.delimiter) == (TOKENS.name, tuple(BOTH), None)
    assert evaluate([run], QUESTIONS, BOTH[:1]).matching is None


def test_runs_that_all_bring_their_texts_need_no_others(run: Path, own: Path) -> None:
    (result,) = evaluate([own], QUESTIONS, BOTH).results
    assert result.figures == {"P@1": 0, "AnswerAccuracy@1": 2 / 3}
    for paths in ([own, run], [run], []):
        with pytest.raises(UsageError) as told:
            evaluate(paths, QUESTIONS, BOTH)
        assert str(told.value) == (
            "AnswerAccuracy@1 needs the passages; name them with --index, or with --collection and --input"
        )


@pytest.mark.parametrize(
    ("name", "lacking", "message"),
    [
        ("AnswerAccuracy@1", {"answers": None}, "AnswerAccuracy@1 needs answers; name them with --answers"),
        ("EM", {"golds": None}, "EM needs answers; name them with --answers"),
        (
            "KiltEM",
            {"golds": {"1": ["x"]}},
            "KiltEM needs KILT's gold file, with its sets of pages, as --qrels",
        ),
        ("KiltEM", {"evidence": {"1": [["a"]]}}, "KiltEM needs answers; name them with --answers"),
    ],
)
def test_each_measure_is_looked_at(run: Path, name: str, lacking: dict[str, object], message: str) -> None:
    """Behind one that has all it needs too."""
    values = {"answers": QUESTIONS.answers, "qrels": QUESTIONS.qrels, **lacking}
    questions = Questions("t", ["1"], **values)  # type: ignore[arg-type]
    with pytest.raises(UsageError) as told:
        evaluate([run], questions, parse_measures(["P@1", name]), lambda docids: {})
    assert str(told.value) == message


def test_no_system_is_dropped_for_want_of_predictions(run: Path) -> None:
    with pytest.raises(ValueError, match="zip"):
        evaluate([run, run], QUESTIONS, BOTH[:1], predictions=[None])


def test_runs_of_others_are_told_apart_by_what_is_asked(own: Path) -> None:
    """They number topics in their own way."""
    questions = Questions("t", ["a", "b"], None, {"a": {"x2": 1}, "b": {"x3": 1}})
    questions = replace(questions, asked={"a": "asks 2", "b": "asks 3"})
    assert evaluate([own], questions, BOTH[:1]).results[0].figures == {"P@1": 1.0}


def test_ties_behind_the_first_right_passage_leave_no_accuracy_open(tmp_path: Path) -> None:
    run = tmp_path / "run.trec"
    run.write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 2 t\n1 Q0 d 4 1 t\n", encoding="utf-8")
    columns = parse_measures(["AnswerAccuracy@1", "AnswerAccuracy@2"])
    for right, figures in (("a", (1, 1)), ("d", (0, 0))):
        texts = {docid: "yes" if docid == right else "no" for docid in "abcd"}
        table = evaluate([run], Questions("t", ["1"], {"1": ["yes"]}), columns, lambda _, its=texts: its)
        assert tuple(table.results[0].figures.values()) == figures
        assert table.findings == ()
