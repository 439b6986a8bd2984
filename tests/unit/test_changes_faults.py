"""Changing an index where the disk is full, or a file is damaged: told, and the last commit stays."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index import committing, document_writing, tiers
from seal_ir.index.engine import EngineSpec
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.damage import flip
from tests.helpers.disks import full
from tests.helpers.indexes import content, edit, ids, refused

NEW = Document("new", "New", "Another text of the sea.")


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path) -> Path:
    """A copy of an index, that is to be changed."""
    return Path(shutil.copytree(tiny_index, tmp_path / "index"))


OLD = [document.id for document in tiny.DOCUMENTS]


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _full(*args: object, **options: object) -> Any:
    raise FULL


@pytest.mark.parametrize("name", ["build_segment", "named_by_content", "commit", "write_deleted"])
def test_a_disk_that_fills_during_a_commit_leaves_the_last_one(
    directory: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = content(directory)
    module = committing if hasattr(committing, name) else __import__("seal_ir.index.home", fromlist=["x"])
    with monkeypatch.context() as patch:
        patch.setattr(module, name, _full)
        with pytest.raises(IndexDirError) as error, SealIndexer(directory) as writer:
            writer.delete(["d1"])
            writer.add([NEW])
        assert str(error.value) == f"{directory}: cannot write the index: No space left on device"
    assert content(directory) == before
    with SealIndexer(directory) as writer:
        writer.delete(["d1"])
    assert ids(directory) == OLD[1:]


def test_a_disk_that_fills_while_documents_are_added_or_merged(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(directory)
    with monkeypatch.context() as patch:
        patch.setattr(document_writing, "TableWriter", _full)
        with pytest.raises(IndexDirError, match="No space left on device"), SealIndexer(directory) as writer:
            writer.add([NEW])
    assert content(directory) == before
    with SealIndexer(directory) as writer:
        writer.add([NEW])
    with monkeypatch.context() as patch:
        patch.setattr(document_writing, "TableWriter", _full)
        with pytest.raises(IndexDirError, match="No space left on device"), SealIndexer(directory) as writer:
            writer.merge()
    assert ids(directory) == [*OLD, "new"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "sdsl"])
def test_whatever_file_the_disk_has_no_room_for(tmp_path: Path, engine: str) -> None:
    """Each size of file that fails, one after the other, until the whole commit and its merge fit."""
    directory, n_failed = tmp_path / "index", 0
    tiny.build(directory, engine=EngineSpec(engine), store_raw=True)
    for n_bytes in (0, 100, 300, 600, 900, 1200, 1800, 2500, 4000, 6000, 10**6):
        before = content(directory)
        try:
            with full(n_bytes), SealIndexer(directory) as writer:
                writer.delete(["d1"])
                writer.add([NEW, Document("d8", "", "sea " * 200)])
                writer.commit()
                before = content(directory)
                writer.merge()
        except IndexDirError as error:
            n_failed += 1
            assert "\n" not in str(error)
            assert "cannot" in str(error)
            assert {n: d for n, d in content(directory).items() if ".building" not in n} == {
                n: d for n, d in before.items() if not n.startswith((".building", ".lock"))
            }
            if "d1" not in ids(directory):  # the commit fitted, and its merge did not
                break
        else:
            break
    assert n_failed > 3
    with SealIndexer(directory) as writer:
        writer.add([Document("d9", "", "sea")])
    assert "d9" in ids(directory)


def test_damage_is_not_merged_into_what_looks_sound(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.add([NEW])
    path = next(directory.glob("segment-000000-*/fm.bin"))
    flip(path)
    with pytest.raises(IndexDirError, match="fm.bin: damaged"), SealIndexer(directory) as writer:
        writer.merge()
    with pytest.raises(IndexDirError, match="fm.bin: damaged"):
        Index(directory)


def damaged_numbers(path: Path) -> None:
    numbers = np.load(path)
    path.write_bytes(path.read_bytes()[:128] + numbers[::-1].astype("<i8").tobytes())


NO_NUMBERS = r"deleted\.\w+\.npy: damaged \(not numbers of 7 documents, ascending\); rebuild it"
DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "absent": (lambda path: path.unlink(), "missing from the index"),
    "short": (lambda path: path.write_bytes(path.read_bytes()[:-8]), "damaged"),
    "unsorted": (damaged_numbers, NO_NUMBERS),
    "twice": (lambda path: path.write_bytes(path.read_bytes()[:-8] + path.read_bytes()[-16:-8]), NO_NUMBERS),
    "too large": (
        lambda path: path.write_bytes(path.read_bytes()[:-8] + np.array([7], "<i8").tobytes()),
        NO_NUMBERS,
    ),
    "negative": (
        lambda path: path.write_bytes(path.read_bytes()[:-16] + np.array([-1, 3], "<i8").tobytes()),
        NO_NUMBERS,
    ),
    "others": (
        lambda path: path.write_bytes(path.read_bytes()[:-8] + np.array([4], "<i8").tobytes()),
        "tokens of segment-000000-",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_deletions_are_told(directory: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "MOST_DEAD", 0)  # no segment is rewritten
    with SealIndexer(directory) as writer:
        writer.delete(["d2"])
        writer.delete(["d3#1"])
    (path,) = directory.glob("deleted.*.npy")
    DAMAGE[name][0](path)
    told = refused(directory)
    assert "deleted." in told
    with pytest.raises(IndexDirError, match=DAMAGE[name][1]):
        Index(directory, check="sizes")


@pytest.mark.parametrize(
    "deleted",
    [
        {"file": "deleted.0.npy", "n_documents": 1, "n_tokens": 1},
        {"file": "tokenizer", "n_documents": 8, "n_tokens": 1},
        {"file": "tokenizer", "n_documents": 0, "n_tokens": 1},
        {"file": "tokenizer", "n_documents": 1, "n_tokens": 10**6},
        {"n_documents": 1},
        "x",
    ],
)
def test_a_manifest_whose_deletions_make_no_sense_is_told(directory: Path, deleted: Any) -> None:
    known = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    (segment,) = known["segments"]
    if isinstance(deleted, dict) and deleted.get("file") == "tokenizer":
        deleted["file"] = next(name for name in known["files"] if name.startswith("tokenizer"))
    edit(directory, segments=[segment | {"deleted": deleted}])
    assert "damaged" in refused(directory)
