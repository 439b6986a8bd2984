"""The examples of docs/formats.md: all formats are there, and are read or written as shown."""

from __future__ import annotations

import re
from pathlib import Path

from seal_ir.formats.collections.collection import Collection, collection_kinds
from seal_ir.formats.runs.others import read_ranked
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS, Asked
from seal_ir.formats.runs.trec import OUTPUT_FORMATS, RunWriter, read_qrels, read_run
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.predictions import read_predictions
from seal_ir.formats.topics.reading import TOPICS_FORMATS, detect_format, read_topics
from seal_ir.records import Hit
from tests.helpers.passages import MONT_BLANC, write

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
SUFFIXES = {"JsonCollection": ".jsonl", "HFDataset": ".jsonl"}
WITHOUT_FILES = {"LuceneIndex", "ir_datasets"}  # others' own forms, or names
WITH_ANSWERS = {"nq", "dpr-csv", "dpr-json", "jsonl"}


def examples(what: str) -> dict[str, str]:
    """Contents of the code blocks of a sort, by format."""
    blocks = re.findall(rf"^```text {what} (\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(dict(blocks)) == len(blocks)
    return dict(blocks)


def test_collections(tmp_path: Path) -> None:
    blocks = examples("collection")
    assert list(blocks) == [kind for kind in collection_kinds() if kind not in WITHOUT_FILES]
    assert all(f"**{kind}**" in PAGE.read_text(encoding="utf-8") for kind in collection_kinds())
    for kind, text in blocks.items():
        path = tmp_path / f"{kind}{SUFFIXES.get(kind, '.tsv')}"
        path.write_text(text, encoding="utf-8")
        documents = list(Collection(kind, path))
        assert [document.title for document in documents] == ["Mont Blanc", "Mont Blanc"]
        assert documents[1].text == "It was first climbed in 1786."


def test_topics(tmp_path: Path) -> None:
    blocks = examples("topics")
    assert {"auto", "default", *blocks} == set(TOPICS_FORMATS)
    for name, text in blocks.items():
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        assert detect_format(path) == ("nq" if name == "dpr-csv" else name)
        topics = read_topics(path, name)
        assert topics == read_topics(path)
        assert len(topics) == 2
        if name in WITH_ANSWERS:
            assert all(read_answers(path, name).values())


def test_answers_and_qrels(tmp_path: Path) -> None:
    (tmp_path / "answers").write_text(examples("answers")["jsonl"], encoding="utf-8")
    assert list(read_answers(tmp_path / "answers")) == ["30_1", "30_2"]
    for name, text in examples("qrels").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_qrels(tmp_path / "trec") == {"30_1": {"12#0": 1}, "30_2": {"12#1": 2}}
    assert read_qrels(tmp_path / "kilt") == {"30_1": {"12": 1}, "30_2": {"34": 1, "56": 1}}


def test_predictions(tmp_path: Path) -> None:
    for name, text in examples("predictions").items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert read_predictions(tmp_path / "jsonl") == {"30_1": "Mont Blanc", "30_2": ""}
    assert read_predictions(tmp_path / "kilt") == {"30_1": "Mont Blanc"}


def test_runs(tmp_path: Path) -> None:
    blocks = examples("run")
    assert tuple(blocks) == OUTPUT_FORMATS
    for name, text in blocks.items():
        path = tmp_path / name
        with RunWriter(path, tag="seal", output_format=name, inputs={"30_1": "where"}) as writer:
            writer.write("30_1", [Hit("12#0", 3.5), Hit("34#5", -0.25)])
        assert path.read_text(encoding="utf-8") == text
    assert read_run(tmp_path / "trec") == {"30_1": [("12#0", 3.5), ("34#5", -0.25)]}


def test_passages(tmp_path: Path) -> None:
    blocks = examples("passages")
    assert tuple(blocks) == PASSAGE_FORMATS
    asked = Asked("30_1", "where", ["Alps"], lambda text: "Alps" in text)
    for name, text in blocks.items():
        assert write(tmp_path / name, name, (asked, [MONT_BLANC])).read_text(encoding="utf-8") == text
        run = read_ranked(tmp_path / name, {"30_1": "where"})
        assert run == ({"30_1": [("12#0", 3.5)]}, {"12#0": ("Mont Blanc", "In the Alps.")})
