"""`python -m seal_ir.index.segments`, called in this process: what it tells the process that started it."""

from __future__ import annotations

import errno
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index import segments, stores
from seal_ir.index.segments import SegmentWriter, main
from seal_ir.records import Document


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Collects two documents; the arguments to build them. Its end is not bound to this process."""
    monkeypatch.setattr(segments, "_end_with_parent", lambda: None)

    def begun() -> list[str]:
        writer = SegmentWriter(tmp_path / "segment-000000", 100)
        for number in range(2):
            symbols = np.array([1, 20, 21, 3, 22 + number], dtype=np.uint32)
            writer.add(Document(f"d{number}", "", ""), symbols, writer.size_with(symbols), exact=True)
        writer.close()
        (tmp_path / "temporary").mkdir()
        return [str(writer.folder), str(tmp_path / "temporary"), "native", "default"]

    return begun


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    out = capsys.readouterr().out
    assert out.endswith("\n")
    assert out.isascii()
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.parametrize("layout", ["default", "small"])
def test_phases_are_told_and_files_left(
    begin: Callable[[], list[str]], capsys: pytest.CaptureFixture[str], layout: str
) -> None:
    arguments = [*begin()[:-1], layout]
    assert main(arguments) == 0
    lines = told(capsys)
    assert all(list(line) == ["phase"] for line in lines)
    has_store = layout == "default"
    assert ({"phase": "storing tokens"} in lines) == (lines[-1] == {"phase": "storing tokens"}) == has_store
    assert len(lines) > 1
    names = {path.name for path in Path(arguments[0]).iterdir()}
    assert names == {"fm.bin", "ids.arrow", "by_id.npy", "texts.arrow"} | (
        {"tokens.bin"} if has_store else set()
    )


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (IndexDirError("there: no room for \u00e9"), "there: no room for \u00e9"),
        (
            OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
            "{}: cannot write the index: No space left on device",
        ),
    ],
)
def test_errors_are_told(
    begin: Callable[[], list[str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    what: str,
) -> None:
    def failing(*args: object) -> None:
        raise error

    arguments = begin()
    monkeypatch.setattr(segments, "build_segment", failing)
    assert main(arguments) == 1
    assert told(capsys) == [{"error": what.format(arguments[0])}]


def test_a_store_that_cannot_be_written_is_told(
    begin: Callable[[], list[str]], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*args: object) -> None:
        raise RuntimeError("tokens.bin: No space left on device")

    arguments = begin()
    monkeypatch.setattr(stores, "extension", lambda name: SimpleNamespace(write_tokens=write))
    assert main(arguments) == 1
    assert told(capsys)[-1] == {"error": "the index cannot be written: tokens.bin: No space left on device"}


def test_it_ends_at_once_when_the_other_end_is_closed(
    begin: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    left, ended = [b"x", b"x", b""], []
    monkeypatch.setattr(os, "read", lambda handle, n: left.pop(0) if (handle, n) == (0, 1) else None)
    monkeypatch.setattr(os, "_exit", ended.append)
    segments._end_with_parent()
    assert (left, ended) == ([], [1])


def test_a_thread_waits_for_that_end(begin: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bool] = []
    waited = threading.Event()

    def waiting() -> None:
        started.append(threading.current_thread().daemon)
        waited.set()

    monkeypatch.setattr(segments, "_end_with_parent", waiting)
    assert main(begin()) == 0
    assert waited.wait(10)
    assert started == [True]
