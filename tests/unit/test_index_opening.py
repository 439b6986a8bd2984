"""What opening a generation says of files that do not go with its manifest."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.index import tiers
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import MANIFEST, Manifest, describe_files, read_manifest
from seal_ir.index.opening import Check, open_generation
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.indexes import edit

REBUILD = "rebuild it with python -m seal_ir.index"


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of an index, a document of which is deleted, and another segment."""
    monkeypatch.setattr(tiers, "FANOUT", 1000)
    monkeypatch.setattr(tiers, "MOST_DEAD", 0)
    path = Path(shutil.copytree(tiny_index, tmp_path / "index"))
    with SealIndexer(path) as writer:
        writer.delete(["d1"])
        writer.add([tiny.DOCUMENTS[0]._replace(id="new")])
    return path


def told(directory: Path, check: Check = "bytes", manifest: Manifest | None = None) -> str:
    with pytest.raises(IndexDirError) as error:
        open_generation(directory, check, manifest)
    return str(error.value)


def values_of(directory: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    return known


@pytest.mark.parametrize("check", ["bytes", "sizes"])
def test_a_generation_is_that_of_its_manifest(directory: Path, check: Check) -> None:
    opened = open_generation(directory, check)
    assert opened.manifest == read_manifest(directory)
    assert tiny.TextTokenizer(opened.tokenizer.decode()).fingerprint == opened.manifest.tokenizer
    assert [engine.n_documents for engine in opened.engines] == [6, 1]
    assert [table.id(0) for table in opened.tables] == ["d2", "new"]
    assert opened.stores is not None
    one = Manifest(**{**vars_of(opened.manifest), "segments": opened.manifest.segments[1:]})
    alone = open_generation(directory, check, one)
    assert (alone.manifest, len(alone.engines), alone.tables[0].id(0)) == (one, 1, "new")


def test_records_and_stored_fields_are_those_of_live_documents(tmp_path: Path) -> None:
    documents = [
        Document(f"d{number}", "", "sea", f'{{"id": "d{number}"}}', stored=(("year", number),))
        for number in range(5)
    ]
    tiny.build(tmp_path / "index", documents, store_raw=True, store=("year:int",))
    with SealIndexer(tmp_path / "index") as writer:
        writer.delete(["d2"])
    (table,) = open_generation(tmp_path / "index", "sizes").tables
    assert table.raws([1, 2]) == ['{"id": "d1"}', '{"id": "d3"}']
    assert table.stored_values(np.array([2, 0])) == [(("year", 3),), (("year", 0),)]
    assert table.stored.to_pydict() == {"id": ["d0", "d1", "d3", "d4"], "year": [0, 1, 3, 4]}


def vars_of(manifest: Manifest) -> dict[str, Any]:
    return {name: getattr(manifest, name) for name in Manifest.__slots__}


def test_checks_that_there_are(directory: Path) -> None:
    with pytest.raises(UsageError) as error:
        open_generation(directory, "all")  # type: ignore[arg-type]
    assert str(error.value) == "check is 'all'; choose one of bytes, sizes"


def test_deletions_that_are_not_those_of_the_manifest(directory: Path) -> None:
    values = values_of(directory)
    first = values["segments"][0]
    path = directory / first["deleted"]["file"]
    path.write_bytes(path.read_bytes()[:-8] + np.array([1], "<i8").tobytes())  # d2, and not d1
    lengths = [len(tiny.stream_of(d.title)) + len(tiny.stream_of(d.text)) + 2 for d in tiny.DOCUMENTS]
    live = first["n_tokens"] - lengths[1]
    assert told(directory, "sizes") == (
        f"{directory / MANIFEST}: damaged ({live} tokens of {first['name']} are live, not"
        f" {first['n_tokens'] - lengths[0]}); {REBUILD}"
    )


def test_a_tokenizer_that_is_not_the_manifests(directory: Path) -> None:
    values = values_of(directory)
    name = read_manifest(directory).tokenizer_file
    other = values["files"] | {name: values["files"][name] | {"sha256": "0" * 64}}
    for files in (other, {n: entry for n, entry in values["files"].items() if n != name}):
        edit(directory, files=files)
        named = name if name in files else "tokenizer.json"
        assert told(directory, "sizes") == f"{directory}: {named} is not the index's own; {REBUILD}"
    edit(directory, files=values["files"])
    path = directory / name
    path.write_bytes(b"x" * path.stat().st_size)
    assert told(directory) == f"{path}: damaged, its checksum differs from index.json; {REBUILD}"
    assert open_generation(directory, "sizes").tokenizer == b"x" * path.stat().st_size


def test_an_engine_that_trusts_its_file_must_have_one(directory: Path) -> None:
    values = values_of(directory)
    segments = [part | {"engine": "sdsl"} for part in values["segments"]]
    files = {name: entry for name, entry in values["files"].items() if not name.endswith("fm.bin")}
    edit(directory, segments=segments, files=files)
    assert told(directory, "sizes") == f"{directory / MANIFEST}: damaged (a segment has no engine); {REBUILD}"


def test_a_store_of_another_segment(directory: Path, tiny_index: Path, tmp_path: Path) -> None:
    """Where documents are deleted, it has not those that are live."""
    first, second = (part["name"] for part in values_of(directory)["segments"])
    shutil.copy(directory / second / "tokens.bin", directory / first / "tokens.bin")
    edit(directory, files=describe_files(directory))
    path = directory / first / "tokens.bin"
    assert told(directory) == f"{path}: live documents are not ascending numbers of its 1; {REBUILD}"
    n_tokens = read_manifest(directory).segments[1].n_tokens
    whole = Path(shutil.copytree(tiny_index, tmp_path / "whole"))
    (path,) = whole.glob("*/tokens.bin")
    shutil.copy(directory / second / "tokens.bin", path)
    edit(whole, files=describe_files(whole))
    assert told(whole) == f"{path}: damaged (it holds 1 documents of {n_tokens} tokens); {REBUILD}"
