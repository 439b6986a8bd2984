"""Pseudo-queries: known questions, questions of a tiny model, and above all those that must be left out."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir.baselines.pseudo_queries import __main__ as pseudo_queries
from seal_ir.baselines.pseudo_queries import writing
from seal_ir.baselines.pseudo_queries.choosing import QuestionCounts, kept
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.topics.questions import question_words
from seal_ir.formats.topics.reading import read_topics
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.piping import pipes
from tests.helpers.training import save_bart

RECORDS: list[dict[str, Any]] = [
    {"id": "d1", "title": "Paris", "contents": "Paris\nParis is the capital of France.", "source": "x"},
    {"id": "d2", "contents": "The river that flows through London is the Thames."},
    {
        "id": "d3",
        "title": "Whale",
        "contents": "Whale\nA whale is a mammal.",
        "pseudo_queries": ["Is it a fish?"],
    },
    {"id": "d4", "contents": "Tokyo."},
]
ASKED = [
    "what is the capital of France?",
    "Which river is in London",
    "where is Tokyo",
    "who lives in the sea",
]
TOPICS = "".join(f"{number}\t{question}\n" for number, question in enumerate(ASKED, start=1))
QRELS = "1 0 d1 1\n1 0 d4 0\n2 0 d2 1\n3 0 d4 2\n4 0 d3 1\n4 0 gone 1\nother 0 d1 1\n"
PAIRS: list[dict[str, Any]] = [
    {"question": "What is the capital of France", "positive_ids": ["d1"]},
    {"question": "name a  French city", "positives": ["d1", "d4"]},
    {"question": "?!", "positive_ids": ["d2"]},
]


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines(tmp_path / "docs.jsonl", RECORDS)
    lines(tmp_path / "pairs.jsonl", PAIRS)
    (tmp_path / "topics.tsv").write_text(TOPICS, encoding="utf-8")
    (tmp_path / "qrels.trec").write_text(QRELS, encoding="utf-8")
    # The same words, written otherwise.
    (tmp_path / "test.tsv").write_text(
        "9\tWHERE, is Tokyo?\n10\twhich river - is in london\n", encoding="utf-8"
    )
    (tmp_path / "ids").write_text("d1\nd2\nd4\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny.save_llama(tmp_path_factory.mktemp("model") / "llama")
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(
        json.dumps(config | {"max_position_embeddings": 4096}), encoding="utf-8"
    )
    return folder


def make(call: Runner, folder: Path, *words: object) -> Result:
    always = ["--input", folder / "docs.jsonl", "--output", folder / "out.jsonl"]
    return call(pseudo_queries.main, *always, *words)


def questions(folder: Path) -> dict[str, list[str]]:
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    for record, given in zip(records, RECORDS, strict=True):
        assert record == {**given, "pseudo_queries": record["pseudo_queries"]}
    return {record["id"]: record["pseudo_queries"] for record in records}


def figures(result: Result) -> dict[str, int]:
    pairs = (line.split(": ") for line in result.err.splitlines() if ": " in line)
    return {name: int(number) for name, number in pairs if number.isdigit()}


def test_known_questions(call: Runner, folder: Path) -> None:
    judged = ["--judged", folder / "topics.tsv", folder / "qrels.trec"]
    result = make(call, folder, *judged, "--pairs", folder / "pairs.jsonl", "--exclude", folder / "test.tsv")
    assert (result.code, result.out) == (0, f"{folder / 'out.jsonl'}\n"), result.err
    assert questions(folder) == {
        "d1": ["what is the capital of France?", "name a French city"],
        "d2": [],
        "d3": ["Is it a fish?", "who lives in the sea"],
        "d4": ["name a French city"],
    }
    assert figures(result) == {
        "known_questions": 9,
        "not_in_collection": 1,
        "written": 0,
        "excluded_questions": 2,
        "excluded": 2,
        "repeated": 2,
        "pseudo_queries": 5,
        "documents": 4,
        "documents_with_pseudo_queries": 3,
    }
    assert "leak" not in result.err


def test_questions_behind_the_text(call: Runner, folder: Path) -> None:
    """As doc2query has them; title and text stay what they were read as, and other fields stay."""
    judged = ["--judged", folder / "topics.tsv", folder / "qrels.trec", "--exclude", folder / "test.tsv"]
    assert make(call, folder, *judged, "--as-text").code == 0
    before, after = (list(Collection("JsonCollection", folder / f"{name}.jsonl")) for name in ("docs", "out"))
    asked = [["what is the capital of France?"], [], ["Is it a fish?", "who lives in the sea"], []]
    for old, new, texts in zip(before, after, asked, strict=True):
        assert new == old._replace(text="\n".join([old.text, *texts]))
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    assert records[0]["source"] == "x"
    assert not any("contents" in record or "pseudo_queries" in record for record in records)


@pytest.mark.parametrize("how", ["fifo", "fd"])
def test_known_questions_from_pipes_to_stdout(call: Runner, folder: Path, how: str) -> None:
    names = ["topics.tsv", "qrels.trec", "pairs.jsonl", "test.tsv", "docs.jsonl"]
    assert make(call, folder, "--judged", *[folder / name for name in names[:2]], "--pairs",
                folder / names[2], "--exclude", folder / names[3]).code == 0  # fmt: skip
    with pipes(folder) as piped:
        topics, qrels, pairs, test, documents = (
            piped((folder / name).read_bytes() + b"\n" * 70_000, how) for name in names
        )
        result = call(pseudo_queries.main, "--judged", topics, qrels, "--pairs", pairs, "--exclude", test,
                      "--input", documents, "--output", "-")  # fmt: skip
    assert result.code == 0, result.err
    assert result.out == (folder / "out.jsonl").read_text(encoding="utf-8")


def test_without_exclusions_there_is_a_warning(call: Runner, folder: Path) -> None:
    result = make(call, folder, "--judged", folder / "topics.tsv", folder / "qrels.trec")
    assert result.code == 0
    assert "no --exclude: questions of a test set among these would leak into the index" in result.err
    assert questions(folder)["d4"] == ["where is Tokyo"]


def test_questions_that_a_record_has_are_excluded_too(call: Runner, folder: Path) -> None:
    (folder / "test.tsv").write_text("1\tis it a fish\n", encoding="utf-8")
    result = make(call, folder, "--pairs", folder / "pairs.jsonl", "--exclude", folder / "test.tsv")
    assert questions(folder)["d3"] == []
    assert figures(result)["excluded_questions"] == 1


@pytest.mark.slow
def test_questions_of_a_model(call: Runner, folder: Path, model: Path) -> None:
    words = ["--model", model, "--include-ids", folder / "ids", "--per-document", 12]
    result = make(call, folder, *words, "--exclude", folder / "test.tsv")
    assert result.code == 0, result.err
    found = questions(folder)
    n_written = figures(result)["written"]
    assert 0 < n_written < 36
    assert f"{36 - n_written} of 36 questions came to no end and are left out" in result.err
    assert sum(map(len, found.values())) == n_written + 1 - figures(result)["repeated"]
    assert found["d3"] == ["Is it a fish?"]  # not asked for
    # The same again; in other batches, and for a part of the documents.
    (folder / "ids").write_text("d2\nd4\n", encoding="utf-8")
    assert make(call, folder, *words, "--batch-size", 5).code == 0
    again = questions(folder)
    assert (again["d1"], again["d2"], again["d4"]) == ([], found["d2"], found["d4"])
    assert make(call, folder, *words, "--seed", 1).code == 0
    assert questions(folder)["d4"] != found["d4"]
    # What a model writes may be a test question as well.
    text = found["d4"][0]
    (folder / "test.tsv").write_text(f"1\t{text.upper()}!\n", encoding="utf-8")
    result = make(call, folder, *words, "--exclude", folder / "test.tsv")
    assert text not in questions(folder)["d4"]
    assert figures(result)["excluded_questions"] == 1


@pytest.mark.slow
def test_passages_that_are_cut_are_told_in_one_line(call: Runner, folder: Path, model: Path) -> None:
    lines(folder / "docs.jsonl", [RECORDS[0], {"id": "d2", "contents": "whale " * 9000}])
    words = ["--model", model, "--include-ids", folder / "ids", "--per-document", 2, "--batch-size", 1]
    result = make(call, folder, *words, "--pairs", folder / "pairs.jsonl")
    assert result.code == 0, result.err
    (told,) = [line for line in result.err.splitlines() if "cut" in line]
    assert re.fullmatch(r"1 of 2 passages were longer than \d+ tokens and were cut: documents d2", told)
    assert int(told.split()[7]) < 4096


def test_both_sources(call: Runner, folder: Path, model: Path) -> None:
    (folder / "ids").write_text("d4\nunknown\n", encoding="utf-8")
    words = ["--model", model, "--include-ids", folder / "ids", "--per-document", 12]
    result = make(call, folder, *words, "--pairs", folder / "pairs.jsonl")
    assert result.code == 0, result.err
    assert "1 of 2 ids of --include-ids are not in the collection" in result.err
    found = questions(folder)
    assert found["d4"][0] == "name a French city"
    assert len(found["d4"]) > 1


@pytest.fixture
def faulty(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, which is the working directory, with files of questions that have faults."""
    for name, records in (
        ("elsewhere", [{"question": "q", "positive_ids": ["z"]}]),
        ("no-ids", [{"question": "q"}]),
        ("no-question", [{"positive_ids": ["d1"]}]),
        ("odd", [{**RECORDS[0], "pseudo_queries": ["a", 1]}]),
    ):
        lines(folder / f"{name}.jsonl", records)
    (folder / "dpr.json").write_text('[{"question": "q", "positive_ctxs": []}]', encoding="utf-8")
    (folder / "none.trec").write_text("77 0 d1 1\n", encoding="utf-8")
    (folder / "absent-ids").write_text("z\n", encoding="utf-8")
    (folder / "all.tsv").write_text(
        "1\twhat is the capital of france\n2\tname a french city\n", encoding="utf-8"
    )
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        ("", 2, ["no source of questions; give --judged, --pairs or --model"]),
        ("--model MODEL", 2, ["--model needs --include-ids"]),
        ("--pairs pairs.jsonl --include-ids ids", 2, ["--include-ids is for --model"]),
        ("MODEL_WRITES --per-document 0", 2, ["--per-document is 0; it must be at least 1"]),
        ("MODEL_WRITES --batch-size 0", 2, ["--batch-size is 0"]),
        ("MODEL_WRITES --seed -1", 2, ["--seed is -1"]),
        ("MODEL_WRITES --dtype int3", 2, ["dtype is 'int3'"]),
        ("--pairs pairs.jsonl --output out.jsonl.bz2", 2, ["written plain or as gzip"]),
        ("--pairs pairs.jsonl --exclude missing.tsv", 1, ["missing.tsv", "no such file"]),
        ("--judged topics.tsv missing.trec", 1, ["missing.trec", "no such file"]),
        ("--judged topics.tsv nothing", 2, ["no such file, and none belong to topics of that name"]),
        ("--judged topics.tsv none.trec", 1, ["none.trec: none of its topics are in"]),
        ("--pairs dpr.json", 1, ["dpr.json: a JSON array; write JSON lines"]),
        ("--pairs no-ids.jsonl", 1, ['no-ids.jsonl:1: "positive_ids" is None; it must be a list']),
        ("--pairs no-question.jsonl", 1, ["no-question.jsonl:1: no question"]),
        ("--pairs elsewhere.jsonl", 1, ["has none of the 1 questions' passages, such as 'z'"]),
        ("--pairs pairs.jsonl --input odd.jsonl", 1, ["document d1:", "it must be a list of strings"]),
        ("--pairs pairs.jsonl --exclude all.tsv", 1, ["every question is excluded, or none was written"]),
        ("--model MODEL --include-ids absent-ids", 1, ["none of its 1 ids is in"]),
        (
            "--model BART --include-ids ids",
            1,
            ["questions are written by a causal model that continues a text, or by one that was trained"],
        ),
        ("--model ./nowhere/x --include-ids ids", 1, ["no such model folder"]),
    ],
)
def test_faults(call: Runner, faulty: Path, model: Path, words: str, code: int, parts: list[str]) -> None:
    if "BART" in words:
        save_bart(faulty / "bart")
    words = words.replace("MODEL_WRITES", "--model MODEL --include-ids ids")
    words = words.replace("MODEL", str(model)).replace("BART", str(faulty / "bart"))
    assert_fault(make(call, faulty, *words.split()), code, *parts)
    assert not list(faulty.glob("*out*"))


