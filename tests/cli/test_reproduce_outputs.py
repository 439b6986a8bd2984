"""Rows of other systems, whose own output files are taken where they are there (`import`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.__main__ import main
from seal_ir.reproduce.reading import read_spec
from tests.helpers.commands import ROOT, Result, Runner, assert_fault
from tests.helpers.tables import arguments, row, step, two, write_data

IMPORT = 'import = "{data}/others/{set}.json"'


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = write_data(tmp_path / "data")
    monkeypatch.setenv("SEAL_IR_DATA", str(folder))
    (folder / "others").mkdir()
    return folder


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Runner:
    """Steps are processes of their own, which write to the real stderr."""
    return Runner(monkeypatch, capfd)


def dpr(path: Path, **docids: str) -> None:
    """DPR's output: for each question one passage, whose text is an answer where its id is d1."""
    topics = [
        {"question": question, "ctxs": [{"id": docid, "text": f"the {docid} text", "score": "1"}]}
        for question, docid in docids.items()
    ]
    path.write_text(json.dumps(topics), encoding="utf-8")


def cells(done: Result, system: str) -> list[str]:
    """What stands in a system's line of the table."""
    assert done.code == 0, done.err
    return next(line for line in done.out.splitlines() if line.startswith(system))[len(system) :].split()


def test_a_file_that_is_there_is_a_row_and_one_that_is_not_a_sentence(
    call: Runner, tmp_path: Path, data: Path
) -> None:
    text = two() + row("DPR", f'{IMPORT}\nget = "ask its authors"\npublished = {{ "Rprec" = 80.1 }}')
    done = call(main, *arguments(tmp_path, text))
    assert "DPR" in done.out
    assert cells(done, "DPR") == ["0.801"]
    lacks = f"# not made here: DPR: its output as {data}/others/SET.json (docs/others.md)\n"
    assert lacks in done.out
    assert f"# its output as {data}/others/SET.json (docs/others.md): ask its authors\n" in done.out
    dpr(data / "others" / "two.json", who="d1", where="d2")
    done = call(main, *arguments(tmp_path, text))
    assert cells(done, "DPR") == ["1.000", "1.000", "0.801"]
    assert "not made here" not in done.out
    rows = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))["rows"]
    found = next(found for found in rows if (found["system"], found["measure"]) == ("DPR", "Rprec"))
    assert (found["value"], found["published"]) == (1.0, pytest.approx(0.801))


def test_answers_are_looked_for_in_its_own_texts_without_the_index(
    call: Runner, tmp_path: Path, data: Path
) -> None:
    """The index of the table, and the step that would make it, are not needed."""
    index = step("index.json", "good.trec", 'needs = ["no_such_package"]').replace("{out}", "{here}/none")
    head = 'title = "Own texts"\nindex = "{here}/none"\n'
    sets = '[[topics]]\nname = "two"\nmeasures = ["AnswerAccuracy@1"]\n'
    text = head + sets + index + row("DPR", IMPORT)
    (data / "answers" / "two.jsonl").write_text(
        '{"qid": "q1", "answers": ["d1"]}\n{"qid": "q2", "answers": ["d1"]}\n', encoding="utf-8"
    )
    dpr(data / "others" / "two.json", who="d1", where="d2")
    assert cells(call(main, *arguments(tmp_path, text)), "DPR") == ["0.500"]


def test_it_is_taken_instead_of_a_run_of_ours(call: Runner, tmp_path: Path, data: Path) -> None:
    """Then no step is done for it, and what is recorded is of the other run. One of --run is taken first."""
    text = two().replace('run = "half.trec"', f'run = "half.trec"\n{IMPORT}\nmeasured = {{ "Rprec" = 50 }}')
    done = call(main, *arguments(tmp_path, text))
    assert (cells(done, "The half "), done.err.count("$ python")) == (["0.500", "0.500"], 2)
    dpr(data / "others" / "two.json", who="d1", where="d2")
    done = call(main, *arguments(tmp_path, text, "--fresh"))
    assert (cells(done, "The half "), done.err.count("$ python")) == (["1.000", "1.000"], 1)
    half = data / "half.trec"
    done = call(main, *arguments(tmp_path, text, "--run", f"The half={half}"))
    assert cells(done, "The half ") == ["0.500", "0.500"]


def test_what_is_missing_and_what_would_do_instead(call: Runner, tmp_path: Path, data: Path) -> None:
    text = two() + row("X", f'missing = "a dream"\n{IMPORT}')
    done = call(main, *arguments(tmp_path, text))
    told = f"# not made here: X: a dream; or its output as {data}/others/SET.json (docs/others.md)\n"
    assert told in done.out
    dpr(data / "others" / "two.json", who="d1", where="d1")
    done = call(main, *arguments(tmp_path, text))
    assert cells(done, "X") == ["0.500", "0.500"]
    assert "a dream" not in done.out


