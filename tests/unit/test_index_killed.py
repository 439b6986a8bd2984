"""A build that is killed, at whatever phase, leaves the old index and nothing that stops the next."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index import workers
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.directory import WORKING
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.commands import ROOT
from tests.helpers.indexes import NEW, content, refused

BUILD = """
import sys, time
from pathlib import Path
from seal_ir.index import builder, workers
from tests.helpers import tiny

def documents():
    yield from tiny.DOCUMENTS * 200
    if phase == "reading":
        stop()

def stop(*args):
    print("ready", flush=True)
    time.sleep(60)

def told(what, done):
    if "process" in what:
        print(what.split()[-1], flush=True)

directory, phase, program = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if hasattr(builder, phase):
    setattr(builder, phase, stop)
threads = 1
if program:
    workers.PROGRAM = [sys.executable, "-c", program]
    threads = 2
options = builder.BuildOptions(max_segment_tokens=5000, threads=threads)
builder.build_index(documents(), directory, tiny.tokenizer(), tiny.about, options, told)
"""
# The real program, but for an engine that never ends.
HANGING = """
import os, sys, time
from seal_ir.index import segments

def hang(folder, temporary, spec, progress):
    progress(f"process {os.getpid()}")
    time.sleep(60)

segments.build_segment = hang
segments.main(sys.argv[1:])
"""
# Dies in front of a change of the file system, the how manieth it is told.
CHANGES = """
import sys
from pathlib import Path
from tests.helpers import tiny
from tests.helpers.dying import die_before_change
from tests.helpers.indexes import NEW
die_before_change(int(sys.argv[2]))
tiny.build(Path(sys.argv[1]), NEW)
"""
ENDLESS = """
import itertools, sys
from pathlib import Path
from tests.helpers import tiny
from tests.helpers.indexes import NEW
for documents in itertools.cycle((NEW, tiny.DOCUMENTS)):
    tiny.build(Path(sys.argv[1]), documents)
    print(len(documents), flush=True)
"""


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path) -> Path:
    """A copy of an index, that a build is to replace."""
    return Path(shutil.copytree(tiny_index, tmp_path / "index"))


def killed(directory: Path, phase: str, program: str = "") -> str:
    """Kill a build when it has come to a phase; what it printed then."""
    arguments = [str(directory), phase, program]
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD, *arguments], stdout=subprocess.PIPE, cwd=ROOT, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    return line.strip()


def check_old_index_and_rebuild(directory: Path) -> None:
    assert Index(directory).documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS
    refused(directory / WORKING)  # an unfinished index is none
    tiny.build(directory, NEW)
    assert Index(directory).documents([0]) == NEW
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["reading", "build_segment", "named_by_content", "commit"])
def test_d7_killed(directory: Path, phase: str) -> None:
    assert killed(directory, phase) == "ready"
    assert list((directory / WORKING).glob("segment-000000*/ids.arrow"))
    assert bool(list((directory / WORKING).glob("segment-000000*/fm.bin"))) == (phase != "build_segment")
    check_old_index_and_rebuild(directory)


@pytest.mark.slow
def test_d7_killed_at_every_change_of_the_directory(directory: Path) -> None:
    """Each time the old index is there, whole, or the new one; and debris never stops the next build."""
    tiny.build(directory)
    whole = content(directory)
    n_old = n_new = 0
    for left in range(0, 1000, 5):
        code = build_until(directory, left)
        if holds(directory) == NEW:
            n_new += 1
        else:
            n_old += 1
        if code == 0:
            break
        tiny.build(directory)
        assert content(directory) == whole
    assert n_old > 3
    assert n_new > 1


@pytest.mark.slow
def test_d7_a_first_build_that_is_killed_says_so(tmp_path: Path) -> None:
    told = "incomplete, its first build is still running or was interrupted"
    n_told, left, code = 0, 0, -1
    while code != 0:
        directory = tmp_path / str(left)
        code = build_until(directory, left)
        if (directory / MANIFEST).exists():
            assert holds(directory) == NEW
        elif directory.exists() and any(directory.iterdir()):
            n_told += told in refused(directory)
        tiny.build(directory, NEW)
        assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}
        left += 5
    assert n_told > 3


@pytest.mark.slow
def test_d7_killed_at_random_moments(directory: Path) -> None:
    chance = random.Random(0)
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(directory)], stdout=subprocess.PIPE, cwd=ROOT
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.random() / 5)
            process.kill()
        holds(directory)
    tiny.build(directory, NEW)
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}


def build_until(directory: Path, n_changes: int) -> int:
    """Build an index of `NEW` that is killed at a change of the directory; 0 where it comes to its end."""
    command = [sys.executable, "-c", CHANGES, str(directory), str(n_changes)]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    assert code in (0, -signal.SIGKILL)
    return code


def holds(directory: Path) -> list[Document]:
    """The documents of the old index or of the new one, whichever the directory holds."""
    index = Index(directory)
    documents = index.documents(range(index.n_documents))
    assert documents in (tiny.DOCUMENTS, NEW)
    return documents


@pytest.mark.slow
def test_d7_processes_of_a_killed_build_end_with_it(directory: Path) -> None:
    pid = int(killed(directory, "", HANGING))
    deadline = time.monotonic() + 20
    while _is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(pid)
    check_old_index_and_rebuild(directory)


def _is_running(pid: int) -> bool:
    """Whether a process is there and not merely unburied."""
    stat = Path("/proc", str(pid), "stat")
    if Path("/proc/self/stat").is_file():
        return stat.is_file() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


ENDS = {
    "import os; os.kill(os.getpid(), 9)": (IndexDirError, "segment-00000[0-9]: signal 9 ended the process"),
    "import sys; sys.exit(3)": (RuntimeError, "the process that built it ended with 3"),
    """print('{"error": "No space left on device"}')""": (IndexDirError, "^No space left on device$"),
}


@pytest.mark.parametrize("program", ENDS)
def test_d7_a_process_that_dies_fails_the_build(
    directory: Path, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(directory.parent)
    monkeypatch.setattr(workers, "PROGRAM", (sys.executable, "-c", program))
    error, told = ENDS[program]
    with pytest.raises(error, match=told):
        tiny.build(directory, max_segment_tokens=60, threads=2)
    assert content(directory.parent) == before


def test_d7_a_failing_build_ends_its_processes(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PROGRAM", (sys.executable, "-c", HANGING))
    started: list[int] = []

    def documents() -> Iterator[Document]:
        yield from (tiny.DOCUMENTS * 200)[:1000]  # read at once; the first segment is cut among them
        deadline = time.monotonic() + 20
        while not started and time.monotonic() < deadline:
            time.sleep(0.05)
        raise KeyboardInterrupt

    def told(what: str, done: int) -> None:
        if "process" in what:
            started.append(int(what.split()[-1]))

    options = BuildOptions(max_segment_tokens=15_000, threads=2)
    with pytest.raises(KeyboardInterrupt):
        build_index(documents(), directory, tiny.tokenizer(), tiny.about, options, told)
    assert started
    assert not any(map(_is_running, started))
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)
