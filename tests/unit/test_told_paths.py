"""Paths at which the system does not look, in every command: one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.baselines.bm25.__main__ import main as bm25
from seal_ir.eval.__main__ import main as evaluate
from seal_ir.index.__main__ import main as build
from seal_ir.reproduce.__main__ import main as reproduce
from seal_ir.search.__main__ import main as search
from seal_ir.server.__main__ import main as serve
from seal_ir.train.__main__ import main as train
from tests.helpers.commands import Main, Runner, assert_fault

LONG = "q" * 300  # no file system has names of that length
SEARCH = ("--topics", "{ids}", "--output", "{out}")


@pytest.mark.parametrize(
    ("main", "options"),
    [
        (search, (*SEARCH, "--index", LONG)),
        (search, (*SEARCH, "--index", "{index}", "--fuse", LONG)),
        (search, (*SEARCH, "--index", "{index}", "--config", LONG)),
        (search, (*SEARCH, "--index", "{index}", "--keys", LONG)),
        pytest.param(search, (*SEARCH, "--index", "{index}", "--model", LONG), marks=pytest.mark.slow),
        (build, ("--input", LONG, "--index", "{out}")),
        pytest.param(build, ("--input", "{ids}", "--index", LONG), marks=pytest.mark.slow),
        (train, ("data", "--output", "{out}", "--pairs", LONG)),
        pytest.param(train, ("fit", "--output", "{out}", "--data", LONG), marks=pytest.mark.slow),
        (train, ("average", "--output", "{out}", "--models", LONG, LONG)),
        (bm25, ("--input", LONG, "--lucene", "{out}", *SEARCH)),
        (evaluate, ("--topics", "{ids}", "--qrels", LONG, "--run", "{ids}")),
        (evaluate, ("--topics", "{ids}", "--qrels", "{ids}", "--run", LONG)),
        (reproduce, ("--table", LONG)),
        (serve, ("--index", LONG)),
        (serve, ("--index", f"{LONG}=x")),
    ],
)
def test_a_name_that_no_file_can_have(
    call: Runner, tmp_path: Path, tiny_index: Path, main: Main, options: tuple[str, ...]
) -> None:
    if main in (bm25, serve):
        pytest.importorskip({bm25: "pyserini", serve: "fastapi"}[main])
    (tmp_path / "topics.tsv").write_text("1\twho\n", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    names = {"out": tmp_path / "out", "ids": tmp_path / "topics.tsv", "index": tiny_index}
    result = call(main, *(option.format(**names) for option in options))
    assert_fault(result, result.code, "q" * 50)
    assert result.code in (1, 2)
    assert len(result.err) < 2000
    assert [path for path in tmp_path.rglob("*") if path not in before and path.is_file()] == []


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (PermissionError(13, "Permission denied", "/closed/x"), "error: /closed/x: Permission denied; check"),
        (OSError(36, "File name too long", b"/d/y"), "error: /d/y: File name too long; check"),
        (OSError(36, "File name too long", "y" * 5000), f"error: {'y' * 300}...: File name too long; check"),
    ],
)
def test_a_place_at_which_the_system_does_not_look(call: Runner, error: OSError, told: str) -> None:
    def main(arguments: list[str]) -> int:
        raise error

    result = call(main)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(told)
    assert result.err.count("\n") == 1


def test_an_error_of_the_system_without_a_place_keeps_its_traceback(call: Runner) -> None:
    def main(arguments: list[str]) -> int:
        raise OSError(12, "Cannot allocate memory")

    with pytest.raises(OSError, match="allocate"):
        call(main)