def test_sets_that_it_has_no_file_for_are_named(call: Runner, tmp_path: Path, data: Path) -> None:
    text = two() + '[[topics]]\nname = "six"\nmeasures = ["Rprec"]\n' + row("X", IMPORT)
    text = text.replace("[[step]]", '[[step]]\nfor = ["two"]')
    (data / "others" / "six.json").write_text((data / "all.trec").read_text(), encoding="utf-8")
    done = call(main, *arguments(tmp_path, text))
    assert cells(done, "X") == ["1.000"]
    assert "# not made here: X (two): its output as" in done.out


def test_parts_of_a_set_have_its_file_and_their_own_needs(call: Runner, tmp_path: Path, data: Path) -> None:
    part = '[[topics]]\nname = "part"\nwithin = "two"\nsample = "part.txt"\nneeds = ["ids"]\n'
    part += 'measures = ["Rprec"]\n'
    need = '[need.ids]\nwhat = "which questions"\nfile = "{here}/part.txt"\n'
    text = two() + part + need + row("X", IMPORT)
    dpr(data / "others" / "two.json", who="d1", where="d1")
    done = call(main, *arguments(tmp_path, text))
    assert cells(done, "X") == ["0.500", "0.500"]
    assert "X (part): which questions" in done.out
    (tmp_path / "part.txt").write_text("q2\n", encoding="utf-8")
    done = call(main, *arguments(tmp_path, text))
    assert [line.split() for line in done.out.splitlines() if line.startswith("X ")][-1] == ["X", "0.000"]


def test_files_of_a_set_that_are_not_there_are_told(call: Runner, tmp_path: Path, data: Path) -> None:
    """Not what its steps need besides, such as a package."""
    need = '[need.gold]\nwhat = "the gold file"\nfile = "{data}/topics/two.tsv"\nget = "wget it"\n'
    text = two(topics='needs = ["gold", "no_such_package"]') + need + row("X", IMPORT)
    dpr(data / "others" / "two.json", who="d1", where="d1")
    done = call(main, *arguments(tmp_path, text, "--systems", "X"))
    assert cells(done, "X") == ["0.500", "0.500"]
    (data / "topics" / "two.tsv").unlink()
    done = call(main, *arguments(tmp_path, text, "--systems", "X"))
    assert_fault(done, 1, "not made here: X: the gold file; the gold file: wget it")


def kilt(qid: str, answer: str, *pages: str) -> dict[str, Any]:
    output = {"answer": answer, "provenance": [{"wikipedia_id": page} for page in pages]}
    return {"id": qid, "input": qid, "output": [output]}


def test_predictions_in_kilts_format_are_both_answers_and_pages(
    call: Runner, tmp_path: Path, data: Path
) -> None:
    def write(name: str, *records: dict[str, Any]) -> None:
        (data / name).write_text("".join(f"{json.dumps(r)}\n" for r in records), encoding="utf-8")

    write("gold.jsonl", kilt("q1", "Paris", "7"), kilt("q2", "Rome", "8"))
    write("others/dev.json", kilt("q1", "the paris", "7"), kilt("q2", "rome", "9"))
    gold = "".join(f'{key} = "{{data}}/gold.jsonl"\n' for key in ("topics", "answers", "qrels"))
    sets = f'[[topics]]\nname = "dev"\n{gold}measures = ["EM", "KiltEM", "KiltRprec"]\n'
    text = f'title = "KILT"\n{sets}' + row("RAG", IMPORT)
    assert cells(call(main, *arguments(tmp_path, text)), "RAG") == ["1.000", "0.500", "0.500"]


def test_a_file_that_cannot_be_read_is_told(call: Runner, tmp_path: Path, data: Path) -> None:
    (data / "others" / "two.json").write_text('[{"question": "who"}]', encoding="utf-8")
    text = two(topics="").replace("[[step]]", "[[step]]") + row("X", IMPORT)
    done = call(main, *arguments(tmp_path, text))
    assert done.code == 1
    assert "two.json:1: no list of passages (its keys: 'question')" in done.err.splitlines()[-1]
    (data / "others" / "two.json").unlink()
    only = call(main, *arguments(tmp_path, text, "--systems", "X"))
    assert_fault(only, 1, "nothing to show; not made here: X: its output as")


@pytest.mark.parametrize("name", ["nq", "nq320k", "kilt", "downstream"])
def test_each_system_of_the_papers_tables_is_measured_or_taken_from_a_file(tmp_path: Path, name: str) -> None:
    """And the page of others' outputs names that file, or its folder beside that of another row."""
    told = (ROOT / "docs" / "others.md").read_text(encoding="utf-8")
    spec = read_spec(ROOT / "eval" / f"{name}.toml", tmp_path, Places.from_environment())
    for line in spec.rows:
        assert (line.runs or line.outputs) and not line.missing, line.system
        for path in line.outputs.values():
            folder = path.parent.name
            called = [f"others/{folder}/{path.name}`", f"/{folder}/SET{path.suffix}`", f"`{folder}`"]
            assert any(words in told for words in called), path
