"""`python -m seal_ir.index` --append, --update, --delete, --merge, and what --stats says of them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seal_ir.index.__main__ import main
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.commands import ROOT, Runner, assert_fault, spawn
from tests.helpers.indexes import content

OLD = [document.id for document in tiny.DOCUMENTS]


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_index, tmp_path / "index"))


def write(path: Path, *documents: Document) -> Path:
    records = [{"id": d.id, "title": d.title, "contents": d.text} for d in documents]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def texts(directory: Path) -> dict[str, str]:
    index = Index(directory)
    return {document.id: document.text for document in index.documents(range(index.n_documents))}


@pytest.mark.slow
def test_d8_d9_a_life_of_an_index(call: Runner, directory: Path, tmp_path: Path) -> None:
    old = texts(directory)
    more = write(tmp_path / "more.jsonl", Document("n1", "", "sea"), Document("n2", "", "river"))
    result = call(main, "--index", directory, "--append", "--input", more)
    assert result.code == 0, result.err
    assert result.out.splitlines()[0].startswith("read 2 = indexed 2 ")
    assert f"{directory}: 9 documents, " in result.out.splitlines()[-1]
    assert texts(directory) == old | {"n1": "sea", "n2": "river"}

    newer = write(tmp_path / "newer.jsonl", Document("n2", "", "the river"), Document("d1", "", "Paris"))
    assert call(main, "--index", directory, "--update", "--input", newer).code == 0
    assert texts(directory) == old | {"n1": "sea", "n2": "the river", "d1": "Paris"}

    (tmp_path / "ids").write_text("d2\nd4\n", encoding="utf-8")
    result = call(main, "--index", directory, "--delete", tmp_path / "ids")
    assert result.code == 0
    left = {docid: text for docid, text in texts(directory).items() if docid not in ("d2", "d4")}
    assert texts(directory) == left
    assert call(main, "--index", directory, "--verify", "--all").code == 0

    assert call(main, "--index", directory, "--merge").code == 0
    assert texts(directory) == left
    values = json.loads(call(main, "--index", directory, "--stats", "--json").out)
    assert (len(values["segments"]), values["n_deleted"], values["merge_saves_bytes"]) == (1, 0, 0)


@pytest.mark.slow
def test_statistics_tell_of_deletions_and_what_a_merge_would_save(call: Runner, directory: Path) -> None:
    run = [sys.executable, "-m", "seal_ir.index", "--index", str(directory), "--delete", "-"]
    done = subprocess.run(run, input=b"d3#1\n", cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    values = json.loads(call(main, "--index", directory, "--stats", "--json").out)
    assert (values["n_documents"], values["n_deleted"]) == (6, 1)
    assert [segment["n_deleted"] for segment in values["segments"]] == [1]
    assert 0 < values["merge_saves_bytes"] < values["bytes"] / 3
    assert values["file_bytes"]["deleted.npy"] == 136
    told = call(main, "--index", directory, "--stats").out
    assert f"1 documents; a merge would save {values['merge_saves_bytes']:,} bytes" in told
    before = values["bytes"]
    assert call(main, "--index", directory, "--merge").code == 0
    assert json.loads(call(main, "--index", directory, "--stats", "--json").out)["bytes"] < before


def test_duplicates_and_missing_ids(call: Runner, directory: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.jsonl", Document("d1", "", "again"), Document("n1", "", "sea"))
    (tmp_path / "ids").write_text("d2 \nx\n", encoding="utf-8")
    before = content(directory)
    append = ["--index", directory, "--append", "--input", more]
    delete = ["--index", directory, "--delete", tmp_path / "ids"]
    assert_fault(call(main, *append), 1, "the id 'd1' is there already")
    assert_fault(call(main, *delete), 1, "there is no document with the id 'x'")
    assert_fault(call(main, *append[:2], "--update", *append[3:]), 1, "no document with the id 'n1'")
    assert content(directory) == before
    assert call(main, *append, "--duplicates", "first").code == 0
    assert texts(directory)["d1"] == tiny.DOCUMENTS[0].text
    assert call(main, *append, "--duplicates", "last").code == 0
    assert texts(directory)["d1"] == "again"
    assert call(main, *delete, "--missing", "skip").code == 0
    assert sorted(texts(directory)) == sorted([*OLD, "n1"])[:1] + sorted({*OLD, "n1"} - {"d1", "d2"})


RAY = "--ray builds an index; leave it out to change one, or to look at one"
REFUSED: list[tuple[list[str], str]] = [
    (["--append"], "--input is missing: name the documents to append"),
    (["--update"], "--input is missing: name the documents to update"),
    (
        ["--append", "--input", "x", "--fields", "tag"],
        "--fields does not go with --append: an index keeps its own",
    ),
    (["--append", "--input", "x", "--storeRaw"], "--storeRaw does not go with --append"),
    (["--append", "--input", "x", "--engine", "sdsl"], "--engine does not go with --append"),
    (["--update", "--input", "x", "--layout", "fast"], "--layout does not go with --update"),
    (["--update", "--input", "x", "--duplicates", "first"], "--duplicates first does not go with --update"),
    (["--delete", "x", "--input", "x"], "--input does not go with --delete, which reads no documents"),
    (["--merge", "--input", "x"], "--input does not go with --merge"),
    (["--merge", "--max-segments", "0"], "--max-segments is 0; it must be at least 1"),
    (["--append", "--input", "x", "--max-segments", "2"], "--max-segments goes with --merge"),
    (["--merge", "--missing", "skip"], "--missing goes with --delete"),
    (["--input", "x", "--shards", "0"], "--shards is 0; it must be at least 1"),
    (["--input", "x", "--shards", "1"], "--shards needs --ray: the address of a Ray cluster, or local"),
    (["--input", "x", "--threads", "0"], "--threads is 0; it must be at least 1"),
    *(([*words, "--ray", "local"], RAY) for words in (["--append"], ["--merge"], ["--stats"], ["--verify"])),
    *(([*words, "--ray", "local"], RAY) for words in (["--update"], ["--delete", "x"])),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=lambda value: "-".join(value)[:30])
def test_options_that_do_not_go_together(
    call: Runner, directory: Path, options: list[str], told: str
) -> None:
    before = content(directory)
    assert_fault(call(main, "--index", directory, *options), 2, told)
    assert content(directory) == before


@pytest.mark.parametrize("options", [["--append", "--input", "x"], ["--delete", "x"], ["--merge"]])
def test_there_must_be_an_index_to_change(call: Runner, tmp_path: Path, options: list[str]) -> None:
    result = call(main, "--index", tmp_path / "none", *options)
    assert_fault(result, 1, "no such index directory; build one with python -m seal_ir.index")
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_two_writers_in_processes_of_their_own(directory: Path, tmp_path: Path) -> None:
    from seal_ir.index.indexer import SealIndexer

    more = write(tmp_path / "more.jsonl", Document("n1", "", "sea"))
    arguments = ["--index", directory, "--append", "--input", more]
    with SealIndexer(directory):
        assert_fault(
            spawn("seal_ir.index", *arguments), 2, "another process is building this index; wait for it"
        )
    assert spawn("seal_ir.index", *arguments).code == 0
