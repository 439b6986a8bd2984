"""An index directory: written whole or not at all, checked when it is opened."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import seal_ir
from seal_ir.errors import IndexDirError, InputError, ModelError, UsageError
from seal_ir.index import builder, engine, reader
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.manifest import MANIFEST, manifest_checksum, read_manifest
from seal_ir.index.reader import Index
from seal_ir.records import Document
from seal_ir.text.tokenizer import TextTokenizer
from tests import tiny

NEW = [Document("new", "New", "Another text.")]
FILES = [
    "segment-000000/fm.bin",
    "segment-000000/ids.arrow",
    "segment-000000/by_id.npy",
    "segment-000000/texts.arrow",
    "segment-000001/fm.bin",
    "tokenizer.json",
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("original") / "index"
    tiny.build(directory, max_segment_tokens=100)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "index"))


def edit(directory: Path, **values: Any) -> None:
    """Change the manifest by hand and make its checksum agree, or every change would be found by that."""
    path = directory / MANIFEST
    known = json.loads(path.read_text(encoding="utf-8")) | values
    del known["checksum"]
    path.write_text(json.dumps(known | {"checksum": manifest_checksum(known)}), encoding="utf-8")


def content(directory: Path) -> dict[str, bytes]:
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def refused(directory: Path) -> str:
    with pytest.raises(IndexDirError) as error:
        Index(directory)
    assert "\n" not in str(error.value)
    assert "python -m seal_ir.index" in str(error.value)
    return str(error.value)


def test_the_files_are_those_of_the_manifest(original: Path) -> None:
    manifest = read_manifest(original)
    assert len(manifest.segments) == 2
    assert set(content(original)) == {*manifest.files, MANIFEST}
    assert set(FILES) < set(manifest.files)
    assert Index(original).size_in_bytes() == sum(map(len, content(original).values())) - len(
        (original / MANIFEST).read_bytes()
    )


def test_d6_the_untouched_copy_opens(directory: Path) -> None:
    assert Index(directory).documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS


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
        {"segments": [{"name": "s", "engine": "sdsl", "n_documents": "7", "n_tokens": "160"}]},
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


@pytest.mark.parametrize("version", [0, 2, 99, "1", 1.0, True, None, [1]])
def test_d5_other_format_version(directory: Path, version: object) -> None:
    path = directory / MANIFEST
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(values | {"format": version}), encoding="utf-8")
    told = refused(directory)
    assert f"{path}: index format {version}, this program reads 1; rebuild" in told


def test_d5_a_newer_manifest_need_not_be_understood(directory: Path) -> None:
    (directory / MANIFEST).write_text('{"format": 2, "shards": {}}', encoding="utf-8")
    assert "index format 2, this program reads 1" in refused(directory)


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
    fresh = builder.describe_files(directory)
    edit(directory, files=files | {"tokenizer.json": fresh["tokenizer.json"]})
    assert "tokenizer.json is not the index's own; rebuild" in refused(directory)
    path.write_text("{}", encoding="utf-8")
    edit(directory, files=builder.describe_files(directory))
    with pytest.raises(ModelError, match="not a tokenizer.json"):
        Index(directory)


def test_an_engine_that_is_not_there(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "seal_ir._sdsl", None)
    monkeypatch.delattr(seal_ir, "_sdsl", raising=False)
    for call in (lambda: Index(directory), lambda: tiny.build(tmp_path / "other")):
        with pytest.raises(IndexDirError, match=r"not built here: install libsdsl-dev .*make install"):
            call()
    assert not (tmp_path / "other").exists()


def test_an_engine_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(IndexDirError, match="unknown index engine 'bwt'; this version has: sdsl"):
        build_index(tiny.DOCUMENTS, tmp_path / "i", tiny.tokenizer(), tiny.about, BuildOptions(engine="bwt"))
    assert list(tmp_path.iterdir()) == []


def test_same_documents_same_bytes(original: Path, tmp_path: Path) -> None:
    tiny.build(tmp_path / "again", iter(tiny.DOCUMENTS), max_segment_tokens=100)
    assert content(tmp_path / "again") == content(original)


def test_rebuild_takes_the_place_of_the_old_index(directory: Path) -> None:
    before = Index(directory)
    tiny.build(directory, NEW)
    assert Index(directory).documents([0]) == NEW
    assert before.documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS  # a reader keeps what it opened
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}


def test_a_link_to_an_index_stays_a_link(directory: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(directory, target_is_directory=True)
    tiny.build(link, NEW)
    assert link.is_symlink()
    assert Index(directory).documents([0]) == NEW
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", "link"]


def test_relative_and_odd_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/b/c", "東京 index", "@here", "a/../d", "./e/"):
        tiny.build(Path(name), NEW)
        assert Index(name).documents([0]) == NEW
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    tiny.build(Path(), NEW)
    assert Index(tmp_path / "empty").documents([0]) == NEW


def test_what_is_not_an_index_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.txt").write_text("precious")
    with pytest.raises(UsageError, match="holds files that are not an index"):
        tiny.build(tmp_path / "thesis")
    with pytest.raises(UsageError, match="is a file"):
        tiny.build(tmp_path / "thesis" / "chapter1.txt")
    assert content(tmp_path) == {"thesis/chapter1.txt": b"precious"}
    (tmp_path / "empty").mkdir()
    tiny.build(tmp_path / "empty", NEW)
    assert Index(tmp_path / "empty").n_documents == 1


@pytest.mark.parametrize("name", ["file/below", "x" * 300])
def test_a_place_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IndexDirError, match="cannot write the index"):
        tiny.build(tmp_path / name)


def _raising() -> Iterator[Document]:
    yield from tiny.DOCUMENTS
    raise InputError("line 8 is malformed")


def _interrupted() -> Iterator[Document]:
    yield from tiny.DOCUMENTS
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("documents", "error"),
    [(_raising, InputError), (_interrupted, KeyboardInterrupt), (lambda: [], InputError)],
)
def test_d7_a_build_that_fails_leaves_the_old_index(
    directory: Path, documents: Callable[[], Iterator[Document]], error: type[BaseException]
) -> None:
    before = content(directory)
    with pytest.raises(error):
        tiny.build(directory, documents(), max_segment_tokens=60)
    assert content(directory.parent) == {f"{directory.name}/{name}": data for name, data in before.items()}
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)


def test_d7_a_full_disk(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = content(directory)

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def lost(*args: object) -> None:
        raise RuntimeError("construction lost symbols; is the disk full?")

    def memory(*args: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(builder, "write_documents", full)
        with pytest.raises(IndexDirError, match="cannot write the index: No space left on device"):
            tiny.build(directory)
    for fault, told in ((lost, "is the disk full"), (memory, "not enough memory")):
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_sdsl", lambda name, fault=fault: SimpleNamespace(build=fault))
            with pytest.raises(IndexDirError, match=told):
                tiny.build(directory)
    with monkeypatch.context() as patch:
        patch.setattr(builder, "_replace", full)
        with pytest.raises(IndexDirError, match="No space left"):
            tiny.build(directory)
    assert content(directory.parent) == {f"{directory.name}/{name}": data for name, data in before.items()}


def test_d7_the_new_index_cannot_take_its_place(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if self.name.endswith(".building"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(IndexDirError, match="Input/output error"):
        tiny.build(directory, NEW)
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


def test_d7_killed_between_the_two_renames(directory: Path) -> None:
    working, old = directory.with_name(".index.building"), directory.with_name(".index.old")
    shutil.copytree(directory, working)
    directory.rename(old)
    with pytest.raises(InputError):
        tiny.build(directory, [])
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)  # put back, though the build failed
    shutil.copytree(directory, old)
    tiny.build(directory, NEW)
    assert Index(directory).documents([0]) == NEW
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


KILLED = """
import sys, time
from pathlib import Path
from tests import tiny

def documents():
    yield from tiny.DOCUMENTS * 200
    print("ready", flush=True)
    time.sleep(60)

tiny.build(Path(sys.argv[1]), documents(), max_segment_tokens=5000)
"""


def test_d7_killed_in_the_middle(directory: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(directory)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    debris = directory.with_name(".index.building")
    assert (debris / "segment-000000" / "fm.bin").is_file()
    assert Index(directory).documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS
    refused(debris)  # an unfinished index is none
    tiny.build(directory, NEW)
    assert Index(directory).documents([0]) == NEW
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


def test_d10_nothing_is_pickled(original: Path) -> None:
    for name, data in content(original).items():
        assert not data.startswith(b"\x80"), name
        assert b"'descr': '|O'" not in data, name


def test_manifest_of_a_lossless_round_trip(original: Path) -> None:
    manifest = read_manifest(original)
    assert json.loads((original / MANIFEST).read_text(encoding="utf-8")) == json.loads(manifest.to_json())
    assert manifest.tokenizer == TextTokenizer.from_file(original / "tokenizer.json").fingerprint
    assert (manifest.model, manifest.fields) == ("tiny", ("title", "body"))
