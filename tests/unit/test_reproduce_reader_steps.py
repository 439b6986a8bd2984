"""Readers of a table's runs, its own and that of --reader: which steps they make, and which are refused."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.plan import check_reached, imported, make_plan
from seal_ir.reproduce.readers import read_by, with_readers
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.commands import ROOT
from tests.helpers.tables import ANSWERS, READER, answered, read, row, step, two, write_data, write_table

ANSWERED = 'measures = ["AnswerAccuracy@1"]'


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data", ANSWERS)))


def spec_of(tmp_path: Path, text: str) -> TableSpec:
    return read_spec(write_table(tmp_path, text), tmp_path / "results", Places.from_environment())


def readers_of(tmp_path: Path, text: str, reader: str = "prompt") -> TableSpec:
    """The table's spec, read by one that --reader names."""
    return with_readers(read_by(spec_of(tmp_path, text), reader), tmp_path)


def test_each_run_is_read_once_after_it_is_made(tmp_path: Path) -> None:
    text = answered("somewhere") + row("The good again", 'run = "good.trec"')
    spec = readers_of(tmp_path, text)
    out = tmp_path / "results" / "two" / "two"
    assert [str(step) for step in spec.steps[2:]] == [
        f"python -m seal_ir.read --topics {out / 'topics.tsv'} --run {out / name} --index somewhere"
        f" --reader prompt --output {out / name}.prompt.jsonl"
        for name in ("good.trec", "half.trec")
    ]
    assert [r.predictions["two"].name for r in spec.rows] == [
        *("good.trec.prompt.jsonl", "half.trec.prompt.jsonl", "good.trec.prompt.jsonl")
    ]
    assert make_plan(spec, tmp_path).steps == spec.steps
    assert spec.topics[0].measures == ("AnswerAccuracy@1", "EM")
    assert spec.note == "EM: of the answers read by prompt"


def test_a_tables_own_reader_and_that_of_the_option_are_one_thing(tmp_path: Path) -> None:
    """The same steps, files, measures and note, however the reader was named."""
    of_file = with_readers(spec_of(tmp_path, read("somewhere")), tmp_path)
    given = "--dtype bfloat16 prompt"
    for text in (
        answered("somewhere"),
        read("somewhere"),
        read("somewhere", READER.replace("bfloat16", "auto")),
    ):
        of_option = readers_of(tmp_path, text, given)
        assert (of_option.steps, of_option.topics, of_option.note) == (
            of_file.steps,
            of_file.topics,
            of_file.note,
        )
        assert of_option.rows[0].predictions == of_file.rows[0].predictions
    assert "--reader prompt --dtype bfloat16 --output" in str(of_file.steps[-1])


def test_without_a_reader_nothing_changes(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, answered("somewhere"))
    assert with_readers(spec, tmp_path) == spec


def test_readers_read_the_rows_that_they_name(tmp_path: Path) -> None:
    two_readers = (
        '[[reader]]\nreader = "prompt"\nsystems = ["The g*"]\ntolerance = 3\n'
        '[[reader]]\nreader = "prompt --quote --contexts 2"\nsystems = ["The half"]\n'
    )
    text = (
        read("somewhere", two_readers) + step("third.trec", "good.trec") + row("Third", 'run = "third.trec"')
    )
    spec = with_readers(spec_of(tmp_path, text), tmp_path)
    assert [bool(r.predictions) for r in spec.rows] == [True, True, False]
    assert [r.reader.tolerance if r.reader else None for r in spec.rows] == [3.0, 0.0, None]
    told = "EM: of the answers read by"
    assert spec.note == (
        f"{told} prompt (The good); {told} prompt --contexts 2 --quote (The half)"  # options in their order
    )


@pytest.mark.parametrize(
    "other", ["prompt", "prompt --dtype float16", "prompt --dtype bfloat16 --quote", "prompt-dtype bfloat16"]
)
def test_another_reader_or_setting_has_answers_of_its_own(tmp_path: Path, other: str) -> None:
    names = set()
    for reader in (
        "prompt --dtype bfloat16",
        other.replace("prompt-dtype bfloat16", "prompt-dtype-bfloat16"),
    ):
        names.add(readers_of(tmp_path, answered("x"), reader).rows[0].predictions["two"])
    assert len(names) == 2


