"""What killed builds, earlier versions and others left in the folder of an index."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.index.directory import WORKING
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.index.registry import find_index
from tests.helpers import tiny
from tests.helpers.generations import check_whole, collection
from tests.helpers.indexes import NEW, content, refused

FROZEN = Path(__file__).parents[1] / "data" / "index_v2_native"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    tiny.build(tmp_path / "index", collection("a"), store_raw=True)
    return tmp_path / "index"


def test_what_is_not_of_an_index_stays_beside_it(directory: Path) -> None:
    (directory / "README").write_text("mine")
    (directory / "segment-notes").mkdir()
    tiny.build(directory, NEW)
    names = {*read_manifest(directory).files, MANIFEST, "README"}
    assert set(content(directory)) == names
    assert (directory / "segment-notes").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
@pytest.mark.parametrize("name", [WORKING, "segment-000007-0123456789ab", "tokenizer.01234567.json"])
def test_leftovers_do_not_block_whatever_they_are(directory: Path, name: str, kind: str) -> None:
    (directory.parent / "elsewhere").mkdir()
    (directory.parent / "elsewhere" / "precious").touch()
    if kind == "file":
        (directory / name).touch()
    elif kind == "folder":
        (directory / name / "below").mkdir(parents=True)
    else:
        (directory / name).symlink_to(directory.parent / "elsewhere")
    assert check_whole(Index(directory)) == "a"  # a reader neither minds nor removes them
    assert os.path.lexists(directory / name)
    tiny.build(directory, collection("b"))
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}
    assert not os.path.lexists(directory / name)
    assert (directory.parent / "elsewhere" / "precious").exists()


def test_a_build_that_fails_clears_what_interrupted_ones_left(tmp_path: Path) -> None:
    (tmp_path / "segment-000007-0123456789ab").mkdir()
    (tmp_path / "tokenizer.01234567.json").touch()
    with pytest.raises(InputError, match="no documents"):
        tiny.build(tmp_path, [])
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_first_build_of_an_earlier_version(tmp_path: Path) -> None:
    shutil.copytree(FROZEN, tmp_path / ".index.building")
    (tmp_path / ".index.building" / "temporary-segment-000001").mkdir()
    (tmp_path / ".index.lock").touch()
    assert "index: incomplete, its first build was interrupted; run the same" in refused(tmp_path / "index")
    tiny.build(tmp_path / "index", NEW)
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


def test_death_between_the_renames_of_an_earlier_version_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a bare name, too, which could be that of a registered index."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(FROZEN, ".index.old")
    shutil.copytree(FROZEN, ".index.building")
    told = refused(find_index("index", Places.from_environment()))
    assert "index: a build was killed while it replaced this index, which is whole in .index.old;" in told
    assert "rename that to index, or build again" in told
    Path(".index.old").rename("index")
    assert Index("index").n_documents == 4


def test_a_folder_of_others_that_looks_like_debris_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".index.building").mkdir()
    (tmp_path / ".index.building" / "vectors").touch()
    tiny.build(tmp_path / "index", NEW)
    assert (tmp_path / ".index.building" / "vectors").exists()
    folder = tiny.save_tokenizer(tmp_path / "model")  # a tokenizer.json alone: a model's, not an old index's
    with pytest.raises(UsageError, match="holds files that are not an index"):
        tiny.build(folder)
    assert list(content(folder)) == ["tokenizer.json"]
