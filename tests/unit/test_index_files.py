"""An index directory is checked when it is opened."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import seal_ir
from seal_ir.errors import IndexDirError, ModelError, UsageError
from seal_ir.index import manifest as manifests
from seal_ir.index import reader
from seal_ir.index.engine import ENGINES, EngineSpec
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.text.tokenizer import TextTokenizer
from tests import tiny
from tests.indexes import content, edit, refused

FILES = [
    "segment-000000/fm.bin",
    "segment-000000/ids.arrow",
    "segment-000000/by_id.npy",
    "segment-000000/texts.arrow",
    "segment-000000/raw.arrow",
    "segment-000001/fm.bin",
    "segment-000001/ids.arrow",
    "segment-000001/by_id.npy",
    "segment-000001/texts.arrow",
    "segment-000001/raw.arrow",
    "tokenizer.json",
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("original") / "index"
    documents = [document._replace(raw=f'{{"id": "{document.id}"}}') for document in tiny.DOCUMENTS]
    tiny.build(directory, documents, max_segment_tokens=100, store_raw=True)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "index"))


def test_the_files_are_those_of_the_manifest(original: Path) -> None:
    manifest = read_manifest(original)
    assert len(manifest.segments) == 2
    assert set(content(original)) == {*manifest.files, MANIFEST}
    assert set(FILES) == set(manifest.files)
    assert Index(original).size_in_bytes() == sum(map(len, content(original).values())) - len(
        (original / MANIFEST).read_bytes()
    )


def test_d6_the_untouched_copy_opens(directory: Path) -> None:
    assert Index(directory).documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS


def test_d6_sizes_are_always_checked(directory: Path) -> None:
    for name in FILES:
        whole = (directory / name).read_bytes()
        (directory / name).write_bytes(whole[:-1])
        with pytest.raises(IndexDirError, match=f"{name}: damaged, {len(whole) - 1} bytes"):
            Index(directory)
        (directory / name).unlink()
        with pytest.raises(IndexDirError, match=f"{name}: missing"):
            Index(directory)
        (directory / name).write_bytes(whole)
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)


@pytest.mark.parametrize("name", FILES)
def test_d6_damaged_files_are_named(directory: Path, name: str) -> None:
    path = directory / name
    whole = path.read_bytes()
    for at in (0, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        assert f"{path}: damaged, its checksum differs" in refused(directory)
    for part in (whole[:-1], whole[: len(whole) // 2], b"", whole + b"\0"):
        path.write_bytes(part)
        assert f"{path}: damaged, {len(part)} bytes instead of {len(whole)}" in refused(directory)
    path.unlink()
    assert f"{path}: missing" in refused(directory)


@pytest.mark.parametrize(
    "name", ["segment-000000/ids.arrow", "segment-000000/by_id.npy", "segment-000001/texts.arrow"]
)
def test_d6_damage_in_an_index_too_large_for_checksums(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "_CHECKSUM_LIMIT", 0)
    path = directory / name
    whole = path.read_bytes()
    path.write_bytes(b"x" * len(whole))
    assert f"{path}: damaged" in refused(directory)


def test_d6_small_files_of_a_large_index_are_checked(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = directory / "segment-000000" / "by_id.npy"
    monkeypatch.setattr(reader, "_CHECKSUM_LIMIT", 2 * path.stat().st_size)
    path.write_bytes(path.read_bytes()[:-8] + b"\0\0\0\0\0\0\0\1")
    assert f"{path}: damaged, its checksum" in refused(directory)


def test_d6_every_byte_of_the_manifest_counts(directory: Path) -> None:
    path = directory / MANIFEST
    whole = path.read_bytes()
    for at in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        with pytest.raises(IndexDirError, match="index.json"):
            read_manifest(directory)
    for at in range(0, len(whole) - 2, 50):
        path.write_bytes(whole[:at])
        with pytest.raises(IndexDirError, match="index.json: damaged"):
            read_manifest(directory)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "3", "null", '"index"', "\ufeff{}", "[" * 100_000, '{"format": 1}'],
    ids=str.__len__,
)
def test_d6_a_manifest_that_is_none(directory: Path, text: str) -> None:
    (directory / MANIFEST).write_text(text, encoding="utf-8")
    assert f"{directory / MANIFEST}: damaged" in refused(directory)
    (directory / MANIFEST).write_bytes(b"\xff\xfe")
    assert "damaged" in refused(directory)


@pytest.mark.parametrize(
    "values",
    [
        {"segments": 3},
        {"segments": [3]},
        {"segments": []},
        {"segments": [{"name": "segment-000000"}]},
        {"segments": [{"name": "s", "engine": "sdsl", "n_documents": 7, "n_tokens": 160}]},
        {
            "segments": [
                {"name": "s", "engine": "sdsl", "layout": "default", "n_documents": "7", "n_tokens": "1"}
            ]
        },
        {"library": None, "format": 1, "n_documents": 3},
        {"n_tokens": 1},
        {"fields": None},
        {"other": 1},
        {"files": None},
        {"files": {"tokenizer.json": 3}},
        {"files": {"tokenizer.json": {"sha256": "0"}}},
    ],
    ids=str,
)
def test_d6_a_manifest_edited_by_hand(directory: Path, values: dict[str, Any]) -> None:
    edit(directory, **values)
    assert f"{directory / MANIFEST}: damaged" in refused(directory)


@pytest.mark.parametrize("version", [0, 4, 99, "1", 1.0, True, None, [1]])
def test_d5_other_format_version(directory: Path, version: object) -> None:
    path = directory / MANIFEST
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"format": version}), encoding="utf-8")
    told = refused(directory)
    assert f"{path}: index format {version}, this program reads 1 to 3; rebuild" in told


def test_d5_a_newer_manifest_need_not_be_understood(directory: Path) -> None:
    (directory / MANIFEST).write_text('{"format": 4, "shards": {}}', encoding="utf-8")
    assert "index format 4, this program reads 1 to 3" in refused(directory)


def test_d5_an_older_format_opens(tmp_path: Path) -> None:
    """Format 1 said nothing of layouts and libraries, had one engine and no raw records."""
    directory = tmp_path / "index"
    tiny.build(directory, max_segment_tokens=100, engine=EngineSpec("sdsl"))
    values = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    del values["library"]
    for segment in values["segments"]:
        del segment["layout"]
    values |= {"format": 1, "files": manifests.describe_files(directory)}
    (directory / MANIFEST).write_text(json.dumps(values), encoding="utf-8")
    edit(directory)
    index = Index(directory, check="bytes")
    assert index.documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS
    assert index.raws([0, 6]) == [None, None]
    assert (index.manifest.version, index.manifest.segments[0].layout) == (1, "default")
    edit(directory, segments=3)
    assert "index.json: damaged" in refused(directory)


def test_paths_that_are_no_index(tmp_path: Path) -> None:
    assert "no such index directory" in refused(tmp_path / "none")
    assert "not an index, it has no index.json" in refused(tmp_path)
    (tmp_path / "file").touch()
    assert "no such index directory" in refused(tmp_path / "file")


def test_another_tokenizer(directory: Path) -> None:
    """By checksum, and, where the manifest was made to agree, by fingerprint."""
    pieces = json.loads(tiny.tokenizer().definition)
    pieces["model"]["merges"].pop()
    path = directory / "tokenizer.json"
    path.write_text(json.dumps(pieces), encoding="utf-8")
    files = dict(read_manifest(directory).files)
    assert str(path) in refused(directory)
    fresh = manifests.describe_files(directory)
    edit(directory, files=files | {"tokenizer.json": fresh["tokenizer.json"]})
    assert "tokenizer.json is not the index's own; rebuild" in refused(directory)


def test_another_tokenizer_that_nobody_has_checked(directory: Path) -> None:
    """Where only sizes were compared, it is found when it is used."""
    path = directory / "tokenizer.json"
    whole = path.read_text(encoding="utf-8")
    pieces = json.loads(whole)
    pieces["model"]["merges"].pop()
    changed = json.dumps(pieces, ensure_ascii=False).encode()
    path.write_bytes(changed.ljust(len(whole.encode())))
    with pytest.raises(IndexDirError, match=r"tokenizer.json is not the index's own; rebuild"):
        Index(directory).documents([0])
    path.write_text("x" * len(whole.encode()), encoding="utf-8")
    with pytest.raises(ModelError, match=r"not a tokenizer.json"):
        Index(directory).documents([0])


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    tiny.build(tmp_path / "index", engine=EngineSpec(name))
    monkeypatch.setitem(sys.modules, f"seal_ir._{name}", None)
    monkeypatch.delattr(seal_ir, f"_{name}", raising=False)
    build = lambda: tiny.build(tmp_path / "other", engine=EngineSpec(name))  # noqa: E731
    for call in (lambda: Index(tmp_path / "index"), build):
        with pytest.raises(IndexDirError, match=r"engine was not built here: .*make install"):
            call()
    assert not (tmp_path / "other").exists()


def test_an_engine_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown index engine 'bwt'; this version has: native, sdsl"):
        EngineSpec("bwt")
    tiny.build(tmp_path / "i")
    (segment,) = json.loads((tmp_path / "i" / MANIFEST).read_text(encoding="utf-8"))["segments"]
    edit(tmp_path / "i", segments=[segment | {"engine": "bwt"}])
    with pytest.raises(IndexDirError, match="unknown index engine 'bwt'; this version has: native, sdsl"):
        Index(tmp_path / "i")


def test_d10_nothing_is_pickled(original: Path) -> None:
    for name, data in content(original).items():
        assert not data.startswith(b"\x80"), name
        assert b"'descr': '|O'" not in data, name


def test_manifest_of_a_lossless_round_trip(original: Path) -> None:
    manifest = read_manifest(original)
    assert json.loads((original / MANIFEST).read_text(encoding="utf-8")) == json.loads(manifest.to_json())
    assert manifest.tokenizer == TextTokenizer.from_file(original / "tokenizer.json").fingerprint
    assert (manifest.model, manifest.fields) == ("tiny", ("title", "body"))