def test_a_readers_folder_that_changes_has_answers_of_its_own(tmp_path: Path) -> None:
    (folder := tmp_path / "model").mkdir()
    names = set()
    for text in ("a", "ab"):
        (folder / "config.json").write_text(text, encoding="utf-8")
        names.add(readers_of(tmp_path, answered("x"), str(folder)).rows[0].predictions["two"])
    assert len(names) == 2


def test_a_reader_that_a_step_makes_is_made_before(tmp_path: Path) -> None:
    makes = f'[[step]]\ncommand = "-c pass"\nmakes = ["{tmp_path}/fid/fid.json"]\n'
    text = read("somewhere", f'[[reader]]\nreader = "{tmp_path}/fid"\nsystems = "The half"\n') + makes
    spec = spec_of(tmp_path, text)
    with_steps = with_readers(spec, tmp_path)
    check_reached(with_steps, tmp_path / "two.toml", tmp_path)
    assert [step.makes[0].name for step in make_plan(with_steps, tmp_path).steps][:3] == [
        *("good.trec", "half.trec", "fid.json")
    ]
    (tmp_path / "fid").mkdir()
    for name in ("fid.json", "model.safetensors"):  # which the step writes too, and does not name
        (tmp_path / "fid" / name).write_text("x", encoding="utf-8")
    assert with_readers(spec, tmp_path) == with_steps
    with pytest.raises(InputError, match="no row needs .*fid.json"):
        check_reached(spec, tmp_path / "two.toml", tmp_path)


def test_an_index_that_a_step_makes_is_made_before(tmp_path: Path) -> None:
    made = f'[[step]]\ncommand = "-c pass"\nmakes = ["{tmp_path}/indexes/own/index.json"]\n'
    spec = readers_of(tmp_path, answered("own") + made)
    assert str(tmp_path / "indexes" / "own") in str(spec.steps[-1])
    assert spec.steps[2].makes[0].name == "index.json"
    assert spec.steps[2] in make_plan(spec, tmp_path).steps


def with_sets(text: str, *sections: str) -> str:
    return text.replace("[[step]]", f"{''.join(sections)}[[step]]", 1)


def test_parts_of_a_set_take_the_answers_of_the_whole_and_means_are_taken(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("q1\n", encoding="utf-8")
    part = f'[[topics]]\nname = "part"\nwithin = "two"\nsample = "one.txt"\n{ANSWERED}\n'
    mean = f'[[topics]]\nname = "mean"\nmean_of = ["two", "part"]\n{ANSWERED}\n'
    spec = readers_of(tmp_path, with_sets(answered("somewhere"), part, mean))
    assert [topics.measures[-1] for topics in spec.topics] == ["EM"] * 3
    assert spec.rows[0].predictions["part"] == spec.rows[0].predictions["two"]
    assert len(spec.steps) == 4


def test_a_part_alone_is_read_where_the_whole_has_no_measure_of_answers(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("q1\n", encoding="utf-8")
    part = '[[topics]]\nname = "part"\nwithin = "two"\nsample = "one.txt"\nmeasures = ["EM"]\n'
    text = with_sets(answered("somewhere"), part) + READER
    spec = with_readers(spec_of(tmp_path, text), tmp_path)
    out = tmp_path / "results" / "two"
    assert [r.predictions.keys() for r in spec.rows] == [{"part"}, {"part"}]
    assert f"--topics {out}/part/topics.tsv --run {out}/two/good.trec" in str(spec.steps[2])
    assert spec.rows[0].predictions["part"].parent == out / "part"
    assert len(make_plan(spec, tmp_path).steps) == 4


def test_runs_of_others_are_read_again_when_they_change(tmp_path: Path) -> None:
    run = tmp_path / "their run.trec"
    run.write_text("q1 Q0 d1 1 1 t\n", encoding="utf-8")
    spec = read_by(imported(spec_of(tmp_path, answered("somewhere")), [f"Theirs={run}"]), "some/model")
    outputs = []
    for second in (1, 2):
        os.utime(run, (second, second))
        outputs.append(with_readers(spec, tmp_path).rows[-1].predictions["two"].name)
    assert outputs[0] != outputs[1]
    assert all(name.startswith("their-run.trec.some-model.") for name in outputs)


@pytest.mark.parametrize(
    "record",
    [
        {"qid": "q1", "answer": "Paris"},
        {"id": "q1", "input": "who", "output": [{"answer": "Paris", "provenance": [{"wikipedia_id": "d1"}]}]},
    ],
)
def test_runs_that_bring_answers_keep_them(tmp_path: Path, record: object) -> None:
    run = tmp_path / "theirs.jsonl"
    run.write_text(f"{json.dumps(record)}\n", encoding="utf-8")
    spec = read_by(imported(spec_of(tmp_path, answered("somewhere")), [f"Theirs={run}"]), "prompt")
    assert [bool(r.predictions) for r in with_readers(spec, tmp_path).rows] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "reader", "told"),
    [
        (
            two(head='index = "x"'),
            "prompt",
            "table two: no set has answers to measure EM by; leave out --reader",
        ),
        (
            answered("x").replace('index = "x"', ""),
            "prompt",
            "table two: a reader needs the 'index' of a table",
        ),
        (answered("x"), "--quote", "--reader '--quote': the following arguments are required: reader"),
        (answered("x"), "prompt --seed 3", "--reader 'prompt --seed 3': unrecognized arguments: --seed 3"),
        (answered("x"), "prompt --contexts 0", "--reader 'prompt --contexts 0': --contexts is 0"),
        (answered("x"), "prompt 'x", """--reader "prompt 'x": No closing quotation"""),
    ],
)
def test_readers_that_cannot_read_a_table(tmp_path: Path, text: str, reader: str, told: str) -> None:
    with pytest.raises(UsageError) as error:
        readers_of(tmp_path, text, reader)
    assert str(error.value).startswith(told)


