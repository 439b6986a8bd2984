"""Places to write to: what killed writers leave is cleared, what living ones hold stays."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.outputs import clear_left, is_stream, make_parents, open_temporary, scratch_folder
from tests.helpers.commands import ROOT

# What writes something whole; each is killed in the middle.
WRITERS = {
    "text": "from seal_ir.formats.io.files import atomic_writer\nblock = atomic_writer(path)",
    "run": "from seal_ir.formats.runs.trec import RunWriter\nblock = RunWriter(path, tag='t')",
    "keys": "from seal_ir.keys.files import KeyWriter\nblock = KeyWriter(path, 'made')",
    "gzip": (
        "from seal_ir.formats.io.packed import packed_writer\nblock = packed_writer(path.with_suffix('.gz'))"
    ),
    "folder": "from seal_ir.formats.io.outputs import scratch_folder\nblock = scratch_folder(path)",
}


class Writer:
    """A process that has begun to write."""

    def __init__(self, kind: str, path: Path) -> None:
        program = (
            f"import sys\nfrom pathlib import Path\npath = Path({str(path)!r})\n{WRITERS[kind]}\n"
            "with block:\n    print('begun', flush=True)\n    sys.stdin.readline()\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == b"begun\n"

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def finish(self) -> None:
        self.process.communicate(b"\n")
        assert self.process.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", WRITERS)
def test_j7_what_a_killed_writer_leaves_is_cleared_by_the_next(tmp_path: Path, kind: str) -> None:
    """Whatever either of them writes, and under whichever name; a living writer keeps its own."""
    killed, living = Writer(kind, tmp_path / "killed"), Writer(kind, tmp_path / "living")
    assert len(list(tmp_path.iterdir())) == 2
    killed.kill()
    assert len(list(tmp_path.iterdir())) == 2
    with atomic_writer(tmp_path / "other.trec") as stream:
        stream.write("text")
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2
    assert names[0].startswith(".living.")
    assert names[1] == "other.trec"
    living.finish()
    written = {"folder": set[str](), "gzip": {"living.gz"}}.get(kind, {"living"})
    expected = {"other.trec"} | written
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_a_folder_clears_too(tmp_path: Path) -> None:
    Writer("folder", tmp_path / "killed").kill()
    with scratch_folder(tmp_path / "lucene") as scratch:
        assert [path.name for path in tmp_path.iterdir()] == [scratch.name]
        (scratch / "part").touch()
    assert not list(tmp_path.iterdir())


def test_other_hidden_files_stay(tmp_path: Path) -> None:
    kept = [".run.trec.swp", ".run.trec.0123abcd.tmp", ".0123abcd.seal-ir.tmp", "x.0123abcd.seal-ir.tmp"]
    for name in kept:
        (tmp_path / name).touch()
    target = tmp_path / "target"
    target.touch()
    (tmp_path / ".link.0123abcd.seal-ir.tmp").symlink_to(target)
    clear_left(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*kept, "target", ".link.0123abcd.seal-ir.tmp"}
    clear_left(tmp_path / "absent")


@pytest.mark.slow
def test_writers_side_by_side_do_not_clear_each_other(tmp_path: Path) -> None:
    """A new file is cleared before it is locked only to be made again."""
    faults: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for i in range(100):
                with atomic_writer(tmp_path / f"{number}-{i}") as stream:
                    stream.write("text")
        except BaseException as error:  # noqa: BLE001 - told below
            faults.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert len(list(tmp_path.iterdir())) == 400
    assert all(path.read_text() == "text" for path in tmp_path.iterdir())


def test_streams_are_known_by_their_names(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name in ("-", "/dev/stdout", "/dev/fd/1", "/dev/null", "/proc/self/fd/1", str(tmp_path / "fifo")):
        assert is_stream(Path(name)), name
    for name in ("--", "-x", "./x", "/dev/shm/run.trec", str(tmp_path), str(tmp_path / "absent")):
        assert not is_stream(Path(name)), name


def test_stdout_is_written_wherever_it_leads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Caught with its bytes, as text only, and closed; behind what was printed, and open afterwards."""
    for _ in range(2):
        print("before")
        with atomic_writer(Path("-")) as stream:
            stream.write("東京\r\n")
        print("after")
        assert capsys.readouterr().out == "before\n東京\r\nafter\n"
    caught = io.StringIO(newline="\n")
    with contextlib.redirect_stdout(caught), atomic_writer(Path("-")) as stream:
        stream.write("text\n")
    assert caught.getvalue() == "text\n"
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UsageError, match="stdout is closed; name a file"), atomic_writer(Path("-")):
        pass


def test_a_full_disk_behind_stdout_is_told() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    program = (
        "from pathlib import Path\nfrom seal_ir.command import run\n"
        "from seal_ir.formats.io.files import atomic_writer\n"
        "def main(arguments):\n    with atomic_writer(Path('-')) as stream:\n        stream.write('x')\n"
        "run(main)\n"
    )
    with open("/dev/full", "w") as full:  # noqa: PTH123
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("error: -: cannot be written (No space left on device)")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("path", ["/nodir/x.trec", "/nodir/a/b/x.trec", "/nodir/../nodir/x"])
def test_the_first_folder_of_a_path_is_not_made(path: str) -> None:
    for write in (lambda: make_parents(Path(path)), lambda: atomic_writer(Path(path)).__enter__()):
        with pytest.raises(UsageError, match=r"there is no folder /nodir; make it, or write"):
            write()
    assert not Path("/nodir").exists()


def test_folders_below_one_that_is_there_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "a" / "b" / "x", Path("c/d/x"), Path("x")):
        with atomic_writer(path) as stream:
            stream.write("text")
        assert path.read_text() == "text"


def test_a_temporary_file_is_hidden_beside_its_target(tmp_path: Path) -> None:
    path, stream = open_temporary(tmp_path / ("東" * 80))
    with stream:
        assert path.parent == tmp_path
        assert path.name.startswith(".東")
        clear_left(tmp_path)
        assert path.exists()
    clear_left(tmp_path)
    assert not path.exists()
