"""Decoders without Ray: what they need of a cluster and what is told where it has not got it; batches."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.decode.prompts import CutQueries
from seal_ir.distributed import cluster
from seal_ir.distributed.cluster import Cluster
from seal_ir.distributed.placement import Resources, Slot, busy, check_room, n_slots, slot_of, told_of
from seal_ir.encode.__main__ import main as encode_main
from seal_ir.errors import ClusterError, ModelError, UsageError
from seal_ir.index.filters import made_filter
from seal_ir.records import Query
from seal_ir.search import decoders
from seal_ir.search.__main__ import main as search_main
from seal_ir.search.decoders import Decoder, Decoders, DecoderSettings, Told
from seal_ir.search.pipeline import QueryPipeline
from tests.cli.test_segmented_runs import QUERIES
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.sharded import sharded
from tests.helpers.stub import FURTHER
from tests.helpers.stubbed import Stubbed
from tests.unit.test_sharded import IDS, documents

TOPICS = [Query(f"q{i}", query) for i, query in enumerate([*QUERIES, "whale"])]
NODES = st.lists(st.fixed_dictionaries({"CPU": st.integers(0, 9), "GPU": st.integers(0, 3)}), max_size=4)


@pytest.mark.parametrize(
    ("device", "nodes", "expected"),
    [
        (None, [{"CPU": 4.0}], Slot("cpu", 3)),
        (None, [{"CPU": 4.0}, {"CPU": 1.0, "GPU": 1.0}], Slot("cuda", 1, 1)),
        ("cpu", [{"CPU": 4.0, "GPU": 1.0}], Slot("cpu", 3)),
        ("cuda", [{"CPU": 4.0}], Slot("cuda", 1, 1)),
        ("mps", [{"CPU": 4.0}], Slot("mps", 3)),
    ],
)
def test_what_a_decoder_takes(device: str | None, nodes: list[Resources], expected: Slot) -> None:
    assert slot_of(device, 3, nodes) == expected


def test_one_gpu_of_several_cannot_be_named() -> None:
    with pytest.raises(UsageError, match="--device cuda:1 does not go with --decoders.* give cuda"):
        slot_of("cuda:1", 1, [{"GPU": 2.0}])


@pytest.mark.parametrize(
    ("n", "slot", "nodes", "told"),
    [
        (
            3,
            Slot("cpu", 1),
            [{"CPU": 2.0}],
            "3 slots of 1 core, and the cluster has 2 (1 node of 2 cores); give",
        ),
        (
            1,
            Slot("cpu", 4),
            [{"CPU": 2.0}] * 3,
            "has none (3 nodes of 2 cores); give --threads 2, or add nodes",
        ),
        (
            2,
            Slot("cuda", 1, 1),
            [{"CPU": 8, "GPU": 1}, {}],
            "(1 node of 8 cores and 1 GPU, 1 node of nothing)",
        ),
        (1, Slot("cuda", 1, 1), [{"CPU": 8}], "give --device cpu, or add nodes"),
        (1, Slot("cpu", 1), [], "the cluster has none (no node); add nodes"),
    ],
)
def test_what_is_told_where_there_is_no_room(n: int, slot: Slot, nodes: list[Resources], told: str) -> None:
    with pytest.raises(ClusterError, match=f"^--decoders {n} needs {n} slot") as error:
        check_room(n, slot, nodes)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 1), NODES)
def test_what_is_advised_has_room(n: int, threads: int, n_gpus: int, nodes: list[Resources]) -> None:
    """And it is the most: a decoder or a thread more has not."""
    slot = Slot("", threads, n_gpus)
    try:
        check_room(n, slot, nodes)
    except ClusterError as error:
        advised = dict(re.findall(r"--(decoders|threads) (\d+)", str(error).partition(";")[2]))
    else:
        assert n_slots(slot, nodes) >= n
        return
    assert n_slots(slot, nodes) < n
    assert int(advised.get("decoders", 0)) == n_slots(slot, nodes)
    if "threads" in advised:
        assert n_slots(Slot("", int(advised["threads"])), nodes) >= n
        if not n_gpus:
            assert n_slots(Slot("", int(advised["threads"]) + 1), nodes) < n
    elif not n_gpus:
        assert n_slots(Slot("", 1), nodes) < n or threads == 1


def test_slots_that_others_hold_are_told() -> None:
    nodes: list[Resources] = [{"CPU": 4.0, "GPU": 1.0}, {"CPU": 4.0}]
    told = str(busy(1, Slot("cuda", 1, 1), nodes, {"CPU": 7.0}, 15.0))
    assert (
        "needs 1 slot of 1 core and 1 GPU, and after 15 s only 7 of 8 cores and 0 of 1 GPU are free" in told
    )
    assert told_of(nodes) == "1 node of 4 cores and 1 GPU, 1 node of 4 cores"


class InProcess:
    """Decoders in this process, which take turns."""

    n_closed = 0

    def __init__(self, kind: type, arguments: Sequence[Any], slot: Slot, n: int) -> None:
        self.arguments, self.actors = arguments, [kind() for _ in range(n)]

    def every(self, method: str) -> list[Any]:
        return [getattr(actor, method)(*self.arguments) for actor in self.actors]

    def in_order(self, method: str, pieces: Iterable[Sequence[Any]]) -> Iterator[Any]:
        for i, piece in enumerate(pieces):
            yield getattr(self.actors[i % len(self.actors)], method)(*self.arguments, *piece)

    def close(self) -> None:
        type(self).n_closed += 1


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch, stubbed: Stubbed) -> type[InProcess]:
    kind = type("Counted", (InProcess,), {})
    monkeypatch.setattr(decoders, "RayWorkers", kind)
    monkeypatch.setattr(decoders, "connected", lambda cluster: None)
    monkeypatch.setattr(decoders, "nodes_of", lambda ray: [{"CPU": 8.0}])
    log = logging.getLogger("seal_ir")
    monkeypatch.setattr(log, "handlers", list(log.handlers))  # an actor has a process of its own
    return kind


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("decoders") / "index"
    tiny.build(found, documents(), 1000, fields=FURTHER, store=("year:int",))
    return found


def settings_of(pipeline: QueryPipeline, dtype: str | None = None) -> DecoderSettings:
    return DecoderSettings("tiny", pipeline.config, None, dtype, 2, False)


@pytest.mark.parametrize("counts", [None, "collection", "filter"])
def test_keys_are_those_of_the_caller(
    directory: Path, without_ray: type[InProcess], stubbed: Stubbed, counts: Any
) -> None:
    runs = []
    for index in (directory, sharded(directory, 2)):
        pipeline = QueryPipeline(index, tiny.generator(), batch_size=2)
        if counts is not None:
            pipeline = pipeline.within(made_filter(pipeline.index, IDS, counts))
        made = None
        if index is not directory:
            made = Decoders(pipeline, TOPICS, Cluster(), 2, settings_of(pipeline))
        batches = pipeline.ranked_batches(TOPICS, 5, CutQueries(), decode=made.decoded if made else None)
        runs.append(
            [
                (
                    topic.id,
                    [(key.symbols, key.logprob, key.count) for key in keys.keys],
                    pipeline.bare_hits(one),
                )
                for batch in batches
                for topic, keys, (one,) in zip(*batch, strict=True)
            ]
        )
    assert runs[0] == runs[1]
    assert len(runs[0]) == len(TOPICS)
    assert stubbed.loaded == [("tiny", "cpu", None)] * 2  # once a decoder, and on no other device


def test_decoders_in_different_precisions_are_refused(
    directory: Path, without_ray: type[InProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    dtypes = iter(["bfloat16", "float32"])
    monkeypatch.setattr(Decoder, "load", lambda *arguments: Told(("cpu", next(dtypes)), []))
    pipeline = QueryPipeline(sharded(directory, 2), tiny.generator())
    with pytest.raises(ModelError, match="--dtype auto is bfloat16 and float32 on different nodes"):
        Decoders(pipeline, TOPICS, Cluster(), 2, settings_of(pipeline, "auto"))
    assert without_ray.n_closed == 1


def test_warnings_of_decoders_are_told_once(
    directory: Path,
    without_ray: type[InProcess],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def load(self: Decoder, *arguments: object) -> Told:
        return Told(("cpu", "float32"), ["some titles are too long"])

    monkeypatch.setattr(Decoder, "load", load)
    pipeline = QueryPipeline(sharded(directory, 2), tiny.generator())
    with caplog.at_level(logging.WARNING), Decoders(pipeline, TOPICS, Cluster(), 2, settings_of(pipeline)):
        assert [record.getMessage() for record in caplog.records] == ["some titles are too long"]
    log = decoders._Log()
    log.emit(logging.LogRecord("seal_ir", logging.WARNING, "", 0, "%s of %s", ("1", "2"), None))
    assert (log.taken(), log.taken()) == (["1 of 2"], [])


def test_an_index_on_this_machine_has_no_decoders(directory: Path) -> None:
    pipeline = QueryPipeline(directory, tiny.generator())
    with pytest.raises(UsageError, match="--decoders needs --ray"):
        Decoders(pipeline, TOPICS, Cluster(), 2, settings_of(pipeline))


def test_options_that_do_not_go_together(
    call: Runner, stubbed: Stubbed, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    topics, run = tmp_path / "topics.tsv", tmp_path / "run.trec"
    topics.write_text(f"q\t{QUERIES[0]}\n", encoding="utf-8")
    usual = ("--topics", topics, "--index", directory, "--output", run)
    keys = ("input", "--corpus", topics, "output", "--embeddings", tmp_path, "encoder", "--index", directory)
    for main, arguments in ((search_main, usual), (encode_main, keys)):
        assert_fault(call(main, *arguments, "--decoders", 2), 2, "--decoders needs --ray")
        assert_fault(call(main, *arguments, "--ray", "local", "--decoders", 0), 2, "--decoders is 0")
    monkeypatch.setattr(cluster, "open_sharded", lambda place, *arguments: sharded(place, 2))
    stored = call(search_main, *usual, "--ray", "local", "--decoders", 2, "--keys", tmp_path)
    assert_fault(stored, 2, "--decoders does not go with --keys")
    assert not run.exists()
