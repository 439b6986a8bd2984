"""Pyserini 2.x: a simulation of where it keeps things, and its real server where it is installed."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from seal_ir import SealSearcher
from seal_ir.pyserini_plugin import build_lucene_index
from tests.helpers import tiny
from tests.helpers.commands import spawn

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pyserini.md"
DEMO = ROOT / "collections" / "demo" / "corpus.jsonl"


def block(kind: str) -> str:
    """The block of the page's section on the server."""
    (found,) = re.findall(rf"^```{kind} serve\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    return str(found)


def is_two() -> bool:
    """Whether the installed Pyserini is 2.x, told by its tables of searchers."""
    return find_spec("pyserini") is not None and find_spec("pyserini.server.utils") is not None


CONFIGURE = "def configure_classpath(root): print(__name__, root)\n"
# Starts no JVM: everything after the jar has been found is another test's.
CLASSPATH = """
from seal_ir import pyserini_plugin as plugin
plugin.java_home = lambda: None
plugin.check_installed()
plugin._classpath_module().configure_classpath("jars")
"""


def package(folder: Path, files: dict[str, str]) -> dict[str, str]:
    """A package named pyserini with these modules; the environment in which it comes first."""
    for name, text in {"__init__.py": "", **files}.items():
        path = folder / "pyserini" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@pytest.mark.parametrize(("module", "name"), [("setup", "1.6"), ("_jvm", "2.x")])
def test_the_jar_is_shown_by_either_module(tmp_path: Path, module: str, name: str) -> None:
    env = package(tmp_path, {f"{module}.py": CONFIGURE})
    command = [sys.executable, "-c", CLASSPATH]
    done = subprocess.run(command, env=env, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (0, f"pyserini.{module} jars\n"), f"{name}: {done.stderr}"


def test_another_layout_is_told_in_one_line(tmp_path: Path) -> None:
    env = package(tmp_path, {})
    result = spawn("seal_ir.pyserini_plugin", "pyserini.index.lucene", PYTHONPATH=env["PYTHONPATH"])
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        "error: Lucene needs Pyserini (No module named 'pyserini._jvm'); pip install 'seal-ir[pyserini]'\n"
    )


# Stands for 2.x's server: its two tables, and a main that opens an index by them as it does.
UTILS = "SEARCHER_FACTORIES, INDEX_TYPE = {}, {}\n"
APP = """
import json, sys
from pyserini.server import utils
def main():
    assert "seal" in utils.INDEX_TYPE
    local, prebuilt, options = utils.SEARCHER_FACTORIES["seal"]
    searcher = local(sys.argv[1], **options(None))
    print(json.dumps([searcher.num_docs, searcher.index_dir, callable(prebuilt)]))
"""


@pytest.mark.slow
def test_registration_on_simulated_tables(tmp_path: Path) -> None:
    index = tmp_path / "index"
    tiny.build(index)
    files = {"_jvm.py": CONFIGURE, "server/utils.py": UTILS, "server/rest/app.py": APP}
    env = package(tmp_path, files)
    code = block("py").replace("start_java()\n", "")
    done = subprocess.run(
        [sys.executable, "-c", code, index], env=env, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [SealSearcher(index).num_docs, str(index), True]


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of the page's server, over the demo collection and a small random model."""
    model = tiny.save_llama(tmp_path / "model")
    index = tmp_path / "indexes" / "demo"
    built = spawn("seal_ir.index", "--input", DEMO, "--model", model, "--index", index)
    assert built.code == 0, built.err
    build_lucene_index(DEMO, tmp_path / "runs" / "lucene-demo")
    (tmp_path / "serve.py").write_text(block("py"), encoding="utf-8")
    (tmp_path / "server.yaml").write_text(block("yaml"), encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "serve.py", "--config", "server.yaml", "--no-prebuilt-indexes"]
    env = {**os.environ, "HF_HUB_OFFLINE": "1", "PYSERINI_CACHE": str(tmp_path / "cache")}
    log = (tmp_path / "log").open("w", encoding="utf-8")
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)], cwd=tmp_path, env=env, stdout=log, stderr=log
    )
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(600):
            assert process.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")[-2000:]
            try:
                urllib.request.urlopen(address, timeout=60).close()
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=30)
        log.close()


@pytest.mark.slow
@pytest.mark.skipif(not is_two(), reason="needs Pyserini 2.x, see docs/pyserini.md")
def test_the_real_server(server: str, tmp_path: Path) -> None:
    query = "how tall is the volcano on sicily's east coast"
    found = get(f"{server}/v1/demo/search?{urllib.parse.urlencode({'query': query, 'hits': 5})}")
    hits = SealSearcher(tmp_path / "indexes" / "demo").search(query, 5)
    candidates = found["candidates"]
    assert [candidate["docid"] for candidate in candidates] == [hit.docid for hit in hits]
    assert [candidate["score"] for candidate in candidates] == pytest.approx(
        [hit.score for hit in hits], abs=1e-5
    )
    records = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    texts = {record["id"]: record["contents"] for record in records}
    assert [candidate["doc"]["contents"] for candidate in candidates] == [texts[hit.docid] for hit in hits]
    first = hits[0].docid
    found = get(f"{server}/v1/demo/doc/{urllib.parse.quote(first, safe='')}")
    assert found["doc"]["contents"] == texts[first]
