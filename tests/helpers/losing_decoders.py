"""Kills nodes of a Ray cluster that have a decoder, while it decodes: `losing_decoders DIRECTORY FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster as Nodes

from seal_ir.decode.beam import Decoded
from seal_ir.distributed.cluster import Cluster, open_sharded
from seal_ir.errors import SealError
from seal_ir.records import Query
from seal_ir.search.decoders import Decoders, DecoderSettings
from seal_ir.search.pipeline import QueryPipeline
from tests.helpers import decoding_actors, tiny

TOPICS = [Query(str(i), f"the capital of Japan {i}") for i in range(40)]
STORE = 100 << 20


def main(directory: Path, folder: Path) -> None:
    cluster = Nodes(
        initialize_head=True,
        head_node_args={"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False},
    )
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
    ray.init(cluster.address, log_to_driver=False, runtime_env=decoding_actors.environment(folder))
    one = QueryPipeline(directory, tiny.generator(), batch_size=1)
    pipeline = QueryPipeline(open_sharded(directory, cluster.address, 2), "tiny", batch_size=1)
    settings = DecoderSettings("tiny", pipeline.config, "cpu", None, 1, False)
    with Decoders(pipeline, TOPICS, Cluster(cluster.address), 1, settings) as decoders:
        assert _keys(decoders.decoded(TOPICS[:1])) == _keys(one.decode_counted([TOPICS[0].text]))
        lost = next(node for node in nodes if node.node_id == _place(decoders))
        cluster.remove_node(lost, allow_graceful=False)
        for i in range(1, 20):
            assert _keys(decoders.decoded(TOPICS[i : i + 1])) == _keys(one.decode_counted([TOPICS[i].text]))
        (left,) = (node for node in nodes if node is not lost)
        assert _place(decoders) == left.node_id
        print("decoded on another node", flush=True)
        cluster.remove_node(left, allow_graceful=False)
        try:
            for i in range(20, 40):
                decoders.decoded(TOPICS[i : i + 1])
        except SealError as error:
            print(error, flush=True)
    ray.shutdown()
    cluster.shutdown()


def _keys(decoded: Decoded) -> list[list[tuple[object, ...]]]:
    return [[(key.symbols, key.logprob, key.count) for key in keys.keys] for keys in decoded.queries]


def _place(decoders: Decoders) -> str:
    """The node of the only decoder, by id."""
    (actor,) = decoders._workers._actors
    place: str = ray.get(actor.__ray_call__.remote(_node))
    return place


def _node(decoder: object) -> str:
    return str(ray.get_runtime_context().get_node_id())


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
