"""What `--stats` counts, and the lines that it prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seal_ir.index import tiers
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.index.stats import as_table, statistics
from tests.helpers import tiny

VALUES = {
    "format": 5,
    "engine": "sdsl",
    "layout": "default",
    "library": "sdsl-lite, GPL",
    "model": "tiny",
    "tokenizer": "0123",
    "fields": ["title", "body"],
    "collection": {"kind": "test", "added": 3},
    "stored": {"year": "int", "lang": "string"},
    "raw": True,
    "n_documents": 1234,
    "n_tokens": 4000,
    "n_deleted": 5,
    "segments": [{"n_tokens": 1000}, {"n_tokens": 3000}],
    "merge_saves_bytes": 6000,
    "engine_bytes": {"tree": 1000, "samples": 24},
    "file_bytes": {"ids.arrow": 500, "fm.bin": 2000},
    "bytes": 2500,
}
TABLE = """\
documents    1,234
tokens       4,000
segments     2, of at most 3,000 tokens
deleted      5 documents; a merge would save 6,000 bytes
fields       title, body
stored       year (int), lang (string)
raw records  kept
model        tiny
tokenizer    0123
engine       sdsl, layout default (linked with sdsl-lite, GPL)
format       5
collection   kind test, added 3

size                       bytes  bits/token
engine: tree               1,000       2.000
engine: samples               24       0.048
file: fm.bin               2,000       4.000
file: ids.arrow              500       1.000
all files                  2,500       5.000"""


def test_the_table() -> None:
    assert as_table(VALUES) == TABLE
    bare = as_table(VALUES | {"library": "", "stored": {}, "raw": False}).splitlines()
    assert bare[5:7] == ["stored       no field", "raw records  not kept"]
    assert bare[9] == "engine       sdsl, layout default"


def test_what_is_counted(tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "MOST_DEAD", 0)
    directory = Path(shutil.copytree(tiny_index, tmp_path / "index"))
    with SealIndexer(directory) as writer:
        writer.delete(["d1", "d4"])
        writer.add([tiny.DOCUMENTS[0]._replace(id="new")])
    index = Index(directory)
    manifest = index.manifest
    first, second = manifest.segments
    assert first.deleted is not None
    files = [path for path in directory.rglob("*") if path.is_file() and path.name != "index.json"]
    sizes = {path.relative_to(directory).as_posix(): path.stat().st_size for path in files}
    of_first = sum(size for name, size in sizes.items() if name.startswith(first.name))
    by_name: dict[str, int] = {}
    for name, size in sizes.items():
        last = name.rpartition("/")[2]
        plain = "deleted.npy" if last.startswith("deleted") else last
        by_name[plain] = by_name.get(plain, 0) + size
    found = statistics(index)
    assert found.pop("file_bytes") == by_name
    assert found == {
        "format": 5,
        "engine": "native",
        "layout": "default",
        "library": "",
        "model": "tiny",
        "tokenizer": manifest.tokenizer,
        "fields": ["title", "body"],
        "collection": {"kind": "test", "added": 1, "deleted": 2},
        "stored": {},
        "raw": False,
        "n_documents": 6,
        "n_tokens": index.n_tokens,
        "n_deleted": 2,
        "segments": [
            {"name": first.name, "n_documents": 5, "n_tokens": first.n_live_tokens, "n_deleted": 2},
            {"name": second.name, "n_documents": 1, "n_tokens": second.n_tokens, "n_deleted": 0},
        ],
        "merge_saves_bytes": int(of_first * first.deleted.n_tokens / first.n_tokens)
        + sizes[first.deleted.file],
        "engine_bytes": index.engine_sizes(),
        "bytes": sum(sizes.values()),
    }
