"""`python -m seal_ir.convert run`: runs of any system in every format, with the texts of their passages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.convert.__main__ import main
from seal_ir.formats.runs.others import read_ranked
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.passages import loaded

QUESTIONS = {"a": "which mountain", "b": "which [START_ENT] river [END_ENT]", "c": "nothing"}
RUN = "b Q0 d2 1 9.5 t\na Q0 d3#0 1 3.5 t\na Q0 d1 2 1.5 t\nelse Q0 d1 1 1 t\n"
RANKINGS = {"a": [("d3#0", 3.5), ("d1", 1.5)], "b": [("d2", 9.5)]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run, its topics with answers, and its collection."""
    corpus = [{"id": d.id, "title": d.title, "text": d.text} for d in tiny.DOCUMENTS]
    topics = [{"id": qid, "question": text, "answers": [qid]} for qid, text in QUESTIONS.items()]
    points = [{"id": qid, "input": text} for qid, text in QUESTIONS.items()]
    for name, records in (("corpus", corpus), ("topics", topics), ("kilt", points)):
        text = "".join(f"{json.dumps(record)}\n" for record in records)
        (tmp_path / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (tmp_path / "run.trec").write_text(RUN, encoding="utf-8")
    return tmp_path


def convert(call: Runner, folder: Path, name: str, *more: object, run: str = "run.trec") -> Result:
    words = ["--run", folder / run, "--output", folder / f"out.{name}", "--output-format", name]
    return call(main, "run", *words, *more)


@pytest.mark.parametrize("name", PASSAGE_FORMATS)
def test_there_and_back(call: Runner, folder: Path, name: str) -> None:
    topics = ["--topics", folder / "topics.jsonl"]
    result = convert(call, folder, name, *topics, "--input", folder / "corpus.jsonl")
    assert result.code == 0, result.err
    assert "3 topics, 1 of them without results; 1 topics of the run are left out\n" in result.err
    run = read_ranked(folder / f"out.{name}", QUESTIONS)
    assert run.rankings == {**RANKINGS, "c": []}
    texts = {document.id: (document.title, document.text) for document in tiny.DOCUMENTS}
    assert run.texts == {docid: texts[docid] for docid in ("d3#0", "d1", "d2")}
    back = convert(call, folder, "trec", *topics, "--tag", "back", run=f"out.{name}")
    assert back.code == 0, back.err
    lines = (folder / "out.trec").read_text(encoding="utf-8").splitlines()
    assert lines == [
        "a Q0 d3#0 1 3.500000 back",
        "a Q0 d1 2 1.500000 back",
        "b Q0 d2 1 9.500000 back",
    ]
    for other in PASSAGE_FORMATS:  # from one into every other one, without the collection
        assert convert(call, folder, other, *topics, run=f"out.{name}").code == 0
        assert read_ranked(folder / f"out.{other}", QUESTIONS) == run


def test_answers_are_there_and_keys_are_not(call: Runner, folder: Path) -> None:
    more = ["--topics", folder / "topics.jsonl", "--input", folder / "corpus.jsonl"]
    assert convert(call, folder, "dpr", *more).code == 0
    first = loaded(folder / "out.dpr", "dpr")[0]
    assert first["answers"] == ["a"]
    assert [(context["keys"], "has_answer" in context) for context in first["ctxs"]] == [([], False)] * 2


def test_kilts_datapoints_repeat_their_inputs(call: Runner, folder: Path) -> None:
    assert convert(call, folder, "kilt", "--topics", folder / "kilt.jsonl").code == 0
    points = [json.loads(line) for line in (folder / "out.kilt").read_text(encoding="utf-8").splitlines()]
    assert [point["input"] for point in points] == list(QUESTIONS.values())
    assert [len(point["output"][0]["provenance"]) for point in points] == [2, 1, 0]


def test_without_topics_those_of_the_run_are_written(call: Runner, folder: Path) -> None:
    result = convert(call, folder, "msmarco")
    assert result.code == 0, result.err
    assert (folder / "out.msmarco").read_text() == "b\td2\t1\na\td3#0\t1\na\td1\t2\nelse\td1\t1\n"


@pytest.mark.parametrize(
    ("name", "more", "code", "told"),
    [
        ("dpr", [], 2, "--output-format dpr holds the questions; give --topics"),
        ("kilt", [], 2, "--output-format kilt holds the questions; give --topics"),
        (
            "dpr",
            ["--topics", "topics.jsonl"],
            1,
            "3 of its passages, such as 'd3#0', have no text there; name",
        ),
        (
            "dpr",
            ["--topics", "topics.jsonl", "--input", "one.jsonl"],
            1,
            "2 of its passages, such as 'd3#0', have no text there; nor in one.jsonl",
        ),
        ("dpr", ["--topics", "nowhere.tsv"], 1, "no such file"),
        ("trec", ["--tag", "two words"], 2, "run tag is 'two words'"),
    ],
)
def test_what_is_refused(
    call: Runner,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    more: list[str],
    code: int,
    told: str,
) -> None:
    monkeypatch.chdir(folder)
    (folder / "one.jsonl").write_text('{"id": "d1", "text": "x"}\n', encoding="utf-8")
    assert_fault(convert(call, folder, name, *more), code, told)
    assert not list(folder.glob("*out*"))
