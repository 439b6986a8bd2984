"""`python -m seal_ir.reproduce --reader`: each run is read after its search, and EM joins the measures."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.answer_measures import exact_match
from seal_ir.formats.io.resolve import Places
from seal_ir.read.predictions import iter_predictions
from seal_ir.reproduce.__main__ import main
from seal_ir.reproduce.plan import imported, make_plan
from seal_ir.reproduce.readers import with_reader
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.commands import ROOT, Runner, assert_fault
from tests.helpers.tables import arguments, row, two, write_data, write_table

ANSWERED = 'measures = ["AnswerAccuracy@1"]'


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_data(tmp_path / "data")
    (data / "answers" / "two.jsonl").write_text(
        '{"qid": "q1", "answers": ["Paris"]}\n{"qid": "q2", "answers": ["London"]}\n', encoding="utf-8"
    )
    monkeypatch.setenv("SEAL_IR_DATA", str(data))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capfd)


def answered(index: object, topics: str = "") -> str:
    """The table of two runs, with answers as its measure."""
    return two(head=f'index = "{index}"', topics=topics).replace(
        '["Success@1", "Rprec"]', '["AnswerAccuracy@1"]'
    )


def spec_of(tmp_path: Path, text: str) -> TableSpec:
    return read_spec(write_table(tmp_path, text), tmp_path / "results", Places.from_environment())


def test_each_run_is_read_once_after_it_is_made(tmp_path: Path) -> None:
    text = answered("somewhere") + row("The good again", 'run = "good.trec"')
    spec = with_reader(spec_of(tmp_path, text), "prompt", tmp_path)
    out = tmp_path / "results" / "two" / "two"
    assert [str(step) for step in spec.steps[2:]] == [
        f"python -m seal_ir.read --topics {out / 'topics.tsv'} --run {out / name} --index somewhere"
        f" --reader prompt --output {out / name}.prompt.jsonl"
        for name in ("good.trec", "half.trec")
    ]
    assert [r.predictions["two"].name for r in spec.rows] == [
        *("good.trec.prompt.jsonl", "half.trec.prompt.jsonl", "good.trec.prompt.jsonl")
    ]
    plan = make_plan(spec, tmp_path)
    assert plan.steps == spec.steps
    assert spec.topics[0].measures == ("AnswerAccuracy@1", "EM")
    assert spec.note == "EM: exact match of the answers read by prompt"


def test_without_a_reader_nothing_changes(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, answered("somewhere"))
    assert not any(r.predictions for r in spec.rows)
    assert spec.topics[0].measures == ("AnswerAccuracy@1",)


def test_an_index_that_a_step_makes_is_made_before(tmp_path: Path) -> None:
    made = f'[[step]]\ncommand = "-c pass"\nmakes = ["{tmp_path}/indexes/own/index.json"]\n'
    spec = with_reader(spec_of(tmp_path, answered("own") + made), "prompt", tmp_path)
    assert str(tmp_path / "indexes" / "own") in str(spec.steps[-1])
    assert spec.steps[2].makes[0].name == "index.json"
    assert spec.steps[2] in make_plan(spec, tmp_path).steps


def test_parts_of_a_set_take_the_answers_of_the_whole_and_means_are_taken(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("q1\n", encoding="utf-8")
    more = (
        f'[[topics]]\nname = "part"\nwithin = "two"\nsample = "one.txt"\n{ANSWERED}\n'
        f'[[topics]]\nname = "mean"\nmean_of = ["two", "part"]\n{ANSWERED}\n'
    )
    text = answered("somewhere").replace("[[step]]", f"{more}[[step]]", 1)
    spec = with_reader(spec_of(tmp_path, text), "prompt", tmp_path)
    assert [topics.measures[-1] for topics in spec.topics] == ["EM"] * 3
    assert spec.rows[0].predictions["part"] == spec.rows[0].predictions["two"]
    assert len(spec.steps) == 4


def test_runs_of_others_are_read_again_when_they_change(tmp_path: Path) -> None:
    run = tmp_path / "their run.trec"
    run.write_text("q1 Q0 d1 1 1 t\n", encoding="utf-8")
    spec = imported(spec_of(tmp_path, answered("somewhere")), [f"Theirs={run}"])
    outputs = []
    for second in (1, 2):
        os.utime(run, (second, second))
        outputs.append(with_reader(spec, "some/model", tmp_path).rows[-1].predictions["two"].name)
    assert outputs[0] != outputs[1]
    assert all(name.startswith("their-run.trec.") for name in outputs)
    assert all(name.endswith(".some-model.jsonl") for name in outputs)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (two(head='index = "x"'), "table two: no set has answers to measure EM by; leave out --reader"),
        (answered("x").replace('index = "x"', ""), "table two: a reader needs the 'index' of a table"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        with_reader(spec_of(tmp_path, text), "prompt", tmp_path)
    assert str(error.value).startswith(told)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, answered("x"))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    rows = (replace(spec.rows[0], runs={"two": pipe}),)
    with pytest.raises(UsageError, match="a pipe cannot be read again by --reader's process; give a file"):
        with_reader(replace(spec, rows=rows), "prompt", tmp_path)


def test_figures_are_not_recorded_with_a_reader(call: Runner, tmp_path: Path, tiny_index: Path) -> None:
    done = call(main, *arguments(tmp_path, answered(tiny_index), "--reader", "prompt", "--record"))
    assert_fault(done, 2, "--record does not go with --reader")


@pytest.mark.slow
def test_em_is_measured_of_what_was_read(
    call: Runner, tmp_path: Path, tiny_index: Path, long_llama: Path
) -> None:
    """Steps are processes of their own, which load a model of random weights: it says something, no more."""
    done = call(main, *arguments(tmp_path, answered(tiny_index), "--reader", long_llama))
    assert done.code == 0, done.err
    assert done.err.count("$ python -m seal_ir.read") == 2
    assert "EM: exact match of the answers read by" in done.out
    rows = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))["rows"]
    found = {r["system"]: r["value"] for r in rows if r["measure"] == "EM"}
    golds = {"q1": ["Paris"], "q2": ["London"]}
    for system, name in (("The good", "good"), ("The half", "half")):
        (path,) = (tmp_path / "results" / "two" / "two").glob(f"{name}.trec.*.jsonl")
        said = list(iter_predictions(path))
        assert all(prediction.answer.text for prediction in said)
        values = [exact_match(prediction.answer.text, golds[prediction.qid]) for prediction in said]
        assert found[system] == sum(values) / 2
    again = call(main, *arguments(tmp_path, answered(tiny_index), "--reader", long_llama))
    assert "$ python" not in again.err
    without = call(main, *arguments(tmp_path, answered(tiny_index)))
    assert "EM" not in without.out


def test_figures_are_those_of_the_answers(
    call: Runner, tmp_path: Path, tiny_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same without a model: the steps are done, their answers are there."""
    out = tmp_path / "results" / "two" / "two"
    text = answered(tiny_index)
    assert call(main, *arguments(tmp_path, text)).code == 0
    for name, answers in (("good", ["paris!", "London"]), ("half", ["Paris", "Tokyo"])):
        lines = [json.dumps({"qid": f"q{i}", "answer": said}) for i, said in enumerate(answers, start=1)]
        (out / f"{name}.trec.prompt.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = call(main, *arguments(tmp_path, text, "--reader", "prompt"))
    assert done.code == 0, done.err
    assert "$ python" not in done.err
    shown = {
        line.split("  ")[0]: line.split()[-1] for line in done.out.splitlines() if line.startswith("The")
    }
    assert shown == {"The good": "1.000", "The half": "0.500"}


@pytest.mark.parametrize(("name", "n_runs", "sets"), [("demo", 8, 1), ("default", 7, 2), ("nq", 7, 1)])
def test_the_tables_of_this_repository_can_be_read(tmp_path: Path, name: str, n_runs: int, sets: int) -> None:
    """Every row with a run, on every set of its own; the paper's parts of a set take the whole's answers."""
    before = read_spec(ROOT / "eval" / f"{name}.toml", tmp_path, Places.from_environment())
    spec = with_reader(before, "prompt", tmp_path)
    assert len(spec.steps) - len(before.steps) == n_runs * sets
    assert all(topics.measures[-1] == "EM" for topics in spec.topics)
    assert all(set(row.predictions) == set(row.runs) for row in spec.rows)
