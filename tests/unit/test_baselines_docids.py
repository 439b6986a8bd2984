"""Paths through clusters of clusters: distinct, the same for a seed, near for near vectors; odd vectors."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.baselines.docids import __main__ as docids
from seal_ir.baselines.docids.clustering import Paths, TreeConfig, tree_paths
from seal_ir.baselines.rewriting import record_of
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.records import Document
from tests.helpers.commands import Runner, assert_fault

faiss = pytest.importorskip("faiss")

WORDS = ["lava", "cowhides", "river", "whale", "capital", "tower", "bridge", "harbour", "forest", "castle"]


def vectors_of(n: int, seed: int = 0, dimension: int = 8) -> Any:
    return np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)


def save_index(directory: Path, ids: Sequence[str], vectors: Any, kind: Any = None) -> Path:
    """An index in Pyserini's layout."""
    directory.mkdir()
    index = kind or faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    faiss.write_index(index, str(directory / "index"))
    (directory / "docid").write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
    return directory


def save_records(path: Path, records: Sequence[object]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def check(paths: Paths, config: TreeConfig) -> None:
    """What every set of identifiers keeps."""
    assert len(set(paths)) == len(paths)
    leaves: dict[tuple[int, ...], list[int]] = {}
    nodes: dict[tuple[int, ...], set[int]] = {}
    for path in paths:
        assert path
        leaves.setdefault(path[:-1], []).append(path[-1])
        for depth in range(len(path) - 1):
            nodes.setdefault(path[:depth], set()).add(path[depth])
    assert not set(leaves) & set(nodes)  # no identifier begins another
    for numbers in leaves.values():
        assert numbers == list(range(len(numbers)))
        assert len(numbers) <= config.leaf
    for children in nodes.values():
        assert children == set(range(len(children)))  # no empty clusters
        assert 2 <= len(children) <= config.branches


@pytest.mark.parametrize(
    ("n", "branches", "leaf"), [(700, 10, 100), (300, 3, 5), (64, 2, 1), (30, 20, 3), (5, 10, 100), (1, 2, 1)]
)
def test_paths(n: int, branches: int, leaf: int) -> None:
    config = TreeConfig(branches, leaf)
    vectors = vectors_of(n)
    paths = tree_paths(vectors, config)
    assert len(paths) == n
    check(paths, config)
    assert tree_paths(vectors.copy(), config) == paths
    if n <= leaf:
        assert paths == [(number,) for number in range(n)]


def test_the_seed_and_the_threads() -> None:
    vectors = vectors_of(500)
    paths = tree_paths(vectors, TreeConfig(5, 10))
    assert tree_paths(vectors, TreeConfig(5, 10, seed=1)) != paths
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        assert tree_paths(vectors, TreeConfig(5, 10)) == paths
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_near_vectors_have_near_identifiers() -> None:
    centres = np.eye(8, dtype=np.float32) * 10
    owners = np.arange(400) % 8
    vectors = centres[owners] + vectors_of(400) * 0.1
    paths = tree_paths(vectors, TreeConfig(8, 60))
    check(paths, TreeConfig(8, 60))
    distances = np.square(vectors[:, None] - vectors).sum(axis=2) + np.eye(400) * 1e9
    shared = [paths[one][0] == paths[other][0] for one, other in enumerate(distances.argmin(axis=1))]
    assert np.mean(shared) > 0.9  # an eighth, were they numbered by chance


@pytest.mark.parametrize("n_others", [0, 1, 7, 40])
def test_equal_vectors_are_cut_into_runs(n_others: int, capfd: pytest.CaptureFixture[str]) -> None:
    config = TreeConfig(4, 3)
    vectors = np.concatenate([np.ones((200, 8), np.float32), vectors_of(n_others)])
    paths = tree_paths(vectors, config)
    check(paths, config)
    if not n_others:
        assert paths == sorted(paths)  # runs, in the vectors' order
        assert max(map(len, paths)) == 5  # 200, 50, 13, 4, 1
    assert capfd.readouterr() == ("", "")  # Faiss does not warn


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"branches": 1}, "branches is 1; it must be at least 2"),
        ({"leaf": 0}, "leaf is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1 << 31}, "it must be less than 2"),
    ],
)
def test_config(values: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TreeConfig(**values)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records of every spelling, and an index that has them and more, in another order."""
    records: list[dict[str, object]] = [
        {"id": f"d{n}", "title": word.title(), "contents": f"{word.title()}\nOf {word}."}
        for n, word in enumerate(WORDS)
    ]
    records[1] = {"docid": "d1", "text": "Tevatron\u2019s spelling", "source": ["x", None]}
    records[2] = {"_id": "d2", "title": "BEIR", "text": "of two", "docid": "an old one"}
    records[3] = {"id": 3, "contents": '"Quoted"\nDPR\'s spelling', "half": "\ud83d"}
    records.append({"id": "empty", "contents": "  "})
    save_records(tmp_path / "docs.jsonl", records)
    ids = [f"d{n}" if n != 3 else "3" for n in range(len(WORDS))][::-1] + ["of another"]
    save_index(tmp_path / "faiss", ids, vectors_of(len(ids)))
    return tmp_path


def words_of(folder: Path, *more: object) -> list[object]:
    words: list[object] = ["--faiss", folder / "faiss", "--input", folder / "docs.jsonl"]
    return [*words, "--output", folder / "out.jsonl.gz", "--branches", 3, "--leaf", 2, *more]


def test_command(folder: Path, call: Runner) -> None:
    result = call(docids.main, *words_of(folder))
    assert (result.code, result.out) == (0, f"{folder / 'out.jsonl.gz'}\n"), result.err
    assert "read 11 = indexed 10 + empty 1" in result.err
    assert "10 documents in" in result.err
    written = [
        json.loads(line) for line in gzip.decompress((folder / "out.jsonl.gz").read_bytes()).splitlines()
    ]
    given = [json.loads(line) for line in (folder / "docs.jsonl").read_text("utf-8").splitlines()]
    vectors = vectors_of(11)[:10][::-1]  # as the index has them, in the collection's order
    expected = [
        " ".join(map(str, path)) for path in tree_paths(np.ascontiguousarray(vectors), TreeConfig(3, 2))
    ]
    assert [record["docid"] for record in written] == expected
    assert len(set(expected)) == 10
    for before, after in zip(given, written, strict=False):
        kept = {name: value for name, value in before.items() if name not in ("id", "docid")}
        assert {name: after[name] for name in kept} == kept
        assert set(after) == {*kept, "id", "docid"}
    # It is the same collection to every reader, and written to the same bytes again.
    options = ReadOptions()
    before, after = (
        list(Collection("JsonCollection", folder / name, options)) for name in ("docs.jsonl", "out.jsonl.gz")
    )
    assert before == after
    first = (folder / "out.jsonl.gz").read_bytes()
    assert call(docids.main, *words_of(folder)).code == 0
    assert (folder / "out.jsonl.gz").read_bytes() == first
    assert {path.name for path in folder.iterdir()} == {"docs.jsonl", "faiss", "out.jsonl.gz"}


def test_some_documents_of_another_format(folder: Path, call: Runner) -> None:
    (folder / "docs.tsv").write_text(
        "d4\tCapital\tOf it.\nd5\tTower\tOf that.\nx\tNo\tvector\n", encoding="utf-8"
    )
    (folder / "ids").write_text("d4\nd5\n", encoding="utf-8")
    more = ["--input", folder / "docs.tsv", "--collection", "TsvCollection", "--include-ids", folder / "ids"]
    result = call(docids.main, *words_of(folder, *more, "--output", folder / "out.jsonl"))
    assert result.code == 0, result.err
    assert [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()] == [
        {"id": "d4", "title": "Capital", "contents": "Capital\nOf it.", "docid": "0"},
        {"id": "d5", "title": "Tower", "contents": "Tower\nOf that.", "docid": "1"},
    ]


@pytest.fixture
def faulty(folder: Path) -> Path:
    """The folder, with collections and indexes that have faults."""
    save_records(
        folder / "more.jsonl",
        [{"id": f"n{n}", "contents": "x"} for n in range(2)] + [{"id": "d0", "contents": "x"}],
    )
    save_records(folder / "none.jsonl", [{"id": "d0", "contents": " "}])
    ids = [f"d{n}" for n in range(10)]
    vectors = vectors_of(10)
    save_index(folder / "twice", [*ids[:9], "d0"], vectors)
    save_index(folder / "short", ids[:9], vectors)
    save_index(folder / "cut", ids, vectors)
    (folder / "cut" / "index").write_bytes((folder / "cut" / "index").read_bytes()[:40])
    lost = save_index(folder / "lost", ids, vectors)
    flat = faiss.IndexFlatIP(8)  # must live as long as what maps its ids
    mapped = faiss.IndexIDMap(flat)
    mapped.add_with_ids(vectors, np.arange(10))
    faiss.write_index(mapped, str(lost / "index"))
    vectors[4, 2] = np.nan
    save_index(folder / "nan", ids, vectors)
    save_records(folder / "small.jsonl", [{"id": name, "contents": "x"} for name in ids])
    (folder / "folder").mkdir()
    save_records(folder / "one.jsonl", [{"id": "d0", "contents": "x"}])
    return folder


@pytest.mark.parametrize(
    ("more", "code", "part"),
    [
        ("--faiss @absent", 1, "absent: no Faiss index; build one with python -m seal_ir.base"),
        ("--input @absent", 1, "absent: no such file or folder"),
        ("--input @more.jsonl", 1, "faiss: has no vector of 2 of 3 documents, such as 'n0'; build"),
        ("--input @none.jsonl", 2, "no documents to name (read 1 = indexed 0 + empty 1"),
        ("--input @small.jsonl --faiss @twice", 1, "docid:10: id 'd0' comes twice"),
        ("--input @more.jsonl --faiss @short", 1, "has no vector of 2 of 3"),
        ("--input @small.jsonl --faiss @cut", 1, "cut/index: Faiss cannot read it ("),
        ("--input @small.jsonl --faiss @lost", 1, "cannot give the vectors of this kind of index"),
        ("--input @small.jsonl --faiss @nan", 1, "the vector of document 'd4' holds numbers that"),
        (
            "--input @one.jsonl --faiss @short",
            1,
            "short: 10 vectors and 9 ids; remove the index and build one",
        ),
        ("--branches 1", 2, "branches is 1"),
        ("--output @out.jsonl.zst", 2, "out.jsonl.zst: this is written plain or as gzip"),
        ("--output @folder", 2, "folder: is a folder; name a file to write"),
    ],
)
def test_faults(faulty: Path, call: Runner, more: str, code: int, part: str) -> None:
    words = more.replace("@", f"{faulty}/").split()
    assert_fault(call(docids.main, *words_of(faulty, *words)), code, part)
    assert not list(faulty.glob("out*"))
    assert not list(faulty.glob(".*"))


def test_faiss_is_missing(folder: Path, call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    parts = ("clusters need Faiss (", "); pip install 'seal-ir[pyserini]', which has it")
    assert_fault(call(docids.main, *words_of(folder)), 2, *parts)


def test_a_collection_that_changes(folder: Path, call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    def appending(*args: Any) -> Any:
        with (folder / "docs.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"id": "new", "contents": "x"}\n')
        return tree_paths(*args)

    monkeypatch.setattr(docids, "tree_paths", appending)
    assert_fault(call(docids.main, *words_of(folder)), 2, "new: the collection has changed while it was read")
    assert not list(folder.glob("*out*"))


def test_without_faiss(folder: Path, call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "faiss", None)
    assert_fault(
        call(docids.main, *words_of(folder)), 2, "clusters need Faiss", "pip install 'seal-ir[pyserini]'"
    )


def test_record_of() -> None:
    assert record_of(Document("1", "", "text")) == {"id": "1", "title": "", "contents": "text"}
    raw = '{"contents": "c", "docid": "7", "id": 1}'
    assert record_of(Document("1", "", "c", raw)) == {"id": "1", "contents": "c", "docid": "7"}
