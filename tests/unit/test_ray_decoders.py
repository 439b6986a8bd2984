"""Decoders on a real Ray cluster: runs and keys are those of one process; nothing hangs or is left over."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seal_ir.decode.prompts import CutQueries
from seal_ir.distributed import workers
from seal_ir.distributed.cluster import Cluster, RayShards, open_sharded
from seal_ir.distributed.index import ShardedIndex
from seal_ir.encode.__main__ import main as encode_main
from seal_ir.errors import ClusterError
from seal_ir.index.manifest import read_manifest
from seal_ir.records import Hit, Query
from seal_ir.search.__main__ import main
from seal_ir.search.decoders import Decoders, DecoderSettings
from seal_ir.search.pipeline import QueryPipeline, RankedBatch
from tests.cli.test_segmented_runs import QUERIES
from tests.helpers import decoding_actors, tiny
from tests.helpers.commands import Result, Runner, assert_fault, spawn
from tests.helpers.decoding_actors import MISSING, processes
from tests.helpers.killing import kill_for_good
from tests.helpers.stub import FURTHER
from tests.helpers.stubbed import Stubbed
from tests.unit.test_sharded import IDS, documents

pytestmark = pytest.mark.slow  # starting Ray takes seconds
TOPICS = [Query(f"q{i}", f"{query} {i}") for i, query in enumerate(QUERIES * 3)]
PATIENCE_S = 60


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where actors write what they do."""
    return tmp_path_factory.mktemp("told")


@pytest.fixture(scope="module")
def ray(told: Path) -> Iterator[Any]:
    """A cluster of two cores, and of what it takes for a GPU; its actors decode with the echo model."""
    module = pytest.importorskip("ray")
    module.init(
        "local",
        num_cpus=2,
        num_gpus=1,
        include_dashboard=False,
        object_store_memory=100 << 20,
        log_to_driver=False,
        runtime_env=decoding_actors.environment(told),
    )
    yield module
    module.shutdown()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("ray") / "index"
    tiny.build(found, documents(), 280, fields=FURTHER, store=("year:int",))
    assert len(read_manifest(found).segments) == 7
    return found


class Commands:
    """Search and encode by command, over the same topics in batches of two."""

    def __init__(self, call: Runner, folder: Path, index: Path) -> None:
        self._call, self.folder, self.index = call, folder, index
        self.topics = folder / "topics.tsv"
        self.topics.write_text("".join(f"{id}\t{text}\n" for id, text in TOPICS), "utf-8")

    def search(self, name: str, *arguments: object) -> Result:
        usual = ("--topics", self.topics, "--index", self.index, "--output", self.folder / name)
        more = ("--model", "tiny", "--batch-size", 2, "--threads", 1, *arguments)
        result = self._call(main, *usual, *more)
        return result._replace(out=_own(result.out), err=_own(result.err))

    def run(self, name: str, *arguments: object) -> bytes:
        result = self.search(name, *arguments)
        assert result.code == 0, result.err
        return (self.folder / name).read_bytes()

    def keys(self, name: str, *arguments: object) -> bytes:
        output = self.folder / f"{name}.jsonl"
        usual = (
            "input",
            "--corpus",
            self.topics,
            "output",
            "--embeddings",
            output,
            "encoder",
            "--threads",
            1,
        )
        result = self._call(
            encode_main, *usual, "--batch-size", 2, "--index", self.index, "--encoder", "tiny", *arguments
        )
        assert result.code == 0, result.err
        return output.read_bytes()


def _own(lines: str) -> str:
    """Without what Ray says, perhaps late, of actors that a test has killed."""
    return "".join(line for line in lines.splitlines(keepends=True) if "(raylet)" not in line)


@pytest.fixture
def commands(call: Runner, stubbed: Stubbed, tmp_path: Path, directory: Path) -> Commands:
    return Commands(call, tmp_path, directory)


def decoding(n: int) -> tuple[object, ...]:
    return "--ray", "local", "--shards", 2, "--decoders", n, "--device", "cpu"


def until(true: Callable[[], bool]) -> bool:
    """Whether it becomes true; Ray tells late what has become free."""
    end = time.monotonic() + PATIENCE_S
    while not (found := true()) and time.monotonic() < end:
        time.sleep(0.1)
    return found


@pytest.fixture
def free(ray: Any) -> Iterator[None]:
    """Every slot is free before and after a test: whatever happens, decoders end."""
    assert until(lambda: ray.available_resources().get("CPU") == 2)
    yield
    assert until(lambda: ray.available_resources().get("CPU") == 2)


