"""`python -m seal_ir.search --fuse`: what is fused and written; BM25 is a stand-in here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.records import Hit, Query
from seal_ir.search import bm25, hybrid
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.fusion import Entry, Fusion, fuse, fuse_all
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.hybrid import TOPICS, Search
from tests.helpers.stubbed import Stubbed


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
