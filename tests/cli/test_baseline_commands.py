"""The commands of dense retrieval and GAR: what they do and refuse, with a stand-in for Pyserini."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.baselines.dense import __main__ as dense
from seal_ir.baselines.dense import building, encoders, searching
from seal_ir.baselines.docids import __main__ as docids
from seal_ir.baselines.expansions import __main__ as expansions
from seal_ir.baselines.gar import __main__ as gar
from seal_ir.baselines.gensim_bm25 import __main__ as gensim
from seal_ir.baselines.pseudo_queries import __main__ as pseudo_queries
from seal_ir.errors import UsageError
from seal_ir.formats.runs.trec import read_run
from seal_ir.records import Hit
from tests.helpers.commands import ROOT, Runner, assert_fault
from tests.helpers.tiny_encoders import DOCUMENTS, HIDDEN, save_dpr, save_sentence_encoder, write_collection

N = 3


class FakeEncoder:
    """Has the vectors' length of the encoder that it stands for."""

    def __init__(self, source: str) -> None:
        self._size = json.loads(Path(source, "config.json").read_text(encoding="utf-8"))["hidden_size"]

    def encode(self, query: str) -> Any:
        return np.zeros(self._size, np.float32)


class FakeSearcher:
    """Finds the first documents, whatever is asked; notes what it was opened with."""

    opened: list[tuple[str, str, dict[str, Any]]] = []

    def __init__(self, directory: Path, encoder: str, source: str, **options: Any) -> None:
        if "broken" in source:
            raise RuntimeError("no\nluck")
        self.opened.append((encoder, Path(source).name, options))
        self.docids = (directory / "docid").read_text(encoding="utf-8").split()
        self.num_docs, self.dimension = len(self.docids), HIDDEN
        self.query_encoder = FakeEncoder(source)

    def batch_search(
        self, queries: list[str], q_ids: list[str], k: int, threads: int
    ) -> dict[str, list[Any]]:
        return {qid: [Hit(docid, -float(at)) for at, docid in enumerate(self.docids[:k])] for qid in q_ids}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection and an encoder; Pyserini and Java are taken to be there."""
    for module in (dense, gar):
        monkeypatch.setattr(module, "check_installed", lambda: None)
    monkeypatch.setattr(FakeSearcher, "opened", [])
    monkeypatch.setattr(searching, "faiss_searcher", FakeSearcher)
    write_collection(tmp_path / "docs.jsonl", DOCUMENTS)
    save_sentence_encoder(tmp_path / "mean")
    (tmp_path / "topics.tsv").write_text("7\twhale\n10\twhich river\n", encoding="utf-8")
    return tmp_path


def dense_words(folder: Path, *more: object) -> list[object]:
    words: list[object] = ["--faiss", folder / "faiss", "--topics", folder / "topics.tsv"]
    return [*words, "--output", folder / "run.trec", "--device", "cpu", "--threads", 1, *more]


def test_dense(folder: Path, call: Runner) -> None:
    pytest.importorskip("faiss")
    build = ["--input", folder / "docs.jsonl", "--encoder", folder / "mean"]
    result = call(dense.main, *dense_words(folder, *build, "--hits", N))
    assert (result.code, result.out) == (0, f"{folder / 'run.trec'}\n"), result.err
    assert f"{folder / 'faiss'}: {len(DOCUMENTS)} documents" in result.err
    run = read_run(folder / "run.trec")
    assert {qid: [docid for docid, _ in entries] for qid, entries in run.items()} == {
        qid: [document.id for document in DOCUMENTS[:N]] for qid in ("7", "10")
    }
    about = json.loads((folder / "run.trec.config.json").read_text(encoding="utf-8"))
    assert (about["system"], about["encoder"], about["n_topics"]) == ("dense", str(folder / "mean"), 2)
    assert min(about["seconds"], about["cpu_seconds"]) >= 0
    # Again, without the collection and the encoder: the index says which; more hits than documents.
    result = call(dense.main, *dense_words(folder, "--hits", 1000))
    assert result.code == 0, result.err
    assert "encoded" not in result.err
    assert len(read_run(folder / "run.trec")["7"]) == len(DOCUMENTS)
    assert FakeSearcher.opened == [("AutoQueryEncoder", "mean", {"pooling": "mean", "l2_norm": True})] * 2


def test_dense_says_which_queries_were_cut_and_to_what(
    folder: Path, call: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a plain line, though Pyserini's import sets up logging in its own way."""
    pytest.importorskip("faiss")
    asked: list[str] = []
    search = FakeSearcher.batch_search

    def batch_search(self: FakeSearcher, queries: list[str], *more: Any, **options: Any) -> Any:
        asked.extend(queries)
        return search(self, queries, *more, **options)

    monkeypatch.setattr(FakeSearcher, "batch_search", batch_search)
    long = "whale " * 600
    (folder / "topics.tsv").write_text(f"7\t{long}\n8\twhale\n9\t{long} river\n", encoding="utf-8")
    build = ["--input", folder / "docs.jsonl", "--encoder", folder / "mean"]
    result = call(dense.main, *dense_words(folder, *build))
    assert result.code == 0, result.err
    told = "2 of 3 queries were longer than 38 tokens and were cut: topics 7, 9"
    assert [line for line in result.err.splitlines() if "cut" in line] == [told]
    assert [len(text.split()) for text in asked] == [38, 1, 38]
    assert list(read_run(folder / "run.trec")) == ["7", "8", "9"]


