"""Question generators: trained from pairs turned round, and asked for pseudo-queries as they were trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.baselines.pseudo_queries import __main__ as pseudo_queries
from seal_ir.decode.prompts import make_prompt
from seal_ir.text.description import QUESTION, passage_source, read_description
from seal_ir.train.__main__ import main
from seal_ir.train.data.dataset import load_dataset
from seal_ir.train.data.examples import Example, ExampleOptions, pair_examples
from seal_ir.train.data.pairs import SUPERVISED, Pair
from tests.helpers import tiny, training
from tests.helpers.commands import Result, Runner, assert_fault

FAST = ("--tokens", 500, "--max-tokens", 200, "--lr", "5e-3", "--warmup", 5, "--clip", 1)
PROMPTS = {"causal": "passage: {query}\nquestion:", "seq2seq": "{query} || question || +"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ten places, and four questions of each."""
    folder = tmp_path_factory.mktemp("questions")
    documents = [{"id": d.id, "title": d.title, "contents": d.text} for d in training.DOCUMENTS]
    pairs = [{"question": q, "positive_ids": [d.id]} for q, d in training.questions()]
    for name, records in (("corpus", documents), ("pairs", pairs)):
        text = "".join(f"{json.dumps(record)}\n" for record in records)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "ids").write_text("p0\np1\n", encoding="utf-8")
    return folder


def make(call: Runner, folder: Path, output: Path, *options: object) -> Result:
    sources = ("--pairs", folder / "pairs.jsonl", "--input", folder / "corpus.jsonl")
    return call(main, "data", *sources, "--output", output, *options)


def test_a_passage_is_asked_for_its_question() -> None:
    options = ExampleOptions(spans=1, titles=1, questions=2)
    pair = Pair("who", " A  title ", "A text\nof two  lines.", SUPERVISED)
    found = pair_examples(pair, options, np.random.default_rng(0))
    source = "A title\nA text of two lines."
    assert [example for example in found if example.field == QUESTION] == [
        Example(source, "who", QUESTION, SUPERVISED)
    ] * 2
    without = pair_examples(pair, ExampleOptions(spans=1, titles=1), np.random.default_rng(0))
    assert found[: len(without)] == without
    assert passage_source("", "b") == "b"


def test_a_set_of_questions_only(call: Runner, folder: Path, tmp_path: Path) -> None:
    result = make(call, folder, tmp_path, "--questions", 1, "--spans", 0, "--titles", 0)
    assert result.code == 0, result.err
    assert "examples, supervised question: 40" in result.err.splitlines()
    rows = [dict(row) for row in load_dataset(tmp_path)]
    assert [(row["source"], row["target"]) for row in rows] == [
        (passage_source(document.title, document.text), question)
        for question, document in training.questions()
    ]
    settings = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))
    assert (settings["fields"], settings["options"]["questions"]) == ([QUESTION], 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--questions", -1], "questions is -1; it must be at least 0"),
        (["--questions", 1, "--fields", "question"], "--questions and --fields question have one name"),
    ],
)
def test_faults(call: Runner, folder: Path, tmp_path: Path, options: list[object], told: str) -> None:
    assert_fault(make(call, folder, tmp_path / "set", *options), 2, told)
    assert not (tmp_path / "set").exists()


def test_questions_of_pairs_that_are_all_excluded(call: Runner, folder: Path, tmp_path: Path) -> None:
    asked = "".join(f"{n}\t{question}\n" for n, (question, _) in enumerate(training.questions()))
    (tmp_path / "test.tsv").write_text(asked, encoding="utf-8")
    options = ["--questions", 1, "--exclude", tmp_path / "test.tsv"]
    result = make(call, folder, tmp_path / "set", *options)
    assert_fault(result, 1, "the sources gave no value of the field 'question'")


@pytest.mark.slow
@pytest.mark.parametrize("family", ["causal", "seq2seq"])
def test_it_is_asked_as_it_was_trained(
    call: Runner, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """Prompt and passage are those of training. What it asks is no matter of seconds on random weights."""
    data, model, out = tmp_path / "set", tmp_path / "model", tmp_path / "out.jsonl"
    start = (
        tiny.save_llama(tmp_path / "llama") if family == "causal" else training.save_bart(tmp_path / "bart")
    )
    assert make(call, folder, data, "--questions", 1, "--spans", 0, "--titles", 0).code == 0
    fitted = call(main, "fit", "--data", data, "--output", model, "--model", start, "--steps", 60, *FAST)
    assert fitted.code == 0, fitted.err
    assert dict(read_description(model / "seal.json").fields) == {QUESTION: PROMPTS[family]}
    read: list[Any] = []

    def noted(generator: Any, template: str, text: str, reserved: int) -> Any:
        read.append((template, text))
        return make_prompt(generator, template, text, reserved)

    monkeypatch.setattr("seal_ir.baselines.pseudo_queries.writing.make_prompt", noted)
    words = ["--input", folder / "corpus.jsonl", "--output", out, "--exclude", "demo"]
    words += ["--model", model, "--include-ids", folder / "ids", "--per-document", 20]
    result = call(pseudo_queries.main, *words)
    assert result.code == 0, result.err
    passages = [passage_source(document.title, document.text) for document in training.DOCUMENTS[:2]]
    assert read == [(PROMPTS[family], passage) for passage in passages]
    first, second, *others = (json.loads(line) for line in out.read_text("utf-8").splitlines())
    assert not any(record["pseudo_queries"] for record in others)
    written = [*first["pseudo_queries"], *second["pseudo_queries"]]
    assert written
    assert all(text == " ".join(text.split()) for text in written)
