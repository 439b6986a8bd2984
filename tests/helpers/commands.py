"""Running commands: in this process, which is quick, or as a user does, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from seal_ir import command

ROOT = Path(__file__).parents[2]


class Result(NamedTuple):
    """What a command left: exit code, results, logs."""

    code: int
    out: str
    err: str


Main = Callable[[list[str]], int]


class Runner:
    """Calls a command's `main` as `python -m` does, with the streams captured."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, main: Main, *arguments: object) -> Result:
        self._monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            command.run(main)
        out, err = self._capsys.readouterr()
        return Result(end.value.code if isinstance(end.value.code, int) else -1, out, err)


def spawn(module: str, *arguments: object, **environment: str) -> Result:
    """`python -m module arguments` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    return Result(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


ASCII_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def assert_fault(result: Result, code: int, *parts: str) -> None:
    """One line on stderr that says it all, nothing on stdout."""
    assert result.code == code, result
    assert result.out == ""
    lines = result.err.splitlines()
    assert lines[-1].startswith("error: "), result.err
    assert "Traceback" not in result.err
    for part in parts:
        assert part in lines[-1], result.err
