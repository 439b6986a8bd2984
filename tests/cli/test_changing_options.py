"""Which options go with --append, --update, --delete and --merge of an index, and what they do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from seal_ir.index import changing, tiers
from seal_ir.index.__main__ import main
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.commands import Runner
from tests.helpers.indexes import ids

RECORDS = [
    {"id": "a", "contents": "sea life", "tag": "x", "year": 5},
    {"id": "b", "contents": "river", "tag": "y"},
    {"id": "c", "contents": "lake"},
]


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """An index with a further field, a stored one and records, split into passages."""
    old = [Document("old", "", "sea", '{"id": "old", "contents": "sea"}')]
    options = {"fields": ("tag",), "store": ("year:int",), "split": "words:1"}
    tiny.build(tmp_path / "index", old, store_raw=True, **options)
    return tmp_path / "index"


def refused(call: Runner, *options: object) -> str:
    result = call(main, *options)
    assert (result.code, result.out) == (2, "")
    return result.err.splitlines()[-1]


KEPT = [
    ["--import-seal", "x"],
    ["--storeRaw"],
    ["--fields", "tag"],
    ["--store", "year:int"],
    ["--engine", "sdsl"],
    ["--layout", "small"],
]
READING = [
    ["--input", "x"],
    ["--include-ids", "x"],
    ["--duplicates", "last"],
    ["--malformed", "skip"],
    ["--list-empty"],
    ["--collection", "TsvCollection"],
    ["--split", "words:3"],
]


@pytest.mark.parametrize(
    "mode", [["--append"], ["--update"], ["--delete", "x"], ["--merge"]], ids=lambda m: m[0]
)
def test_an_index_keeps_its_own_and_what_reads_nothing_takes_no_reading(
    call: Runner, directory: Path, mode: list[str]
) -> None:
    for option in KEPT:
        told = refused(call, "--index", directory, *mode, *option)
        assert told == f"error: {option[0]} does not go with {mode[0]}: an index keeps its own"
    for option in READING if mode[0] in ("--delete", "--merge") else ():
        told = refused(call, "--index", directory, *mode, *option)
        assert told == f"error: {option[0]} does not go with {mode[0]}, which reads no documents"
    if mode[0] in ("--append", "--update"):
        told = refused(call, "--index", directory, *mode)
        assert told == f"error: --input is missing: name the documents to {mode[0][2:]}"
        told = refused(call, "--index", directory, *mode, "--collection", "ir_datasets:x", "--input", "x")
        assert "says what to read; leave out" in told
    if mode[0] == "--update":
        told = refused(call, "--index", directory, *mode, "--input", "x", "--duplicates", "first")
        assert told == (
            "error: --duplicates first does not go with --update; --append --duplicates first keeps documents"
        )


def test_documents_are_read_as_the_index_keeps_them(
    call: Runner, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAYON_NUM_THREADS", "1")
    monkeypatch.delenv("RAYON_NUM_THREADS")
    lines = [*map(json.dumps, RECORDS), "no JSON", json.dumps(RECORDS[0] | {"contents": "later"})]
    (tmp_path / "c.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "ids").write_text("a\nb\n", encoding="utf-8")
    change = ["--index", directory, "--input", tmp_path / "c.jsonl", "--malformed", "skip", "--threads", 3]
    assert call(main, *change, "--append").code == 1  # two have one id
    chosen = ["--include-ids", tmp_path / "ids", "--duplicates", "first"]
    result = call(main, *change, "--append", *chosen, "--max-segment-tokens", 12)
    assert result.code == 0, result.err
    assert os.environ["RAYON_NUM_THREADS"] == "3"
    assert ids(directory) == ["old#0", "a#0", "a#1", "b#0"]
    index = Index(directory)
    assert [part.n_documents for part in index.manifest.segments] == [1, 1, 1, 1]
    found = index.documents(range(4))
    assert [document.further for document in found[1:]] == [(("tag", "x"),)] * 2 + [(("tag", "y"),)]
    assert list(index.stored_tables())[1].to_pylist()[0]["year"] == 5
    assert json.loads(index.raws([3])[0] or "") == RECORDS[1] | {"id": "b#0"}
    assert (
        call(main, *change, "--update", "--include-ids", tmp_path / "ids", "--duplicates", "last").code == 0
    )
    assert [document.text for document in Index(directory).documents(range(3))] == ["sea", "river", "later"]


def test_what_an_index_lacks_is_added_only_where_it_is_named(
    call: Runner, directory: Path, tmp_path: Path
) -> None:
    """The model of a new index by default, another one that is named, and memory."""
    (tmp_path / "c.jsonl").write_text(json.dumps(RECORDS[0]), encoding="utf-8")
    append = ["--index", directory, "--append", "--input", tmp_path / "c.jsonl"]
    assert "its documents are split by words:1, and an index keeps its own" in refused(
        call, *append, "--split", "words:3"
    )
    assert "not a size; write it as 2G or 1500M" in refused(call, *append, "--memory", "lots")
    assert "--memory 1 MiB is too little" in refused(call, *append, "--memory", "1M")
    result = call(main, *append, "--model", tmp_path / "none")
    assert result.code == 1
    assert str(tmp_path / "none") in result.err
    assert ids(directory) == ["old#0"]
    assert call(main, *append, "--model", tiny.save_tokenizer(tmp_path / "same")).code == 0


def test_ids_to_delete_come_from_standard_input(
    call: Runner, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(changing, "read_ids", lambda path: asked.append(path) or {"none"})
    for name in ("-", "ids"):
        assert call(main, "--index", directory, "--delete", name, "--missing", "skip").code == 0
    assert asked == [Path("/dev/stdin"), Path("ids")]


def test_deletions_and_merges(
    call: Runner, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiers, "FANOUT", 1000)  # nothing is merged unless it is to be
    monkeypatch.setattr(tiers, "MOST_DEAD", 0)
    records = [*RECORDS, {"id": "z#1", "contents": "no id of a document that is split"}]
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    small = ["--max-segment-tokens", 12, "--malformed", "skip"]
    assert call(main, "--index", directory, "--append", "--input", tmp_path / "c.jsonl", *small).code == 0
    assert len(Index(directory).manifest.segments) > 2
    (tmp_path / "ids").write_text("c\nnone\n", encoding="utf-8")
    delete = ["--index", directory, "--delete", tmp_path / "ids"]
    result = call(main, *delete)
    assert (result.code, "there is no document with the id 'none'" in result.err) == (1, True)
    assert call(main, *delete, "--missing", "error").code == 1
    assert call(main, *delete, "--missing", "skip").code == 0
    assert ids(directory) == ["old#0", "a#0", "a#1", "b#0"]
    assert call(main, "--index", directory, "--merge", "--max-segments", 2).code == 0
    assert len(Index(directory).manifest.segments) == 2
    assert call(main, "--index", directory, "--merge").code == 0
    assert len(Index(directory).manifest.segments) == 1
    assert ids(directory) == ["old#0", "a#0", "a#1", "b#0"]