def test_dense_with_an_index_of_something_else(folder: Path, call: Runner) -> None:
    pytest.importorskip("faiss")
    build = ["--input", folder / "docs.jsonl", "--encoder", folder / "mean"]
    assert call(dense.main, *dense_words(folder, *build)).code == 0
    (folder / "run.trec").unlink()
    other = save_sentence_encoder(folder / "other-mean")
    small = save_sentence_encoder(folder / "small", hidden_size=8)
    broken = save_sentence_encoder(folder / "broken")
    write_collection(folder / "more.jsonl", DOCUMENTS)
    for words, code, parts in (
        (["--encoder", other], 2, ["built with encoder", "name another --faiss"]),
        (["--input", folder / "more.jsonl"], 2, ["built with input"]),
        (["--dtype", "bfloat16"], 2, ["built with dtype 'float32', not 'bfloat16'"]),
        (["--query-encoder", small], 1, [f"has vectors of 8 numbers, {folder / 'faiss'} of {HIDDEN}"]),
        (["--query-encoder", broken], 1, ["Pyserini cannot search it with", "(no luck)"]),
    ):
        assert_fault(call(dense.main, *dense_words(folder, *words)), code, *parts)
    assert not (folder / "run.trec").exists()


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        ("--encoder @mean", 2, ["no Faiss index; give --input to build it"]),
        ("INPUT --encoder @mean --hits 0", 2, ["hits is 0"]),
        ("INPUT --encoder @mean --threads 0", 2, ["threads is 0"]),
        ("INPUT --encoder @absent", 1, ["no such encoder folder"]),
        ("INPUT --encoder @ctx", 2, ["ctx is no encoder of questions", "--query-encoder"]),
        ("INPUT --encoder @q", 2, ["is no encoder of questions for"]),
        ("INPUT --encoder @mean --query-encoder @q", 2, ["is no encoder of questions for"]),
        ("INPUT --encoder @mean --dtype int3", 2, ["dtype is 'int3'"]),
        ("INPUT --encoder @mean --device abacus", 2, ["device 'abacus' is not available here"]),
        ("--input @absent.jsonl --encoder @mean", 1, ["absent.jsonl: no such file or folder"]),
        ("INPUT --encoder @mean --collection Nothing", 2, ["unknown collection 'Nothing'"]),
        ("INPUT --encoder @mean --topics @none.tsv", 1, ["no such file; check the path"]),
    ],
)
def test_dense_refuses_before_it_builds(
    folder: Path, call: Runner, words: str, code: int, parts: list[str]
) -> None:
    save_dpr(folder / "ctx")
    save_dpr(folder / "q", questions=True)
    before = {path.name for path in folder.iterdir()}
    given = words.replace("INPUT", "--input @docs.jsonl").replace("@", f"{folder}/").split()
    assert_fault(call(dense.main, *dense_words(folder, *given)), code, *parts)
    assert (
        {path.name for path in folder.iterdir()} == before == {"docs.jsonl", "mean", "topics.tsv", "ctx", "q"}
    )


def test_dense_without_pyserini(folder: Path, call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise UsageError("Lucene needs Pyserini")

    monkeypatch.setattr(dense, "check_installed", missing)
    words = dense_words(folder, "--input", folder / "docs.jsonl", "--encoder", folder / "mean")
    assert_fault(call(dense.main, *words), 2, "needs Pyserini")
    assert not (folder / "faiss").exists()


@pytest.mark.parametrize(
    ("more", "code", "part"),
    [
        ("", 2, "with --expansions, or set SEAL_IR_DATA"),
        ("--expansions @none.tsv", 1, "none.tsv"),
        ("--expansions @short.tsv", 1, "short.tsv: holds no topic '10'; every topic needs a line"),
        ("--expansions @short.tsv --depth 0", 2, "--depth is 0; it must be at least 1"),
        ("--expansions @short.tsv --hits 0", 2, "hits is 0"),
        ("--expansions @short.tsv --k1 -1", 2, "k1 is -1.0"),
        ("DATA", 2, "give the files of expanded questions with --expansions"),
    ],
)
def test_gar_refuses_before_it_builds(
    folder: Path, call: Runner, monkeypatch: pytest.MonkeyPatch, more: str, code: int, part: str
) -> None:
    monkeypatch.delenv("SEAL_IR_DATA", raising=False)
    if more == "DATA":
        monkeypatch.setenv("SEAL_IR_DATA", str(folder))
        more = ""
    (folder / "short.tsv").write_text("7\twhale sea\n", encoding="utf-8")
    words: list[object] = ["--lucene", folder / "lucene", "--topics", folder / "topics.tsv"]
    words += ["--output", folder / "run.trec", "--input", folder / "docs.jsonl"]
    assert_fault(call(gar.main, *words, *more.replace("@", f"{folder}/").split()), code, part)
    assert not (folder / "run.trec").exists()
    assert not (folder / "lucene").exists()


def test_documented_commands() -> None:
    page = (ROOT / "docs" / "baselines.md").read_text(encoding="utf-8")
    commands = re.findall(r"^python -m seal_ir\.baselines\.(\w+) ((?:.*\\\n)*.*)$", page, re.M)
    suffixes = {"expansions": ".demo", "docids": ".gz", "pseudo_queries": ".gz"}
    named = ["dense", "dense", "gar", "gar", "expansions", "gar", "gensim_bm25", "docids"]
    named += ["pseudo_queries"] * 2
    assert [name for name, _ in commands] == named
    parsers = {
        "dense": dense,
        "gar": gar,
        "gensim_bm25": gensim,
        "docids": docids,
        "pseudo_queries": pseudo_queries,
        "expansions": expansions,
    }
    for name, words in commands:
        args = parsers[name]._parser().parse_args(shlex.split(words.replace("\\\n", " ")))
        assert Path(args.output).suffix == suffixes.get(name, ".trec")
    assert encoders.DEFAULT_ENCODER in page
    assert f"blocks of {building.BLOCK:,} documents" in page