def test_runs_and_keys_are_the_same_bytes(
    ray: Any, free: None, told: Path, commands: Commands, stubbed: Stubbed
) -> None:
    ids = commands.folder / "ids.txt"
    ids.write_text("".join(f"{docid}\n" for docid in IDS), encoding="utf-8")
    for numbers, arguments in (
        ((1, 2), ("--preset", "thorough")),
        ((2,), ("--filter", ids)),
        ((2,), ("--filter", "year > 20", "--filter-counts", "filter")),
    ):
        expected = commands.run("one.trec", *arguments)
        assert expected
        loaded = len(stubbed.loaded)
        for n in numbers:
            for name in ("loads", "batches"):
                (told / name).unlink(missing_ok=True)
            assert commands.run("two.trec", *arguments, *decoding(n)) == expected
            assert len(processes(told / "loads")) == len(set(processes(told / "batches"))) == n
            assert sorted(set(processes(told / "loads"))) == sorted(set(processes(told / "batches")))
        assert len(stubbed.loaded) == loaded  # none in this process
    about = json.loads((commands.folder / "two.trec.config.json").read_text(encoding="utf-8"))
    assert (about["ray"], about["decoders"], about["device"], about["dtype"]) == (
        "local",
        2,
        "cpu",
        "float32",
    )
    expected = commands.keys("one")
    assert commands.keys("two", *decoding(2)) == expected


def test_a_decoder_is_killed_in_a_batch(ray: Any, free: None, told: Path, commands: Commands) -> None:
    expected = commands.run("one.trec")
    for n in (1, 2):
        for name in ("loads", "batches"):
            (told / name).unlink(missing_ok=True)
        (told / "die").touch()
        assert commands.run("two.trec", *decoding(n)) == expected
        assert not (told / "die").exists()
        assert len(set(processes(told / "loads"))) == n + 1
        assert len(processes(told / "batches")) > len(TOPICS) / 2  # a batch was begun again


def made(directory: Path, n: int = 2) -> tuple[QueryPipeline, Decoders]:
    pipeline = QueryPipeline(open_sharded(directory, shards=2), "tiny", batch_size=2)
    settings = DecoderSettings("tiny", pipeline.config, "cpu", None, 1, False)
    return pipeline, Decoders(pipeline, TOPICS, Cluster(), n, settings)


def test_shards_are_killed_between_batches(ray: Any, free: None, directory: Path) -> None:
    one = QueryPipeline(directory, tiny.generator(), batch_size=2)
    expected = [hits_of(one, batch) for batch in one.ranked_batches(TOPICS, 20, CutQueries())]
    pipeline, decoders = made(directory)
    index, found = pipeline.index, []
    assert isinstance(index, ShardedIndex)
    assert isinstance(index.shards, RayShards)
    with decoders:
        for batch in pipeline.ranked_batches(TOPICS, 20, CutQueries(), decode=decoders.decoded):
            found.append(hits_of(pipeline, batch))
            ray.kill(index.shards._actors[len(found) % 2], no_restart=False)
    assert found == expected


def hits_of(pipeline: QueryPipeline, batch: RankedBatch) -> list[list[Hit]]:
    return [pipeline.bare_hits(ranking) for rankings in batch.rankings for ranking in rankings]


def test_a_decoder_that_is_lost_for_good_is_one_sentence(ray: Any, free: None, directory: Path) -> None:
    _, decoders = made(directory)
    with decoders:
        decoders.decoded(TOPICS[:2])
        with pytest.raises(ValueError, match="another batch of topics"):
            decoders.decoded(TOPICS[:2])
    _, decoders = made(directory, 1)
    with decoders:
        kill_for_good(decoders._workers._actors[0])
        with pytest.raises(ClusterError, match="a decoder is lost, and Ray could not .*ray status") as error:
            decoders.decoded(TOPICS[:2])
    assert "\n" not in str(error.value)


def test_a_lost_node_is_made_up_for_or_told(directory: Path, tmp_path: Path) -> None:
    """The node of the only decoder is killed, and then the one where it went on. In a process of its own."""
    pytest.importorskip("ray")
    result = spawn("tests.helpers.losing_decoders", directory, tmp_path)
    assert result.code == 0, result.err
    (found,) = [line for line in result.out.splitlines() if line.startswith("a decoder")]
    assert "has lost its node, and no other has room for it" in found
    assert "decoded on another node" in result.out


