"""Processes that build segments, stood in for by the shell: what they tell, and how they end."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index import workers
from seal_ir.index.engine import EngineSpec
from seal_ir.index.memory import Budget, Size, segment_memory
from seal_ir.index.workers import Workers

FOLDER, TEMPORARY = Path("segment-000007"), Path("temporary")


def built(monkeypatch: pytest.MonkeyPatch, script: str, n: int = 1) -> list[str]:
    """Phases that were told when as many segments are built by a script of the shell."""
    monkeypatch.setattr(workers, "PROGRAM", ("/bin/sh", "-c", script, "sh"))
    told: list[str] = []
    with Workers(2, Budget(EngineSpec("native", "small"), 100)) as pool:
        for _ in range(n):
            pool.start(FOLDER, TEMPORARY, Size(1, 10), 1, told.append)
        pool.finish()
    return told


def test_phases_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    script = """printf '{"phase": "%s %s %s %s"}\\n{"phase": "last"}\\n' "$@" """
    asked = "segment-000007 temporary native small"
    assert built(monkeypatch, script) == [asked, "last"]
    assert sorted(built(monkeypatch, script, 3)) == ["last"] * 3 + [asked] * 3


@pytest.mark.parametrize(("threads", "segments", "most"), [(2, 9, 2), (3, 9, 3), (3, 2, 2), (2, 1, 1)])
def test_as_many_are_built_at_once_as_threads_and_memory_allow(
    monkeypatch: pytest.MonkeyPatch, threads: int, segments: int, most: int
) -> None:
    """`segments`: how many fit into the memory beside the reader."""
    running, seen, changed = 0, [], threading.Condition()

    def build(self: Workers, folder: Path, temporary: Path, told: object) -> None:
        nonlocal running
        with changed:
            running += 1
            seen.append(running)
            changed.notify_all()
            changed.wait_for(lambda: max(seen) == most, 10)  # so many come together, in the end
        time.sleep(0.01)  # would another come, too?
        with changed:
            running -= 1

    monkeypatch.setattr(Workers, "_build", build)
    monkeypatch.setattr(workers, "capped", int)
    spec, size = EngineSpec("native", "small"), Size(1000, 10)
    reader = Budget(spec, 100).reader(7)
    budget = Budget(spec, 100, reader + segments * segment_memory(spec, size))
    with Workers(threads, budget) as pool:
        for _ in range(5):
            pool.start(FOLDER, TEMPORARY, size, 7, print)
        pool.finish()
    assert (len(seen), max(seen)) == (5, most)


def test_what_fits_nowhere_is_built_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment is begun where nothing else is, whatever it takes: the caller has cut it to fit."""
    monkeypatch.setattr(Workers, "_build", lambda self, folder, temporary, told: told(folder.name))
    told: list[str] = []
    with Workers(2, Budget(EngineSpec(), 100, 1)) as pool:
        for _ in range(3):
            pool.start(FOLDER, TEMPORARY, Size(1, 10), 1, told.append)
        pool.finish()
    assert told == [FOLDER.name] * 3


@pytest.mark.parametrize(
    ("script", "kind", "told"),
    [
        ("""printf '{"phase": "a"}\\n{"error": "no room"}\\n'; exit 1""", IndexDirError, "no room"),
        (
            "kill -9 $$",
            IndexDirError,
            "segment-000007: signal 9 ended the process that built it; if memory ran out, see --memory and"
            " --threads",
        ),
        ("exit 3", RuntimeError, "segment-000007: the process that built it ended with 3"),
    ],
)
def test_how_a_process_ends_is_told(
    monkeypatch: pytest.MonkeyPatch, script: str, kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind) as error:
        built(monkeypatch, script)
    assert str(error.value) == told


def test_a_build_that_fails_ends_its_processes_and_starts_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f'echo $$ > "{tmp_path}/$1"; exec cat'  # until its stdin is closed
    monkeypatch.setattr(workers, "PROGRAM", ("/bin/sh", "-c", script, "sh"))
    started = time.monotonic()
    with pytest.raises(KeyError), Workers(2, Budget(EngineSpec(), 100)) as pool:
        pool.start(Path("first"), TEMPORARY, Size(1, 10), 1, lambda phase: None)
        while not (tmp_path / "first").exists() or not (tmp_path / "first").read_text().endswith("\n"):
            assert time.monotonic() - started < 60
            time.sleep(0.005)
        raise KeyError
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "first").read_text()), 0)
    pool._build(Path("second"), TEMPORARY, lambda phase: None)  # as a thread that was late would
    assert not (tmp_path / "second").exists()