def test_kept() -> None:
    counts = QuestionCounts()
    assert kept(["A b?", " a  B", "c\nd", "", "e"], frozenset({"e"}), counts) == ["A b?", "c d"]
    assert kept(["E!", "é"], frozenset({"e"}), counts) == ["é"]
    assert counts == QuestionCounts(2, 2, 3, repeated=2, excluded=2, excluded_words={"e"})


@pytest.mark.slow
def test_draws_follow_the_ten_likeliest() -> None:
    n = 20_000
    scores = torch.randn(1, 40, generator=torch.Generator().manual_seed(0)).repeat(n, 1)
    drawn = writing._Draws(range(n))(torch.zeros(n, 1), scores).argmax(dim=1)
    shares = torch.bincount(drawn, minlength=40) / n
    best = scores[0].topk(10)
    expected = torch.zeros(40).scatter(0, best.indices, torch.softmax(best.values, 0))
    assert (shares - expected).abs().max() < 0.015
    assert shares[expected == 0].sum() == 0


@pytest.mark.data
@pytest.mark.skipif(not os.environ.get("SEAL_IR_DATA"), reason="needs SEAL_IR_DATA")
def test_the_examples_are_no_questions_of_the_data() -> None:
    asked = {question_words(question) for _, _, question in writing._EXAMPLES}
    topics = Path(os.environ["SEAL_IR_DATA"]) / "topics"
    for path in sorted(topics.glob("*.tsv")):
        assert not asked & {question_words(query.text) for query in read_topics(path)}, path
