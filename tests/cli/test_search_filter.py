"""`python -m seal_ir.search --filter`, and `python -m seal_ir.index --store` before it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from seal_ir.formats.runs.trec import read_run
from seal_ir.index.__main__ import main as index_main
from seal_ir.records import Hit, Query
from seal_ir.search import bm25, hybrid
from seal_ir.search.__main__ import main
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.stubbed import Stubbed

TOPICS = {"q1": "the highest mountain", "q2": "which river flows through London"}
YEARS = {document.id: 2000 + number for number, document in enumerate(tiny.DOCUMENTS)}


class Search:
    """Builds an index with stored fields by command, and searches in it."""

    def __init__(self, call: Runner, folder: Path) -> None:
        self._call, self.folder, self.index = call, folder, folder / "index"
        self.output, self.ids = folder / "run.trec", folder / "ids.txt"
        (folder / "topics.tsv").write_text(
            "".join(f"{q}\t{t}\n" for q, t in TOPICS.items()), encoding="utf-8"
        )
        self.ids.write_text("d2\nd4\nd3#0\n", encoding="utf-8")
        records = [
            {"id": d.id, "title": d.title, "contents": d.text, "year": YEARS[d.id], "lang": "en"}
            for d in tiny.DOCUMENTS
        ]
        self.input = folder / "documents.jsonl"
        self.input.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        model = tiny.save_tokenizer(folder / "model")
        asked = ("--input", self.input, "--index", self.index, "--model", model)
        assert call(index_main, *asked, "--store", "year:int", "lang").code == 0

    def __call__(self, *arguments: object) -> Result:
        usual = ["--topics", self.folder / "topics.tsv", "--index", self.index, "--output", self.output]
        return self._call(main, *usual, "--model", "tiny", "--preset", "paper", *arguments)

    def run(self, name: str = "run.trec") -> dict[str, list[tuple[str, float]]]:
        return read_run(self.folder / name)

    def about(self) -> dict[str, object]:
        path = self.output.with_name("run.trec.config.json")
        return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture
def search(call: Runner, stubbed: Stubbed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Search:
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))
    return Search(call, tmp_path)


def docids(run: dict[str, list[tuple[str, float]]]) -> set[str]:
    return {docid for entries in run.values() for docid, _ in entries}


@pytest.mark.parametrize("counts", ["collection", "filter"])
def test_a_file_of_ids_or_a_condition(search: Search, counts: str) -> None:
    assert search().code == 0
    assert docids(search.run()) - {"d2", "d4", "d3#0"}
    assert "filter" not in search.about()
    result = search("--filter", search.ids, "--filter-counts", counts)
    assert result.code == 0, result.err
    assert "filter: 3 of 7 documents\n" in result.err
    assert docids(search.run()) <= {"d2", "d4", "d3#0"}
    assert search.about()["filter"] == {"of": str(search.ids), "counts": counts}
    searcher = SealSearcher(search.index, tiny.generator(), preset="paper")
    made = searcher.make_filter(["d2", "d4", "d3#0"], counts=counts)  # type: ignore[arg-type]
    found = searcher.batch_search(TOPICS.values(), TOPICS.keys(), k=100, filter=made)
    assert {qid: [docid for docid, _ in entries] for qid, entries in search.run().items()} == {
        qid: [hit.docid for hit in hits] for qid, hits in found.items() if hits
    }
    result = search("--filter", "year >= 2002 and lang == en")
    assert result.code == 0, result.err
    allowed = {docid for docid, year in YEARS.items() if year >= 2002}
    assert f"filter: {len(allowed)} of 7 documents\n" in result.err
    assert docids(search.run()) <= allowed


def test_a_condition_that_nothing_meets_gives_no_hits(search: Search) -> None:
    result = search("--filter", "year > 3000")
    assert result.code == 0, result.err
    assert search.run() == {}
    assert "2 of 2 topics have no hits: q1, q2" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (["--filter", "nowhere.txt"], 2, ["no such file; give a file of ids, one a line, or FIELD OP VALUE"]),
        (["--filter", "month > 5"], 2, ["no stored field 'month'; there are id, year, lang"]),
        (["--filter", "year > soon"], 2, ["year is stored as int, and 'soon' is none"]),
        (["--filter", "EMPTY"], 1, ["holds no id"]),
        (["--filter", "UNKNOWN"], 1, ["has no document with the id 'x', and so 1 of 2 ids of the filter"]),
        (["--filter-counts", "filter"], 2, ["--filter-counts needs --filter"]),
        (["--filter", "IDS", "--keys", "EMPTY"], 2, ["--filter does not go with --keys"]),
    ],
)
def test_what_is_refused(search: Search, arguments: list[str], code: int, parts: list[str]) -> None:
    files = {"EMPTY": "\n", "UNKNOWN": "d1\nx\n", "IDS": "d1\n"}
    for name, text in files.items():
        (search.folder / name).write_text(text, encoding="utf-8")
    given = [search.folder / word if word in files else word for word in arguments]
    assert_fault(search(*given), code, *parts)
    assert not search.output.exists()


def test_what_is_fused_is_within_the_filter_too(search: Search, monkeypatch: pytest.MonkeyPatch) -> None:
    """BM25 is searched deeper until enough of its hits are allowed."""
    depths = []
    order = [document.id for document in reversed(tiny.DOCUMENTS)]

    def found(path: Path, topics: Sequence[Query], config: Bm25Config) -> Iterator[tuple[Query, list[Hit]]]:
        depths.append(config.hits)
        for topic in topics:
            yield topic, [Hit(docid, 9.0 - rank) for rank, docid in enumerate(order)][: config.hits]

    def build(source: Path, target: Path, threads: int) -> int:
        target.mkdir()
        (target / "segments_1").touch()
        return len(tiny.DOCUMENTS)

    monkeypatch.setattr(bm25, "build_lucene_index", build)
    monkeypatch.setattr(hybrid, "search", found)
    monkeypatch.setattr(hybrid, "check_installed", lambda: None)
    monkeypatch.setattr(hybrid, "start_java", lambda: None)
    assert search("--filter", search.ids, "--fuse", "bm25", "--hits", 1).code == 0
    assert depths == [1, 8]
    assert docids(search.run("run.bm25.trec")) == {"d4"}
    assert docids(search.run()) <= {"d2", "d4", "d3#0"}
    assert search("--fuse", "bm25", "--hits", 1).code == 0
    assert depths == [1, 8, 1]
    assert docids(search.run("run.bm25.trec")) == {order[0]}
    other = search.folder / "other.trec"
    other.write_text("".join(f"q1 Q0 {docid} {rank} {9 - rank} x\n" for rank, docid in enumerate(order)))
    assert search("--filter", search.ids, "--fuse", other, "--hits", 2).code == 0
    assert docids(search.run()) <= {"d2", "d4", "d3#0"}


def test_stored_fields_by_command(search: Search, call: Runner) -> None:
    stats = call(index_main, "--index", search.index, "--stats")
    assert "stored       year (int), lang (string)" in stats.out
    assert "file: stored.arrow" in stats.out
    more = search.folder / "more.jsonl"
    more.write_text('{"id": "new", "contents": "London", "year": "new"}\n', encoding="utf-8")
    append = ("--append", "--input", more, "--index", search.index)
    assert_fault(call(index_main, *append), 1, f"{more}:1: \"year\" is 'new'; it is stored as int")
    more.write_text('{"id": "new", "contents": "London", "year": 3000}\n', encoding="utf-8")
    assert call(index_main, *append).code == 0
    assert_fault(call(index_main, *append, "--store", "lang"), 2, "--store does not go with --append")
    assert search("--filter", "year > 2500").code == 0
    assert docids(search.run()) == {"new"}
    table = search.folder / "t.tsv"
    table.write_text("d1\ttitle\ttext\n", encoding="utf-8")
    build = ("--input", table, "--index", search.folder / "other", "--collection", "TsvCollection")
    assert_fault(call(index_main, *build, "--store", "year:int"), 2, "no fields to store such as 'year'")
    assert_fault(call(index_main, *build, "--store", "year:date"), 2, "unknown type 'date'")
