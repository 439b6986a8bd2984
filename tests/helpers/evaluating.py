"""The eval command in this process: runs to measure, and the cells of what it prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.eval.__main__ import main


def run_file(folder: Path, text: str, name: str = "run.trec") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def table(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[list[list[str]], str, str]:
    """Cells of the table, the whole of stdout, and stderr."""
    assert main([str(argument) for argument in arguments]) == 0
    streams = capsys.readouterr()
    rows = [line.split() for line in streams.out.splitlines() if not line.startswith("#")]
    return rows, streams.out, streams.err
