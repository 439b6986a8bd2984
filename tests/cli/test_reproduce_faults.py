"""`python -m seal_ir.reproduce`: whatever befalls the files that it writes itself, and two of it at once."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from seal_ir.formats.io import files
from seal_ir.formats.io.outputs import alone_in
from seal_ir.reproduce import steps
from seal_ir.reproduce.__main__ import main
from seal_ir.reproduce.spec import Step
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.tables import arguments, two, write_data

PAGE = "# Title\n\n<!-- table two -->\nold\n<!-- end of table -->\nrest\n"
OWN = (
    "topics.tsv",
    "steps.json",
    "two.txt",
    "two.md",
    "two.tex",
    "two.csv",
    "two.json",
    "page.md",
    "two.toml",
)
# What was there before, and is not written again where it says the same.
OLD = dict.fromkeys(("topics.tsv", "two.txt", "two.md", "two.tex", "two.csv", "two.json"), "old\n")
OLD |= {"steps.json": '{"old": 1}'}
Fault = Callable[[pytest.MonkeyPatch, str], str]


@pytest.fixture(autouse=True)
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(step: Step, threads: int) -> float:
        shutil.copy(step.command[-2], step.command[-1])
        return 1.0

    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data")))
    monkeypatch.setattr(steps, "_perform", copied)
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")


def rename_fails(monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    put = files.put_in_place

    def refused(made: Path, target: Path) -> None:
        if target.name == name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(made), None, str(target))
        put(made, target)

    monkeypatch.setattr(files, "put_in_place", refused)
    return os.strerror(errno.EIO)


def disk_is_full(monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    opened = files.open_temporary

    def full(target: Path) -> Any:
        path, stream = opened(target)
        if target.name == name:
            stream.close()
            stream = Path("/dev/full").open("w", encoding="utf-8")  # noqa: SIM115 - the writer closes it
        return path, stream

    monkeypatch.setattr(files, "open_temporary", full)
    return os.strerror(errno.ENOSPC)


def nobody_may_write(monkeypatch: pytest.MonkeyPatch, name: str) -> str:
    opened = files.open_temporary

    def denied(target: Path) -> Any:
        if target.name == name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
        return opened(target)

    monkeypatch.setattr(files, "open_temporary", denied)
    return os.strerror(errno.EACCES)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [rename_fails, disk_is_full, nobody_may_write])
@pytest.mark.parametrize("name", OWN)
def test_a_file_that_cannot_be_written_is_told_and_stays_as_it_was(
    call: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fault: Fault
) -> None:
    more = ("--fresh", "--record", "--into", tmp_path / "page.md")
    assert call(main, *arguments(tmp_path, two())).code == 0
    (path,) = tmp_path.rglob(name)
    path.write_text(OLD.get(name) or path.read_text(encoding="utf-8"), encoding="utf-8")
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        reason = fault(patch, name)
        result = call(main, *arguments(tmp_path, two(), *more))
    assert result.code == 2
    assert result.err.splitlines()[-1].startswith(f"error: {path}: cannot be written ({reason})")
    assert path.read_bytes() == before
    assert not [left for left in tmp_path.rglob(".*") if left.is_file()]
    assert call(main, *arguments(tmp_path, two(), *more)).code == 0
    assert path.read_bytes() != before


def test_of_two_at_once_the_second_is_refused_and_changes_nothing(call: Runner, tmp_path: Path) -> None:
    assert call(main, *arguments(tmp_path, two())).code == 0
    kept = {path: path.read_bytes() for path in (tmp_path / "results").rglob("*") if path.is_file()}
    with alone_in(tmp_path / "results" / "two", "making this table"):
        refused = call(main, *arguments(tmp_path, two(), "--fresh"))
        assert_fault(refused, 2, "results/two: another process is making this table there; wait until it is")
        assert (
            call(main, *arguments(tmp_path, two().replace("Two", "2"), "--output", tmp_path / "x")).code == 0
        )
    assert {path: path.read_bytes() for path in kept} == kept
    assert call(main, *arguments(tmp_path, two(), "--fresh")).code == 0
