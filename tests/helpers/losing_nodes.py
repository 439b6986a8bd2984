"""Kills nodes of a Ray cluster that have shards, while an index is searched: `losing_nodes DIRECTORY`."""

from __future__ import annotations

import sys
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from seal_ir.distributed.cluster import open_sharded
from seal_ir.distributed.index import ShardedIndex
from seal_ir.errors import SealError
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.waiting import wait_until

QUERY = "the capital of Japan"
STORE = 100 << 20


def main(directory: Path) -> None:
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False},
    )
    nodes = [cluster.add_node(num_cpus=1, object_store_memory=STORE) for _ in range(2)]
    ray.init(cluster.address, log_to_driver=False)
    expected = SealSearcher(directory, tiny.generator()).search(QUERY)
    index = open_sharded(directory, cluster.address, 7)
    searcher = SealSearcher(index, tiny.generator())
    assert searcher.search(QUERY) == expected
    lost = next(node for node in nodes if node.node_id in _places(index))
    print("a node has shards")
    cluster.remove_node(lost, allow_graceful=False)
    assert searcher.search(QUERY) == expected
    print("the same hits")
    directory.rename(directory.with_name("elsewhere"))
    (left,) = (node for node in nodes if node is not lost)
    if left.node_id not in _places(index):  # where Ray puts actors is its own choice
        ray.kill(index.shards._actors[0], no_restart=False)
    cluster.remove_node(left, allow_graceful=False)
    print("told in a line" if "\n" not in (told := _told(searcher)) else told)
    ray.shutdown()
    cluster.shutdown()


def _told(searcher: SealSearcher) -> str:
    """What a search says of the loss in the end: an actor may answer for a while after it was killed."""
    told: list[str] = []

    def fails() -> bool:
        try:
            searcher.search(QUERY)
        except SealError as error:
            told.append(str(error))
        return bool(told)

    wait_until(fails, every=0.1)
    return told[0]


def _places(index: ShardedIndex) -> set[str]:
    """The nodes that have shards, by id."""
    return {ray.get(actor.__ray_call__.remote(_node)) for actor in index.shards._actors}


def _node(shard: object) -> str:
    return str(ray.get_runtime_context().get_node_id())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
