"""Decoding in actors of a Ray cluster that have the model, beside the shards, which have the index."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.arrays import Ints
from seal_ir.config import SearchConfig
from seal_ir.decode.beam import Decoded
from seal_ir.distributed.cluster import LIVES, Attached, Cluster, answer_of, connected
from seal_ir.distributed.index import ShardedIndex
from seal_ir.errors import ClusterError, UsageError
from seal_ir.index.reader import Index
from seal_ir.index.view import Counts, View, view_of
from seal_ir.records import Query
from seal_ir.search.model import LazyGenerator, left_out
from seal_ir.search.pipeline import Decode, batched

logger = logging.getLogger(__name__)


class Running(NamedTuple):
    """The model that the actors run, by name; its device and precision."""

    model: str
    device: str
    dtype: str


class Model(NamedTuple):
    """Which model to run, and how; see `load_generator`."""

    name: str
    device: str | None = None
    dtype: str | None = None
    threads: int = 1


class Decoder:
    """In an actor: the model, and the index through its shards.

    The shards, and the documents of a filter, are given with each question, and are always the same: what an
    actor is made with could not be found again by one that is restarted.
    """

    def __init__(self, directory: str, model: Model) -> None:
        """Load nothing yet.

        Args:
            directory: the index.
            model: which model.
        """
        self._directory, self._model = Path(directory), model
        self._generator: LazyGenerator | None = None
        self._index: Index | None = None

    def running(self, attached: Attached) -> Running:
        """The model, loaded now."""
        made = self._made(attached)
        generator = made.get()
        return Running(made.name, generator.device, generator.dtype)

    def decode(
        self,
        attached: Attached,
        within: tuple[Ints, Counts] | None,
        queries: list[str],
        config: SearchConfig,
    ) -> Decoded:
        """The keys of a batch of queries."""
        made = self._made(attached)
        if self._index is None:
            whole = ShardedIndex(self._directory, attached)
            self._index = whole if within is None else view_of(whole, *within)
        return made.decode(queries, config, self._index)

    def _made(self, attached: Attached) -> LazyGenerator:
        """The model, ready to be loaded, made by the first question."""
        from seal_ir.lm.device import use_threads

        if self._generator is None:
            use_threads(self._model.threads)
            whole = ShardedIndex(self._directory, attached)
            self._generator = LazyGenerator(whole, *self._model[:3])
        return self._generator


class Decoders:
    """Actors that decode batches side by side; they go with this object.

    Attributes:
        running: the model that they run.
    """

    def __init__(self, cluster: Cluster, n: int, index: Index, model: Model) -> None:
        """Start the actors, each on a GPU where the cluster has some, else on a core, and load the model.

        Args:
            cluster: that of the index's shards.
            n: how many.
            index: a sharded one, or a view of one.
            model: which model, by a name or path that all nodes find.

        Raises:
            UsageError: the cluster has not as many GPUs or cores.
            ModelError: the model cannot be loaded, or has another tokenizer than the index.
            ClusterError: an actor is lost.
        """
        ray = connected(cluster)
        self._patience_s, self._index = cluster.patience_s, index
        resources = ray.cluster_resources()
        on_gpu = bool(resources.get("GPU")) and model.device != "cpu"
        kind, most = ("GPU", resources["GPU"]) if on_gpu else ("CPU", resources.get("CPU", 0))
        if n > most:
            raise UsageError(f"--decoders {n}: the cluster has {int(most)} {kind}s; give at most as many")
        view = index if isinstance(index, View) else None
        whole = index if view is None else view.whole
        if not isinstance(whole, ShardedIndex):
            raise UsageError("decoders need an index in shards: open it with --ray")
        place = str(whole.directory.absolute())
        name = str(Path(model.name).absolute()) if Path(model.name).is_dir() else model.name
        actor = ray.remote(Decoder).options(
            num_gpus=int(on_gpu), num_cpus=int(not on_gpu), max_restarts=LIVES, max_task_retries=LIVES
        )
        self._actors = [actor.remote(place, model._replace(name=name)) for _ in range(n)]
        self._attached = ray.put(Attached(whole.manifest, whole.shards))
        self._within = None if view is None else ray.put((view.allowed, view.counts))
        self.running: Running = [
            self._answer(one) for one in [a.running.remote(self._attached) for a in self._actors]
        ][0]

    def decoding(self, topics: Sequence[Query], batch_size: int, config: SearchConfig) -> Decode:
        """What gives batches of topics their keys, in order, while the actors decode the next ones."""
        for told in left_out(config.decode, self._index):
            logger.warning("%s", told)
        batches = deque(batched(topics, batch_size))
        waiting: deque[Any] = deque()
        free = deque(self._actors)

        def decode(batch: Sequence[Query]) -> Decoded:
            while batches and free:
                actor = free.popleft()
                asked = [query.text for query in batches.popleft()]
                waiting.append((actor, actor.decode.remote(self._attached, self._within, asked, config)))
            actor, answer = waiting.popleft()
            decoded: Decoded = self._answer(answer)
            free.append(actor)
            return decoded

        return decode

    def _answer(self, answer: Any) -> Any:
        return answer_of(answer, self._patience_s, _lost)


def _lost(what: str) -> ClusterError:
    return ClusterError(
        f"a decoder {what}; see whether its node runs (ray status) and has memory for the model, and start"
        " again"
    )
