"""Runs do not depend on how the index is cut into segments: 1, 2 and 7 of them, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.config import PRESETS
from seal_ir.index.manifest import read_manifest
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.commands import spawn
from tests.helpers.stub import FURTHER

QUERIES = ["the capital of Japan", "which river flows through the city", "a whale in the sea", tiny.LITERAL]
LIMITS = {1: 1 << 30, 2: 1000, 7: 280}


def documents() -> list[Document]:
    """What the sentences say, in many combinations, some of them twice."""
    pairs = [(a, b) for a in tiny.DOCUMENTS for b in tiny.DOCUMENTS[:4]]
    return [
        Document(f"d{i % 26:02d}-{i}", a.title, f"{a.text} {b.text}", further=further(i, a))
        for i, (a, b) in enumerate(pairs)
    ]


def further(number: int, document: Document) -> tuple[tuple[str, str], ...]:
    """An identifier, and for some what is asked of them."""
    words = document.text.split()[: number % 4]
    return (("docid", f"{number % 3} {number}"), *(("pseudo_queries", f"what is {word}") for word in words))


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    folder = tmp_path_factory.mktemp("segments")
    for n, limit in LIMITS.items():
        tiny.build(folder / str(n), documents(), limit, fields=FURTHER)
    found = {n: folder / str(n) for n in LIMITS}
    assert [len(read_manifest(directory).segments) for directory in found.values()] == [1, 2, 7]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(PRESETS))
def test_hits_are_the_same(indexes: dict[int, Path], preset: str) -> None:
    found = {}
    for n, directory in indexes.items():
        searcher = SealSearcher(directory, tiny.generator(), preset=preset)
        found[n] = searcher.batch_search(QUERIES, QUERIES, k=20)
    assert sum(map(len, found[1].values())) > 20
    assert found[2] == found[1]
    assert found[7] == found[1]


@pytest.mark.slow
def test_runs_are_the_same_bytes(indexes: dict[int, Path], tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("".join(f"q{i}\t{query}\n" for i, query in enumerate(QUERIES)), encoding="utf-8")
    runs = []
    for n, directory in indexes.items():
        path = tmp_path / f"{n}.trec"
        result = spawn(
            "tests.helpers.stubbed_search", "--topics", topics, "--index", directory, "--output", path
        )
        assert result.code == 0, result.err
        runs.append(path.read_bytes())
    assert runs[0].count(b"\n") > 20
    assert runs[1] == runs[2] == runs[0]
