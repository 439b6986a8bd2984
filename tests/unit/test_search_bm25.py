"""The Lucene twin of an index: when it is built, of what, and what becomes of it; Lucene is a stand-in."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.index.reader import Index
from seal_ir.records import Document
from seal_ir.search import bm25
from seal_ir.search.bm25 import ABOUT, lucene_twin, write_documents
from tests.helpers import tiny


class Lucene:
    """Keeps the documents it is given; `short` fewer than it was given, or `fails` as it begins."""

    def __init__(self) -> None:
        self.given: list[dict[str, str]] = []
        self.short = 0
        self.fails: BaseException | None = None

    def build(self, source: Path, target: Path, threads: int) -> int:
        if self.fails is not None:
            raise self.fails
        lines = [line for path in sorted(source.iterdir()) for line in path.read_text("utf-8").splitlines()]
        self.given = [json.loads(line) for line in lines]
        target.mkdir()
        (target / "segments_1").touch()
        return len(lines) - self.short


@pytest.fixture
def lucene(monkeypatch: pytest.MonkeyPatch) -> Lucene:
    fake = Lucene()
    monkeypatch.setattr(bm25, "build_lucene_index", fake.build)
    monkeypatch.setattr(bm25, "_BLOCK", 3)
    monkeypatch.setattr(bm25, "_FILE_DOCUMENTS", 4)
    return fake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "lucene"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_lucene_gets_every_document_as_it_was_read(lucene: Lucene, tiny_index: Path, folder: Path) -> None:
    twin = lucene_twin(Index(tiny_index), folder)
    assert lucene.given == [
        {"id": d.id, "title": d.title, "contents": f"{d.title}\n{d.text}" if d.title else d.text}
        for d in tiny.DOCUMENTS
    ]
    assert names(folder) == [twin.name]
    about = json.loads((twin / ABOUT).read_text(encoding="utf-8"))
    assert about == {"index": str(tiny_index.resolve()), "n_documents": len(tiny.DOCUMENTS)}


def test_a_twin_is_built_once_for_each_state_of_an_index(
    lucene: Lucene, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    tiny.build(one)
    tiny.build(two)
    first = lucene_twin(Index(one), folder)
    assert f"bm25: giving 7 documents to Lucene, once, for {first}\n" in capsys.readouterr().err
    lucene.given = []
    assert lucene_twin(Index(one), folder) == first
    assert (lucene.given, capsys.readouterr().err) == ([], "")
    other = lucene_twin(Index(two), folder)
    (folder / "one-of-the-users").mkdir()
    (folder / "one-stray").touch()
    tiny.build(one, max_segment_tokens=60)
    second = lucene_twin(Index(one), folder)
    assert len(lucene.given) == 7
    assert names(folder) == sorted([second.name, other.name, "one-of-the-users", "one-stray"])
    assert first != second


def test_documents_in_files_for_threads(lucene: Lucene, tmp_path: Path) -> None:
    for n, sizes in ((0, []), (1, [1]), (4, [4]), (9, [4, 4, 1])):
        source = tmp_path / str(n)
        source.mkdir()
        write_documents((Document(f"d{i}", "", f"text\u2028{i}") for i in range(n)), source)
        read = [path.read_bytes().split(b"\n")[:-1] for path in sorted(source.iterdir())]
        assert [len(lines) for lines in read] == sizes
        assert [json.loads(line)["id"] for lines in read for line in lines] == [f"d{i}" for i in range(n)]


def test_lucene_that_takes_too_few_leaves_nothing(lucene: Lucene, tiny_index: Path, folder: Path) -> None:
    lucene.short = 1
    with pytest.raises(IndexDirError, match="Lucene took 6 of 7 documents; look for records without words"):
        lucene_twin(Index(tiny_index), folder)
    assert names(folder) == []


@pytest.mark.parametrize("fault", [IndexDirError, KeyboardInterrupt])
def test_a_build_that_fails_leaves_nothing(
    lucene: Lucene, tiny_index: Path, folder: Path, fault: type[BaseException]
) -> None:
    lucene.fails = fault("it said no")
    with pytest.raises(fault, match="it said no"):
        lucene_twin(Index(tiny_index), folder)
    assert names(folder) == []
    lucene.fails = None
    assert lucene_twin(Index(tiny_index), folder).is_dir()


def test_debris_of_a_killed_build_is_cleared(lucene: Lucene, tiny_index: Path, folder: Path) -> None:
    twin = lucene_twin(Index(tiny_index), folder)
    debris = twin.with_name(f".{twin.name}.new.building")
    twin.rename(debris)
    assert lucene_twin(Index(tiny_index), folder) == twin
    assert names(folder) == [twin.name]


def test_debris_of_older_states_is_cleared_and_no_one_elses(
    lucene: Lucene, tiny_index: Path, folder: Path
) -> None:
    """The index has changed since a build of its twin was killed: no build of that name comes again."""
    killed, other = f".{tiny_index.name}-0123.new.building", ".else-0123.new.building"
    for name in (killed, other):
        (folder / name / "documents").mkdir(parents=True)
    twin = lucene_twin(Index(tiny_index), folder)
    assert names(folder) == sorted([other, twin.name])


def test_another_process_was_quicker(
    lucene: Lucene, tiny_index: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there when the lock is ours: nothing is built."""
    seen: list[Path] = []

    def is_lucene_index(path: Path) -> bool:
        seen.append(path)
        return len(seen) > 1

    monkeypatch.setattr(bm25, "is_lucene_index", is_lucene_index)
    lucene_twin(Index(tiny_index), folder)
    assert (len(seen), lucene.given) == (2, [])


def test_no_room(lucene: Lucene, tiny_index: Path, folder: Path) -> None:
    lucene.fails = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(
        UsageError, match=r"cannot be written \(No space left on device\); make room, set SEAL_"
    ):
        lucene_twin(Index(tiny_index), folder)
    folder.rmdir()
    folder.touch()
    with pytest.raises(UsageError, match="cannot be written"):
        lucene_twin(Index(tiny_index), folder)
