"""Expanded questions of a tiny model: their files, that GAR's command searches them, how texts are cut."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from seal_ir.baselines.expansions import __main__ as expansions
from seal_ir.baselines.expansions.texts import ExpansionConfig, sentence_of, titles_of
from seal_ir.baselines.expansions.writing import expand
from seal_ir.baselines.gar import __main__ as gar_command
from seal_ir.baselines.gar import searching
from seal_ir.baselines.gar.expanded import read_expanded
from seal_ir.baselines.generating import load_writer
from seal_ir.errors import UsageError
from seal_ir.formats.runs.trec import read_run
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Hit, Query
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.training import save_bart

TOPICS = [
    "which river flows through London",
    "whale",
    "",
    "Where is\u2028Paris?",
    "capital of  Japan " * 150,
    "Tokyo",
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny.save_llama(folder / "llama")
    save_bart(folder / "bart")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = (json.dumps({"id": f"q{n}", "question": text}) for n, text in enumerate(TOPICS))
    (tmp_path / "topics.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return tmp_path


def make(call: Runner, folder: Path, model: Path, *more: object) -> Result:
    words: list[object] = ["--topics", folder / "topics.jsonl", "--output", folder / "new" / "out"]
    return call(expansions.main, *words, "--model", model, "--device", "cpu", *more)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "bart"])
def test_command(
    call: Runner, folder: Path, models: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = make(call, folder, models / name)
    paths = [folder / "new" / f"out.{kind}.tsv" for kind in ("sentences", "titles")]
    assert (result.code, result.out) == (0, "".join(f"{path}\n" for path in paths)), result.err
    limit = {"llama": 472, "bart": 241}[name]  # the shorter of what the two prompts leave
    assert f"1 of 6 queries were longer than {limit} tokens and were cut: topics q4\n" in result.err
    topics = read_topics(folder / "topics.jsonl")
    sentences, titles = (read_expanded(path, topics) for path in paths)  # which checks that they fit
    assert all(
        len(one.text.split()) >= len(topic.text.split()) for one, topic in zip(titles, topics, strict=True)
    )
    # The tiny BART has nothing to say.
    assert name == "bart" or any(
        len(one.text) > len(topic.text) + 20 for one, topic in zip(sentences, topics, strict=True)
    )
    about = json.loads((folder / "new" / "out.config.json").read_text("utf-8"))
    assert (about["model"], about["dtype"], about["n_topics"]) == (str(models / name), "float32", 6)
    assert {path.name for path in (folder / "new").iterdir()} == {
        *(path.name for path in paths),
        "out.config.json",
    }
    before = [path.read_bytes() for path in paths]
    assert make(call, folder, models / name, "--batch-size", 2).code == 0
    assert [path.read_bytes() for path in paths] == before
    _search_with_gar(call, folder, paths, monkeypatch)


def _search_with_gar(call: Runner, folder: Path, paths: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """GAR's command takes the files: with a stand-in for Lucene, as there may be none."""
    asked: list[str] = []

    def fake(lucene: Path, topics: Sequence[Query], config: Any) -> Iterator[tuple[Query, list[Hit]]]:
        for topic in topics:
            asked.append(topic.text)
            yield topic, [Hit("d1", 2.0), Hit("d2", 1.0)]

    monkeypatch.setattr(searching, "search", fake)
    monkeypatch.setattr(gar_command, "check_installed", lambda: None)
    monkeypatch.setattr(gar_command, "prepare_lucene", lambda args: None)
    words: list[object] = ["--lucene", folder / "lucene", "--topics", folder / "topics.jsonl"]
    result = call(gar_command.main, *words, "--output", folder / "gar.trec", "--expansions", *paths)
    assert result.code == 0, result.err
    assert list(read_run(folder / "gar.trec")) == [f"q{n}" for n in range(len(TOPICS))]
    assert len(asked) == 2 * len(TOPICS)


