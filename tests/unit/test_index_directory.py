"""What is said of a directory that holds no index, and what killed builds left that is cleared."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.index.directory import damaged, has_beside, is_earlier, is_own, unwritable, why_absent
from seal_ir.index.replacing import built_elsewhere, check_empty, clear_killed

BUILD = "python -m seal_ir.index"


def test_names_that_only_a_build_gives() -> None:
    own = [".building", ".lock", "segment-000000-0123456789ab", "tokenizer.01234567.json"]
    assert all(map(is_own, [*own, "deleted.0123456789ab.npy"]))
    earlier = ["segment-000000", "tokenizer.json"]
    assert all(map(is_earlier, earlier))
    others = [
        "",
        "segment-0",
        "segment-000000-0123456789abc",
        "README",
        "tokenizer.0123456.json",
        "index.json",
    ]
    assert not any(map(is_own, [*earlier, *others]))
    assert not any(map(is_earlier, [*own, *others]))


@pytest.mark.parametrize("left", [[], [".index.old"], [".index.building"], [".index.old", ".index.building"]])
def test_what_earlier_versions_left_beside_an_index(tmp_path: Path, left: list[str]) -> None:
    for name in left:
        (tmp_path / name).mkdir()
    directory = tmp_path / "index"
    assert has_beside(directory) == bool(left)
    if ".index.old" in left:
        told = (
            f"a build was killed while it replaced this index, which is whole in {tmp_path / '.index.old'};"
            f" rename that to {directory}, or build again with {BUILD}"
        )
    elif left:
        told = f"incomplete, its first build was interrupted; run the same {BUILD} command again"
    else:
        told = f"no such index directory; build one with {BUILD}"
    assert why_absent(directory) == f"{directory}: {told}"


def test_a_directory_without_a_manifest(tmp_path: Path) -> None:
    assert not has_beside(Path("/"))
    assert why_absent(tmp_path) == (
        f"{tmp_path}: not an index, it has no index.json; rebuild it with {BUILD}"
    )
    (tmp_path / "tokenizer.01234567.json").touch()
    assert why_absent(tmp_path) == (
        f"{tmp_path}: incomplete, its first build is still running or was interrupted; wait for it, or run"
        f" the same {BUILD} command again"
    )


def test_errors_are_one_line_whoever_wrote_them() -> None:
    full = OSError(errno.ENOSPC, "[WinError 112] theirs", "/some/file")
    assert str(unwritable(Path("i"), full)) == "i: cannot write the index: No space left on device"
    assert str(unwritable(Path("i"), OSError("two\nlines"))) == "i: cannot write the index: two lines"
    assert (
        str(damaged(Path("f"), ValueError("two\nlines")))
        == f"f: damaged (two lines); rebuild it with {BUILD}"
    )


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    check_empty(tmp_path / "none")
    check_empty(tmp_path)
    (tmp_path / "file").touch()
    told = {
        tmp_path: "holds files that are not an index; choose an empty or new directory",
        tmp_path / "file": "is a file; give a directory for the index",
    }
    for path, what in told.items():
        with pytest.raises(UsageError) as error:
            check_empty(path)
        assert str(error.value) == f"{path}: {what}"
    elsewhere = built_elsewhere(tmp_path)
    assert str(elsewhere) == f"{tmp_path}: another process is building this index; wait for it"


def test_what_killed_builds_of_some_names_left_is_cleared(tmp_path: Path) -> None:
    stays = [".a-b.1.building", ".other.building", "a.b.building", ".a.b.building.old"]
    for name in [*stays, ".a.b.building", ".a.b-1\n2.building"]:
        (tmp_path / name / "below").mkdir(parents=True)
    clear_killed(tmp_path, "a.b")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stays)
