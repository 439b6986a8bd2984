"""Runs of a table that are read after their search, by its `[[reader]]` or by --reader, and EM of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.eval.answer_measures import exact_match
from seal_ir.read.predictions import iter_predictions
from seal_ir.reproduce.__main__ import main
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.tables import ANSWERS, answered, arguments, read, write_data


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data", ANSWERS)))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capfd)


def write_answers(path: Path, *answers: str) -> None:
    lines = [json.dumps({"qid": f"q{i}", "answer": said}) for i, said in enumerate(answers, start=1)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def shown(out: str) -> dict[str, list[str]]:
    """The cells of each row of a printed table."""
    lines = [line for line in out.splitlines() if line.startswith("The ")]
    return {line[:8]: line[8:].split() for line in lines}


def test_figures_are_not_recorded_with_another_reader(call: Runner, tmp_path: Path, tiny_index: Path) -> None:
    done = call(main, *arguments(tmp_path, answered(tiny_index), "--reader", "prompt", "--record"))
    assert_fault(done, 2, "--record does not go with --reader")


@pytest.mark.slow
def test_em_is_measured_of_what_was_read(
    call: Runner, tmp_path: Path, tiny_index: Path, long_llama: Path
) -> None:
    """Steps are processes of their own, which load a model of random weights: it says something, no more."""
    text = read(tiny_index, f'[[reader]]\nreader = "{long_llama} --batch-size 2"\n')
    done = call(main, *arguments(tmp_path, text))
    assert done.code == 0, done.err
    assert done.err.count("$ python -m seal_ir.read") == 2
    assert "EM: of the answers read by" in done.out
    rows = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))["rows"]
    found = {r["system"]: r["value"] for r in rows if r["measure"] == "EM"}
    golds = {"q1": ["Paris"], "q2": ["London"]}
    for system, name in (("The good", "good"), ("The half", "half")):
        (path,) = (tmp_path / "results" / "two" / "two").glob(f"{name}.trec.*.jsonl")
        about = json.loads(path.with_name(f"{path.name}.config.json").read_text(encoding="utf-8"))
        assert (about["model"], about["batch_size"]) == (str(long_llama), 2)
        said = list(iter_predictions(path))
        assert all(prediction.answer.text for prediction in said)
        values = [exact_match(prediction.answer.text, golds[prediction.qid]) for prediction in said]
        assert found[system] == sum(values) / 2
    again = call(main, *arguments(tmp_path, text))
    assert "$ python" not in again.err
    changed = call(main, *arguments(tmp_path, text.replace("--batch-size 2", "--batch-size 1")))
    assert changed.err.count("$ python -m seal_ir.read") == 2
    assert (
        "$ python"
        not in call(main, *arguments(tmp_path, text, "--reader", f"{long_llama} --batch-size 2")).err
    )


@pytest.fixture
def answers(call: Runner, tmp_path: Path, tiny_index: Path) -> Path:
    """Runs that were made, and what a reader answered: the folder of both."""
    out = tmp_path / "results" / "two" / "two"
    assert call(main, *arguments(tmp_path, answered(tiny_index))).code == 0
    for name, said in (("good", ["paris!", "London"]), ("half", ["Paris", "Tokyo"])):
        write_answers(out / f"{name}.trec.prompt.jsonl", *said)
    return out


def test_figures_are_those_of_the_answers(
    call: Runner, tmp_path: Path, tiny_index: Path, answers: Path
) -> None:
    done = call(main, *arguments(tmp_path, answered(tiny_index), "--reader", "prompt"))
    assert done.code == 0, done.err
    assert "$ python" not in done.err
    assert {system: cells[-1] for system, cells in shown(done.out).items()} == {
        **{"The good": "1.000", "The half": "0.500"}
    }


def test_rows_that_nothing_reads_are_blank(
    call: Runner, tmp_path: Path, tiny_index: Path, answers: Path
) -> None:
    """Also beside a baseline that has answers, and in every form; the rest of their figures stands."""
    text = read(tiny_index, '[[reader]]\nreader = "prompt"\nsystems = "The good"\n')
    text = f'baseline = "The good"\n{text}'
    done = call(main, *arguments(tmp_path, text, "--format", "markdown"))
    assert done.code == 0, done.err
    assert "| The good | 1.000 | 1.000 |\n| The half | 0.500 |  |\n" in done.out
    assert "AnswerAccuracy" not in done.out
    rows = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))["rows"]
    found = {(r["system"], r["measure"]): r for r in rows}
    assert ("The half", "EM") not in found
    assert found["The half", "AnswerAccuracy@1"]["baseline"] == "The good"
    answered_em = found["The good", "EM"]
    assert answered_em["run"].endswith("good.trec.prompt.jsonl")
    assert answered_em["command"].startswith("python -m seal_ir.read ")
    deltas = (answers / "deltas.tsv").read_text(encoding="utf-8")
    assert "AnswerAccuracy@1" in deltas
    assert "EM" not in deltas


def test_a_baseline_without_answers_is_compared_on_the_rest(
    call: Runner, tmp_path: Path, tiny_index: Path, answers: Path
) -> None:
    text = read(tiny_index, '[[reader]]\nreader = "prompt"\nsystems = "The half"\n')
    done = call(main, *arguments(tmp_path, f'baseline = "The good"\n{text}'))
    assert done.code == 0, done.err
    assert shown(done.out) == {"The good": ["1.000"], "The half": ["0.500", "0.500"]}


def test_a_reader_that_is_not_here_leaves_its_column_blank(
    call: Runner, tmp_path: Path, tiny_index: Path
) -> None:
    need = '[need.fid]\nwhat = "a reader"\nfile = "{cache}/fid"\nget = "train it"\n'
    text = read(tiny_index, '[[reader]]\nreader = "{cache}/fid"\nneeds = "fid"\n') + need
    done = call(main, *arguments(tmp_path, text))
    assert done.code == 0, done.err
    assert shown(done.out) == {"The good": ["1.000"], "The half": ["0.500"]}
    assert "# not made here: The good, The half: a reader\n# a reader: train it\n" in done.out


def test_answers_that_another_system_wrote_stand_beside_those_that_were_read(
    call: Runner, tmp_path: Path, tiny_index: Path, answers: Path
) -> None:
    """They have no ranking, so that the other measures are blank."""
    write_answers(tmp_path / "theirs.jsonl", "Paris", "London")
    text = read(tiny_index, '[[reader]]\nreader = "prompt"\nsystems = "The half"\n')
    done = call(main, *arguments(tmp_path, text, "--run", f"The FiD={tmp_path / 'theirs.jsonl'}"))
    assert done.code == 0, done.err
    assert shown(done.out)["The FiD "] == ["1.000"]


def test_a_run_without_answers_is_told_where_no_reader_is(
    call: Runner, tmp_path: Path, tiny_index: Path
) -> None:
    done = call(main, *arguments(tmp_path, answered(tiny_index, '"EM"')))
    assert_fault(done, 2, "a run without answers, which EM needs; give --predictions")


def test_recorded_figures_of_answers_have_the_readers_tolerance(
    call: Runner, tmp_path: Path, tiny_index: Path, answers: Path
) -> None:
    reader = '[[reader]]\nreader = "prompt"\ntolerance = {}\n'
    text = read(tiny_index, reader.format(50)).replace(
        'run = "half.trec"\n', 'run = "half.trec"\nmeasured = { "AnswerAccuracy@1" = 50, "EM" = 100 }\n'
    )
    assert call(main, *arguments(tmp_path, text)).code == 0
    drifted = call(main, *arguments(tmp_path, text.replace("tolerance = 50", "tolerance = 1")))
    assert drifted.code == 1
    assert "The half, two, EM: recorded 100, measured 50, tolerance 1\n" in drifted.err
    other = call(
        main, *arguments(tmp_path, text.replace("tolerance = 50", "tolerance = 1"), "--reader", "prompt")
    )
    assert other.code == 0  # recorded is what the table's own reader answered
