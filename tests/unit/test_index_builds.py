"""Building an index directory: whole or not at all, whatever fails, and nothing left behind."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.index import builder, document_writing, engine
from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.indexes import NEW, content

EARLIER = Path(__file__).parents[1] / "data" / "index_v2_native"


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("original") / "index"
    tiny.build(directory, max_segment_tokens=100)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "index"))


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
    ("source", "error"),
    [(_raising, InputError), (_interrupted, KeyboardInterrupt), (lambda: [], InputError)],
)
def test_d7_a_build_that_fails_leaves_the_old_index(
    directory: Path, source: Callable[[], Iterator[Document]], error: type[BaseException]
) -> None:
    before = content(directory)
    with pytest.raises(error):
        tiny.build(directory, source(), max_segment_tokens=60)
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
        patch.setattr(document_writing, "TableWriter", full)
        with pytest.raises(IndexDirError, match="cannot write the index: No space left on device"):
            tiny.build(directory)
    for fault, told in ((lost, "is the disk full"), (memory, "not enough memory")):
        with monkeypatch.context() as patch:
            patch.setattr(engine, "extension", lambda name, fault=fault: SimpleNamespace(build=fault))
            with pytest.raises(IndexDirError, match=told):
                tiny.build(directory, engine=EngineSpec("sdsl"))
    with monkeypatch.context() as patch:
        patch.setattr(builder, "commit", full)
        with pytest.raises(IndexDirError, match="No space left"):
            tiny.build(directory)
    assert content(directory.parent) == {f"{directory.name}/{name}": data for name, data in before.items()}


def test_d7_two_builds_of_one_index(directory: Path) -> None:
    def other() -> Iterator[Document]:
        with pytest.raises(UsageError, match=r"index: another process is building this index; wait for it"):
            tiny.build(directory, NEW)
        yield from NEW * 1

    tiny.build(directory, other())
    assert Index(directory).documents([0]) == NEW
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


def test_the_root_is_no_index() -> None:
    with pytest.raises(UsageError, match="/: cannot be an index; name a directory below it"):
        tiny.build(Path("/"))


@pytest.mark.parametrize("name", [MANIFEST, "fm.bin"])
def test_d7_the_new_index_cannot_take_its_place(
    directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(directory)
    replace = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if self.name == name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(IndexDirError, match="Input/output error"):
        tiny.build(directory, NEW)
    assert content(directory) == before
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]


def test_d7_killed_between_the_two_renames_of_an_earlier_version(directory: Path) -> None:
    working, old = directory.with_name(".index.building"), directory.with_name(".index.old")
    shutil.copytree(EARLIER, working)
    shutil.rmtree(directory)
    shutil.copytree(EARLIER, old)
    with pytest.raises(InputError):
        tiny.build(directory, [])
    assert Index(directory).n_documents == 4  # put back, though the build failed
    shutil.copytree(EARLIER, old)
    tiny.build(directory, NEW)
    assert Index(directory).documents([0]) == NEW
    assert [path.name for path in directory.parent.iterdir()] == [directory.name]
