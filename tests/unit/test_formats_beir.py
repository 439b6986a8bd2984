"""A folder in BEIR's layout: its corpus are the documents, its queries topics, its qrels judgements."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.collections.kinds import ALIASES
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.__main__ import main as index
from seal_ir.records import Document, Query
from tests.helpers import tiny
from tests.helpers.commands import Runner

CORPUS = '{"_id": "d1", "title": "Etna", "text": "A volcano.", "metadata": {}}\n{"_id": "d2", "text": "b"}\n'
QUERIES = '{"_id": "q1", "text": "where is Etna", "metadata": {"x": 1}}\n{"_id": "q2", "text": "b"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\n"
DOCUMENTS = [Document("d1", "Etna", "A volcano."), Document("d2", "", "b")]


def lay_out(folder: Path, *, packed: bool = False, queries: bool = True, qrels: bool = True) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    suffix, pack = (".gz", gzip.compress) if packed else ("", lambda data: data)
    (folder / f"corpus.jsonl{suffix}").write_bytes(pack(CORPUS.encode()))
    if queries:
        (folder / f"queries.jsonl{suffix}").write_bytes(pack(QUERIES.encode()))
    if qrels:
        (folder / "qrels").mkdir()
        (folder / "qrels" / "test.tsv").write_text(QRELS)
        (folder / "qrels" / "dev.jsonl").write_text(QUERIES)
    return folder


@pytest.mark.parametrize("kind", ["JsonCollection", "HFDataset", *ALIASES])
@pytest.mark.parametrize("options", [{}, {"packed": True}, {"queries": False}, {"qrels": False}])
def test_i5_of_a_beir_folder_the_corpus_is_read(tmp_path: Path, kind: str, options: dict[str, bool]) -> None:
    if kind == "HFDataset" and options.get("packed"):
        options = {}  # a folder of packed JSON lines is named by its files there
    collection = Collection(kind, lay_out(tmp_path / "scifact", **options))
    assert [document._replace(raw=None) for document in collection] == DOCUMENTS
    assert collection.note.startswith(f"{tmp_path / 'scifact'}: laid out as BEIR's, only the corpus is read")
    assert "left out: q" in collection.note


def test_of_several_beir_folders_every_corpus_is_read(tmp_path: Path) -> None:
    lay_out(tmp_path / "beir" / "one")
    (tmp_path / "beir" / "else").mkdir()
    (tmp_path / "beir" / "else" / "queries.jsonl").write_text('{"id": "d3", "contents": "no layout"}\n')
    collection = Collection("JsonCollection", tmp_path / "beir")
    assert [document.id for document in collection] == ["d3", "d1", "d2"]
    assert "one/qrels/dev.jsonl, one/qrels/test.tsv, one/queries.jsonl" in collection.note


def test_a_corpus_alone_and_other_folders_are_read_whole(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text(CORPUS)
    (tmp_path / "more.jsonl").write_text('{"id": "d3", "contents": "c"}\n')
    collection = Collection("JsonCollection", tmp_path)
    assert [document.id for document in collection] == ["d1", "d2", "d3"]
    assert collection.note == ""


@pytest.mark.parametrize("kind", ["TsvCollection", "DprTsvCollection"])
def test_judgements_are_no_table_of_documents(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match=r"laid out as BEIR's, whose corpus is a JsonCollection"):
        Collection(kind, lay_out(tmp_path / "scifact"))


def test_i5_beir_queries_are_topics_and_its_qrels_judgements(tmp_path: Path) -> None:
    folder = lay_out(tmp_path / "scifact")
    assert read_topics(folder / "queries.jsonl") == [Query("q1", "where is Etna"), Query("q2", "b")]
    assert read_qrels(folder / "qrels" / "test.tsv") == {"q1": {"d1": 1}, "q2": {"d2": 0}}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("q1\td1\t1\n", ":1: 3 columns ('q1 d1 1'), not 4; write qid 0 docid grade, or keep BEIR's header"),
        (QRELS + "q3 0 d3 1\n", ":4: 4 columns ('q3 0 d3 1'), not 3; write query-id corpus-id score"),
        (QRELS + "q1\td1\t2\n", ":4: document 'd1' comes twice"),
        (QRELS + "q3\td1\tyes\n", ":4: grade is 'yes'"),
        ("q1 0 d1 1\n" + QRELS, ":2: 3 columns"),
        ("q1 0 d1 " + "9" * 5000 + "\n", ":1: grade is '999"),
    ],
)
def test_faulty_judgements_are_told(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_qrels(path)
    assert f"{path}{part}" in str(error.value)


def test_a_command_says_what_it_left_out(call: Runner, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_text(tiny.definition(), encoding="utf-8")
    folder = lay_out(tmp_path / "scifact")
    result = call(index, "--collection", "BeirFlatCollection", "--input", folder, "--index", tmp_path / "i",
                  "--model", tmp_path / "model")  # fmt: skip
    assert result.code == 0, result.err
    assert "read 2 = indexed 2" in result.out
    assert "only the corpus is read; left out: qrels/dev.jsonl, qrels/test.tsv, queries.jsonl" in result.err
    about = json.loads((tmp_path / "i" / "index.json").read_text(encoding="utf-8"))
    assert "JsonCollection" in json.dumps(about)


def test_an_unknown_collection_lists_all_names(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"unknown collection 'X'; choose one of JsonCollection, .*MrTyDi"):
        Collection("X", tmp_path)
