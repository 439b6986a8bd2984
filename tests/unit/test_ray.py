"""A real Ray cluster on this machine: runs are those of one process, and any actor may be killed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from seal_ir.distributed import cluster
from seal_ir.distributed.cluster import Cluster, open_sharded
from seal_ir.distributed.index import ShardedIndex
from seal_ir.encode.__main__ import main as encode_main
from seal_ir.errors import ClusterError, IndexDirError
from seal_ir.index.__main__ import main as index_main
from seal_ir.index.manifest import read_manifest
from seal_ir.index.reader import Index
from seal_ir.search.__main__ import main
from seal_ir.search.searcher import SealSearcher
from tests.cli.test_segmented_runs import QUERIES
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault, spawn
from tests.helpers.killing import kill_for_good
from tests.helpers.stub import FURTHER
from tests.helpers.stubbed import Stubbed
from tests.property.test_changing_index import ChangingIndex, same_rows
from tests.unit.test_sharded import IDS, documents

pytestmark = pytest.mark.slow  # starting Ray takes seconds


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """A small cluster, to which everything here connects."""
    module = pytest.importorskip("ray")
    module.init(
        "local", num_cpus=2, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False
    )
    yield module
    module.shutdown()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("ray") / "index"
    tiny.build(found, documents(), 280, fields=FURTHER, store=("year:int",), store_raw=True)
    assert len(read_manifest(found).segments) == 7
    return found


def actors(index: ShardedIndex) -> list[Any]:
    assert isinstance(index.shards, cluster.RayShards)
    return index.shards._actors


class Commands:
    """Search and encode by command, over the same topics."""

    def __init__(self, call: Runner, folder: Path, index: Path) -> None:
        self._call, self.folder, self.index = call, folder, index
        self.topics = folder / "topics.tsv"
        self.topics.write_text("".join(f"q{i}\t{query}\n" for i, query in enumerate(QUERIES)), "utf-8")

    def search(self, name: str, *arguments: object) -> bytes:
        output = self.folder / name
        usual = ("--topics", self.topics, "--index", self.index, "--output", output, "--model", "tiny")
        result = self._call(main, *usual, *arguments)
        assert result.code == 0, result.err
        return output.read_bytes()

    def keys(self, name: str, *arguments: object) -> bytes:
        output = self.folder / f"{name}.jsonl"
        usual = ("input", "--corpus", self.topics, "output", "--embeddings", output, "encoder")
        result = self._call(encode_main, *usual, "--index", self.index, "--encoder", "tiny", *arguments)
        assert result.code == 0, result.err
        return output.read_bytes()


@pytest.fixture
def commands(call: Runner, stubbed: Stubbed, tmp_path: Path, directory: Path) -> Commands:
    return Commands(call, tmp_path, directory)


def test_runs_and_keys_are_the_same_bytes(ray: Any, commands: Commands) -> None:
    ids = commands.folder / "ids.txt"
    ids.write_text("".join(f"{docid}\n" for docid in IDS), encoding="utf-8")
    local = ("--ray", "local", "--shards", 2, "--batch-size", 2)
    for arguments in (("--preset", "thorough"), ("--filter", ids), ("--filter", "year > 20")):
        expected = commands.search("one.trec", *arguments, "--batch-size", 2)
        assert expected
        assert commands.search("two.trec", *arguments, *local) == expected
    assert '"ray": "local"' in (commands.folder / "two.trec.config.json").read_text(encoding="utf-8")
    expected = commands.keys("one", "--batch-size", 2)
    assert commands.keys("two", *local) == expected
    found = commands.search("keys.trec", "--keys", commands.folder / "one.jsonl", *local)
    assert found == commands.search("keys1.trec", "--keys", commands.folder / "one.jsonl")


@pytest.mark.parametrize("n", [1, 2, 5])
def test_actors_are_killed_in_a_batch(
    ray: Any, directory: Path, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch, n: int
) -> None:
    """In the middle of decoding and of ranking: they are restarted, and asked again."""
    expected = SealSearcher(directory, tiny.generator(), preset="thorough").batch_search(
        QUERIES, QUERIES, k=20
    )
    index = open_sharded(directory, shards=n)
    same_rows(index, Index(directory))
    asked: list[str] = []
    ask = index.shards.ask

    def killing(method: str, arguments: Any) -> Any:
        asked.append(method)
        if len(asked) in (3, 6) or asked.count("ranked") == 2 == asked[-2:].count("ranked"):
            ray.kill(actors(index)[len(asked) % n], no_restart=False)
        return ask(method, arguments)

    monkeypatch.setattr(index.shards, "ask", killing)
    searcher = SealSearcher(index, tiny.generator(), preset="thorough")
    assert searcher.batch_search(QUERIES, QUERIES, k=20) == expected
    assert len(asked) > 6
    assert asked.count("ranked") >= len(QUERIES)


def test_a_shard_that_is_lost_for_good_is_one_sentence(ray: Any, directory: Path) -> None:
    index = open_sharded(directory, shards=2)
    assert index.number("d00") == 0
    kill_for_good(actors(index)[1])
    with pytest.raises(ClusterError, match="the shard of segment-.* is lost, and Ray could not") as error:
        index.number("d00")
    assert "\n" not in str(error.value)
    slow = open_sharded(directory, Cluster(patience_s=0.001), 2)
    with pytest.raises(ClusterError, match="has not answered for 0.001 s"):
        slow.value_lengths("title")


def test_faults_of_files_are_told_as_here(ray: Any, directory: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexDirError, match="no such index directory"):
        open_sharded(tmp_path / "nothing")
    copied = Path(shutil.copytree(directory, tmp_path / "index"))
    last = read_manifest(copied).segments[-1].name
    (copied / last / "fm.bin").write_bytes(b"spoiled")
    with pytest.raises(IndexDirError, match=f"{last}/fm.bin: damaged"):
        SealSearcher(open_sharded(copied, shards=2), tiny.generator()).search(QUERIES[0])


def test_an_index_is_built_in_tasks(ray: Any, call: Runner, tmp_path: Path) -> None:
    import json

    source, model = tmp_path / "d.jsonl", tiny.save_tokenizer(tmp_path / "model")
    records = [
        {"id": d.id, "title": d.title, "contents": d.text, "year": i} for i, d in enumerate(documents())
    ]
    source.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    usual = ("--input", source, "--model", model, "--store", "year:int")
    assert call(index_main, *usual, "--index", tmp_path / "one").code == 0
    one = Index(tmp_path / "one")
    for n in (1, 2, 5, 100):
        result = call(index_main, *usual, "--index", tmp_path / "many", "--ray", "local", "--shards", n)
        assert result.code == 0, result.err
        many = Index(tmp_path / "many")
        assert len(many.manifest.segments) == min(n, len(records))
        assert many.documents(range(28)) == one.documents(range(28))
        same_rows(many, one)
        assert sorted(path.name for path in (tmp_path / "many").iterdir()) == sorted(
            {"index.json", *(name.partition("/")[0] for name in many.manifest.files)}
        )
    parts = ("--split", "words:4", "--collection", "JsonCollection")
    for name, more in (("whole", ()), ("parts", ("--ray", "local", "--shards", 2))):
        assert call(index_main, *usual, *parts, "--index", tmp_path / name, *more).code == 0
    whole, cut_up = Index(tmp_path / "whole"), Index(tmp_path / "parts")
    assert len(cut_up.manifest.segments) == 2
    assert cut_up.n_documents > len(records)
    everything = range(whole.n_documents)
    assert cut_up.stored_values(everything) == whole.stored_values(everything)
    same_rows(cut_up, whole)
    for number, shards in enumerate((2, 2)):  # the same cut gives the same files
        assert (
            call(
                index_main, *usual, "--index", tmp_path / f"s{number}", "--ray", "local", "--shards", shards
            ).code
            == 0
        )
    assert read_manifest(tmp_path / "s0") == read_manifest(tmp_path / "s1")
    long = call(index_main, *usual, "--index", tmp_path / "x", "--ray", "local", "--max-segment-tokens", 5)
    assert_fault(long, 1, "a segment holds at most 5; split it")
    assert not (tmp_path / "x").exists()


class ChangingActors(ChangingIndex):
    """Each commit is read by the actors of a cluster, another number of them each time."""

    n_shards = (1, 2, 5)

    def read(self) -> Index:
        type(self).n_shards = (*self.n_shards[1:], self.n_shards[0])
        return open_sharded(self.directory, shards=self.n_shards[0], check="sizes")


def test_any_changes_answer_like_a_fresh_index(ray: Any) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        ChangingActors,
        settings=settings(
            max_examples=6,
            stateful_step_count=8,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        ),
    )


def test_a_cluster_of_its_own_by_command(directory: Path, tmp_path: Path) -> None:
    """As a user does: a process that starts Ray, searches, and leaves nothing running."""
    pytest.importorskip("ray")
    topics = tmp_path / "topics.tsv"
    topics.write_text(f"q\t{QUERIES[0]}\n", encoding="utf-8")
    runs = []
    for name, more in (("one", ()), ("two", ("--ray", "local", "--shards", 2))):
        output = tmp_path / f"{name}.trec"
        usual = ("--topics", topics, "--index", directory, "--output", output, "--preset", "paper")
        result = spawn("tests.helpers.stubbed_search", *usual, *more)
        assert result.code == 0, result.err
        assert ("ray: 2 shards\n" in result.err) == bool(more)
        runs.append(output.read_bytes())
    assert runs[0] == runs[1]


def test_a_lost_node_is_made_up_for_or_told(directory: Path, tmp_path: Path) -> None:
    """A node is killed; then another, when no files are found. In a process of its own."""
    pytest.importorskip("ray")
    copied = shutil.copytree(directory, tmp_path / "index")
    result = spawn("tests.helpers.losing_nodes", copied)
    assert result.code == 0, result.err
    assert {"a node has shards", "the same hits", "told in a line"} <= set(result.out.splitlines())


def test_there_is_no_cluster_at_an_address(directory: Path, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    topics = tmp_path / "topics.tsv"
    topics.write_text(f"q\t{QUERIES[0]}\n", encoding="utf-8")
    usual = ("--topics", topics, "--index", directory, "--output", tmp_path / "run.trec", "--preset", "paper")
    result = spawn("tests.helpers.stubbed_search", *usual, "--ray", "127.0.0.1:1")
    assert_fault(result, 1, "Ray at '127.0.0.1:1': cannot connect", "ray start --head")
    assert not (tmp_path / "run.trec").exists()


def test_ray_module_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ClusterError, match=r"pip install 'seal-ir\[ray\]'"):
        open_sharded(directory)