def test_more_decoders_than_slots_are_refused_at_once(ray: Any, free: None, commands: Commands) -> None:
    asked = (
        (
            ("--decoders", 3),
            "--decoders 3 needs 3 slots of 1 core, and the cluster has 2",
            "give --decoders 2",
        ),
        (("--decoders", 2, "--threads", 2), "2 slots of 2 cores, and the cluster has 1", "or --threads 1"),
        (("--device", "cuda"), "2 slots of 1 core and 1 GPU, and the cluster has 1", "or --device cpu"),
    )
    for arguments, *parts in asked:
        started = time.monotonic()
        result = commands.search("run.trec", *decoding(2), "--shards", 7, *arguments)
        assert_fault(result, 1, "(1 node of 2 cores and 1 GPU)", *parts, "or add nodes")
        assert time.monotonic() - started < PATIENCE_S
        assert not (commands.folder / "run.trec").exists()
    assert_fault(commands.search("run.trec", *decoding(2), "--device", "cuda:1"), 2, "--device cuda:1")


def test_slots_that_others_hold(
    ray: Any, free: None, commands: Commands, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = commands.run("one.trec")
    monkeypatch.setattr(workers, "_PLACED_IN_S", 1.0)
    holder = ray.remote(Stubbed).options(num_cpus=1).remote()
    assert until(lambda: ray.available_resources().get("CPU") == 1)
    result = commands.search("run.trec", *decoding(2))
    assert_fault(result, 1, "2 slots of 1 core, and after 1 s only 1 of 2 cores are free", "or give fewer")
    assert not (commands.folder / "run.trec").exists()
    assert commands.run("two.trec", *decoding(1), "--shards", 7) == expected  # shards hold none
    del holder


def test_a_gpu_is_taken_where_the_cluster_has_one(
    ray: Any, free: None, told: Path, commands: Commands
) -> None:
    (told / "loads").unlink(missing_ok=True)
    commands.run("one.trec", "--ray", "local", "--decoders", 1)
    assert (told / "loads").read_text(encoding="utf-8").split()[1:] == ["tiny", "cuda", "None"]
    about = json.loads((commands.folder / "one.trec.config.json").read_text(encoding="utf-8"))
    assert about["device"] == "cuda"


def test_a_model_that_cannot_be_loaded_is_one_line(ray: Any, free: None, commands: Commands) -> None:
    result = commands.search("run.trec", *decoding(2), "--model", MISSING)
    assert_fault(result, 1, f"a decoder on {os.uname().nodename}: {MISSING}: there is no such model")
    assert not (commands.folder / "run.trec").exists()


def test_a_cluster_of_its_own_by_command(directory: Path, tmp_path: Path) -> None:
    """As a user does, with a real model: the same bytes, and no process is left."""
    pytest.importorskip("ray")
    model, topics, mark = tiny.save_llama(tmp_path / "model"), tmp_path / "topics.tsv", uuid.uuid4().hex
    topics.write_text("".join(f"{id}\t{text}\n" for id, text in TOPICS), encoding="utf-8")
    runs = []
    for name, more in (("one", ()), ("two", ("--ray", "local", "--shards", 2, "--decoders", 2))):
        output = tmp_path / f"{name}.trec"
        usual = ("--topics", topics, "--index", directory, "--output", output, "--batch-size", 2)
        arguments = (*usual, "--model", model, "--threads", 1, "--preset", "paper", *more)
        result = spawn("seal_ir.search", *arguments, SEAL_IR_TEST_MARK=mark)
        assert result.code == 0, result.err
        told = [line for line in result.err.splitlines() if line.startswith("model: ")]
        assert told == [f"model: {model} on cpu in float32{', in 2 decoders' if more else ''}"]
        assert "core_worker" not in result.err  # Ray has nothing to say
        runs.append(output.read_bytes())
    assert runs[0] == runs[1] != b""
    missing = (*usual, "--model", tmp_path / "nothing", "--ray", "local", "--decoders", 1)
    assert_fault(spawn("seal_ir.search", *missing, SEAL_IR_TEST_MARK=mark), 1, "a decoder on", "nothing")
    assert until(lambda: not marked(mark))


def marked(mark: str) -> list[str]:
    """Processes with a mark in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            try:
                if mark.encode() in (process / "environ").read_bytes():
                    found.append(process.name)
            except OSError:  # it has ended
                continue
    return found