FAULTS = [
    ('reader = "prompt"', "", "[[reader]] 1: 'reader' is missing"),
    ('reader = "prompt"', 'reader = "prompt --fast"', "1: reader is 'prompt --fast': unrecognized arguments"),
    ('reader = "prompt"', 'reader = "prompt --run x"', "1: reader is 'prompt --run x': unrecognized"),
    ('reader = "prompt"', 'reader = "{nowhere}/x"', "unknown placeholder '{nowhere}'"),
    ('reader = "prompt"', 'reader = "prompt"\nsystems = "SEAL*"', "1: 'SEAL*' fits none of the table's"),
    ('reader = "prompt"', 'reader = "prompt"\nname = "x"', "1: unknown key 'name'"),
    ('index = "x"', "", "'index' is missing; a reader takes its passages from there"),
    (', "EM"', "", "no set has EM or F1 as a measure, which [[reader]] is for"),
    (
        "[[reader]]",
        '[[reader]]\nreader = "a"\n[[reader]]',
        "two readers read 'The good'; give each its systems",
    ),
]


@pytest.mark.parametrize(("old", "new", "told"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_a_section_with_a_fault_is_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = read("x", '[[reader]]\nreader = "prompt"\n').replace(old, new, 1)
    with pytest.raises(InputError) as error:
        spec_of(tmp_path, text)
    assert str(error.value).startswith(str(tmp_path / "two.toml"))
    assert told in str(error.value)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    spec = read_by(spec_of(tmp_path, answered("x")), "prompt")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    rows = (replace(spec.rows[0], runs={"two": pipe}),)
    with pytest.raises(UsageError, match="a pipe cannot be read again by a reader's process; give a file"):
        with_readers(replace(spec, rows=rows), tmp_path)


@pytest.mark.parametrize(("name", "n_runs", "sets"), [("demo", 8, 1), ("default", 7, 2), ("nq", 7, 1)])
def test_the_tables_of_this_repository_can_be_read(tmp_path: Path, name: str, n_runs: int, sets: int) -> None:
    """Every row with a run, on every set of its own; the paper's parts of a set take the whole's answers."""
    before = read_spec(ROOT / "eval" / f"{name}.toml", tmp_path, Places.from_environment())
    spec = with_readers(read_by(before, "prompt"), tmp_path)
    assert len(spec.steps) - len(before.steps) == n_runs * sets
    assert all(topics.measures[-1] == "EM" for topics in spec.topics)
    assert all(set(row.predictions) == set(row.runs) for row in spec.rows)
