"""Whatever befalls the place that a command writes to: one line, the old file whole, nothing beside it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from seal_ir.encode.__main__ import main as encode
from seal_ir.formats.io import files
from seal_ir.read import __main__ as read_command
from seal_ir.read.__main__ import main as read
from seal_ir.read.records import Answer, Context
from seal_ir.search.__main__ import main as search
from tests.cli.test_read_command import RUN, TitleReader
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.disks import full
from tests.helpers.stubbed import Stubbed

Command = Callable[[], Result]


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """What is written over; alone in its folder."""
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "out.jsonl"
    path.write_text("old\n", encoding="utf-8")
    return path


@pytest.fixture
def command(
    request: pytest.FixtureRequest, call: Runner, stubbed: Stubbed, tiny_index: Path, tmp_path: Path,
    output: Path, monkeypatch: pytest.MonkeyPatch,
) -> Command:  # fmt: skip
    (tmp_path / "topics.tsv").write_text("q1\tthe river\nq2\tthe capital\n", encoding="utf-8")
    (tmp_path / "run.trec").write_text(RUN, encoding="utf-8")
    topics = tmp_path / "topics.tsv"
    monkeypatch.setattr(read_command, "lacks_weights", lambda name: False)
    monkeypatch.setattr(read_command, "use_threads", lambda n: None)
    monkeypatch.setattr(read_command, "load_reader", lambda spec, device, dtype: TitleReader())
    index = ("--index", tiny_index)
    calls: dict[str, Command] = {
        "search": lambda: call(search, "--topics", topics, *index, "--output", output, "--beam", 1),
        "encode": lambda: call(
            encode,
            "input",
            "--corpus",
            topics,
            "output",
            "--embeddings",
            output,
            "encoder",
            *index,
            "--beam",
            1,
        ),
        "read": lambda: call(
            read, "--topics", topics, *index, "--run", tmp_path / "run.trec", "--output", output
        ),
    }
    return calls[request.param]


class Interrupted(TitleReader):
    def read(self, questions: Sequence[str], contexts: Sequence[Sequence[Context]]) -> list[Answer]:
        raise KeyboardInterrupt


def assert_untouched(output: Path) -> None:
    assert [path.name for path in output.parent.iterdir()] == [output.name]
    assert output.read_text(encoding="utf-8") == "old\n"


WRITERS = pytest.mark.parametrize("command", ["search", "encode", "read"], indirect=True)


@WRITERS
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EIO])
def test_a_rename_that_fails(
    command: Command, output: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(made: Path, target: Path) -> None:
        raise OSError(number, os.strerror(number), str(made), None, str(target))

    monkeypatch.setattr(files, "put_in_place", replace)
    assert_fault(command(), 2, str(output), f"cannot be written ({os.strerror(number)})")
    assert_untouched(output)


@WRITERS
def test_a_full_disk(command: Command, output: Path) -> None:
    with full(0):
        result = command()
    assert_fault(result, 2, str(output), "cannot be written (File too large)")
    assert_untouched(output)


@WRITERS
def test_a_folder_that_nobody_may_write_to(
    command: Command, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(target: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))

    monkeypatch.setattr(files, "open_temporary", denied)  # root, as whom tests may run, may write anywhere
    assert_fault(command(), 2, str(output), "cannot be written (Permission denied)")
    assert_untouched(output)


@pytest.mark.parametrize("command", ["read"], indirect=True)  # the others have tests of their own
def test_an_interruption(command: Command, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_command, "load_reader", lambda spec, device, dtype: Interrupted())
    assert_fault(command(), 130, "interrupted")
    assert_untouched(output)