def test_what_is_written(models: Path) -> None:
    """The sentence is the model's likeliest continuation of its own body prompt, token by token."""
    writer = load_writer(str(models / "llama"), device="cpu")
    topic = Query("1", "which river flows through London")
    (found,) = expand(writer, [topic], ExpansionConfig(sentence_tokens=9))
    tokens = writer.generator.tokenizer.encode(f"words: {topic.text} :")
    prompt = [*writer.generator.tokenizer.affixes[0], *tokens]
    written: list[int] = []
    with torch.inference_mode():
        for _ in range(9):
            logits = writer.network(input_ids=torch.tensor([[*prompt, *written]])).logits
            written.append(int(logits[0, -1].argmax()))
    text = writer.generator.tokenizer.decode(written)
    assert "\n" not in text
    assert found == (topic, sentence_of(text, False), found.titles, {})


def test_titles_end_where_the_model_ends_them(models: Path) -> None:
    writer = load_writer(str(models / "llama"), device="cpu")
    with torch.no_grad():  # the line feed becomes as likely as the likeliest token, nearly
        head = writer.network.get_output_embeddings().weight
        head[writer.generator.title_end] = head.sum(dim=0) * 0.5
    topics = [Query(str(n), text) for n, text in enumerate(tiny.SENTENCES)]
    found = list(expand(writer, topics, ExpansionConfig(titles=4, title_tokens=6)))
    titles = [title for expanded in found for title in expanded.titles.split(" *** ")]
    assert any(titles)
    assert not any("\n" in title for title in titles)
    for expanded in found:
        assert len(expanded.titles.split(" *** ")) <= 4


@pytest.mark.parametrize(
    ("model", "more", "code", "part"),
    [
        ("llama", "--batch-size 0", 2, "batch_size is 0; it must be at least 1"),
        ("llama", "--topics @none.tsv", 1, "no such file"),
        ("llama", "--output @", 2, "is a folder; --output is what the names"),
        ("llama", "--output @file/out", 2, "cannot be written"),
        ("llama", "--dtype int3", 2, "dtype is 'int3'"),
        ("none/x", "", 1, "no such model folder"),
    ],
)
def test_faults(
    call: Runner, folder: Path, models: Path, model: str, more: str, code: int, part: str
) -> None:
    (folder / "file").write_text("", encoding="utf-8")
    assert_fault(make(call, folder, models / model, *more.replace("@", f"{folder}/").split()), code, part)
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert sorted(path.name for path in left) == ["file", "topics.jsonl"]


@pytest.mark.slow
def test_a_model_that_fails_leaves_nothing(
    call: Runner, folder: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*args: Any) -> Iterator[Any]:
        yield from list(expand(*args))[:2]
        raise UsageError("no luck")

    monkeypatch.setattr("seal_ir.baselines.expansions.writing.expand", failing)
    assert_fault(make(call, folder, models / "llama"), 2, "no luck")
    assert list((folder / "new").iterdir()) == []


@pytest.mark.parametrize(
    ("text", "finished", "expected"),
    [
        (" in 1901 to\nWilhelm  Conrad", True, "in 1901 to Wilhelm Conrad"),
        ("in 1901 to Wilhelm Conrad Rön", False, "in 1901 to Wilhelm Conrad"),
        ("Rome. a b c d e f g h i. j k", False, "Rome. a b c d e f g h i."),
        ("a b c d e f g h i. j k l m", True, "a b c d e f g h i. j k l m"),  # the ninth word
        ("a b c d e f g h i j 1.5 (k.) l", False, "a b c d e f g h i j 1.5 (k.)"),
        ('a b c d e f g h "i j!" k', True, 'a b c d e f g h "i j!"'),
        ("Rome.", True, "Rome."),
        ("half", False, ""),
        ("", True, ""),
    ],
)
def test_sentences(text: str, finished: bool, expected: str) -> None:
    assert sentence_of(text, finished) == expected


def test_titles() -> None:
    assert titles_of([" Oil\tcrisis", "oil crisis", "", " ", "Oil"]) == "Oil crisis *** Oil"
    assert titles_of([]) == ""


def test_config() -> None:
    with pytest.raises(UsageError, match="titles is 0; it must be at least 1"):
        ExpansionConfig(titles=0)
