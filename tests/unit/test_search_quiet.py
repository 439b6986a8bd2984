"""A searcher says what it does where it is asked to, and nothing where it is not."""

from __future__ import annotations

import logging
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.index.engine import EngineSpec
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.stubbed import Stubbed

ROOT = Path(__file__).parents[2]
# The session keeps results alive to its end, as `_` and `Out` of IPython do.
SESSION = """
import builtins, sys
from seal_ir import SealSearcher
from tests.helpers import tiny
searcher = SealSearcher(sys.argv[1], tiny.generator(), preset="paper")
builtins.kept = [searcher, searcher.search("the capital of Japan"), searcher.index._engines]
from seal_ir import _native, _rank
builtins.modules = [_native.Engine, _native.Builder, _rank.Ranking, _rank.Query]
builtins.more = searcher.rank(searcher.decode(["whale"])[0], 3)
"""
# What IPython leaves behind: an object of each module that outlives the interpreter's own clean-up.
LEAK = """
import ctypes, sys
import numpy as np
from seal_ir import _native, _rank
from seal_ir.index.reader import Index
index = Index(sys.argv[1])
symbols, floats = np.empty(0, np.uint32), np.empty(0)
query = _rank.Query(symbols, np.zeros(1, np.int64), floats, symbols, floats, 0.5)
for kept in (index._engines[0], query):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
if len(sys.argv) > 2:
    from seal_ir import _sdsl
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(Index(sys.argv[2])._engines[0]))
"""


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True)


@pytest.mark.slow
def test_i19_a_session_ends_without_a_report_of_leaks(tiny_index: Path) -> None:
    done = run(SESSION, tiny_index)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.slow
def test_i19_objects_that_outlive_the_session_are_not_reported(tiny_index: Path, tmp_path: Path) -> None:
    directories = [tiny_index]
    if find_spec("seal_ir._sdsl"):
        tiny.build(tmp_path / "sdsl", engine=EngineSpec("sdsl"))
        directories.append(tmp_path / "sdsl")
    done = run(LEAK, *directories)
    assert (done.stdout, done.stderr) == ("", "")


def test_i19_what_is_loaded_and_how_long_it_took_is_logged_at_info(
    tiny_index: Path, stubbed: Stubbed, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.INFO, logger="seal_ir"):
        searcher = SealSearcher(tiny_index, "mine")
        searcher.search("the capital of Japan")
        searcher.search("whale")
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    opened, loaded = told
    assert opened.startswith(f"opened {tiny_index}: 7 documents, ")
    assert loaded.startswith("loaded the model mine: ")
    assert all(line.endswith(" s") for line in told)
    assert capfd.readouterr() == ("", "")


def test_i19_batch_search_shows_its_progress_where_it_is_asked_to(
    tiny_index: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator(), batch_size=2)
    queries = ["the capital of Japan", "whale", "Thames"]
    quiet = searcher.batch_search(queries, ["1", "2", "3"])
    assert capfd.readouterr() == ("", "")
    assert searcher.batch_search(iter(queries), ["1", "2", "3"], progress=True) == quiet
    out, err = capfd.readouterr()
    assert out == ""
    assert "3/3 queries" in err
    assert searcher.batch_search([], [], progress=True) == {}


def test_i19_loading_shows_no_bars_of_transformers(llama: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither those that obey its switch nor that of GGUF files, which obeys none; then all are back."""
    from transformers import modeling_gguf_pytorch_utils as gguf
    from transformers.utils import logging as theirs

    from seal_ir.lm.load import load_generator, quiet_transformers

    bar, enabled = gguf.tqdm, theirs.is_progress_bar_enabled()
    capfd.readouterr()
    load_generator(str(llama), "cpu")
    with quiet_transformers():
        assert list(gguf.tqdm([1, 2], desc="Converting")) == [1, 2]
        assert list(theirs.tqdm([1, 2], desc="Writing")) == [1, 2]
    assert capfd.readouterr() == ("", "")
    assert (gguf.tqdm, theirs.is_progress_bar_enabled()) == (bar, enabled)
