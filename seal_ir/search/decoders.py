"""Decoding in actors of a Ray cluster: each loads the model once and asks the actors that are the shards.

Whole batches go to whichever decoder has least to do, and come back in order. A batch is decoded there as it
is here, so that its keys are the same to the last bit.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from seal_ir.config import SearchConfig
from seal_ir.decode.beam import Decoded
from seal_ir.distributed.cluster import Cluster, connected
from seal_ir.distributed.handed import Handed
from seal_ir.distributed.index import ShardedIndex
from seal_ir.distributed.placement import slot_of
from seal_ir.distributed.workers import RayWorkers, nodes_of
from seal_ir.errors import ModelError, UsageError
from seal_ir.records import Query
from seal_ir.search.options import loaded_model
from seal_ir.search.pipeline import QueryPipeline, batched, warn


class DecoderSettings(NamedTuple):
    """What a decoder decodes with.

    Attributes:
        model: by name, as each node finds it.
        config: preset and settings.
        device, dtype: see `load_generator`.
        threads: of torch.
        yes: fetch the weights that a packaged model builds on without asking.
    """

    model: str
    config: SearchConfig
    device: str | None
    dtype: str | None
    threads: int
    yes: bool


class Told(NamedTuple):
    """An answer of a decoder, and the warnings that were logged on the way."""

    answer: Any
    warnings: list[str]


class Decoder:
    """An actor that decodes, one batch at a time. A restarted one loads its model with the next batch."""

    def __init__(self) -> None:
        """Know nothing yet: what it decodes with comes with each call."""
        self._pipeline: QueryPipeline | None = None
        self._log = _Log()
        logging.getLogger("seal_ir").addHandler(self._log)

    def load(self, index: Handed, settings: DecoderSettings) -> Told:
        """Load the model; its device and dtype.

        Raises:
            ModelError: it cannot be loaded here, or does not fit the index.
            UsageError: device or dtype is unknown or not available.
        """
        try:
            generator = self._loaded(index, settings).generator
        except (ModelError, UsageError) as error:
            raise type(error)(f"a decoder on {socket.gethostname()}: {error}") from error
        return Told((generator.device, generator.dtype), self._log.taken())

    def decode(self, index: Handed, settings: DecoderSettings, queries: Sequence[str]) -> Told:
        """The keys of a batch, as `Decoded`.

        Raises:
            SealError: as `QueryPipeline.decode`.
        """
        decoded = self._loaded(index, settings).decode_counted(queries)
        return Told(decoded, self._log.taken())

    def _loaded(self, index: Handed, settings: DecoderSettings) -> QueryPipeline:
        if self._pipeline is None:
            model, config, device, dtype, threads, yes = settings
            made = QueryPipeline(index.opened(), model, config=config, device=device, dtype=dtype)
            loaded_model(made, threads, yes)
            self._pipeline = made
        return self._pipeline


class Decoders:
    """Decoders of topics; their model is loaded. Close it when no more batches are wanted.

    Attributes:
        device, dtype: of the model.
    """

    def __init__(
        self,
        pipeline: QueryPipeline,
        topics: Sequence[Query],
        cluster: Cluster,
        n: int,
        settings: DecoderSettings,
    ) -> None:
        """Find room for so many, start them, and let each load the model; says on stderr where it runs.

        Args:
            pipeline: of an index in shards; says which topics are a batch.
            topics: whose batches will be asked for, in this order.
            cluster: where.
            n: how many.
            settings: as for one process; the device may be chosen by what the cluster has.

        Raises:
            ClusterError: there is no room for so many; says how many there is room for.
            ModelError: the model cannot be loaded on a node, or runs in another precision on one.
            UsageError: as `load_generator`; or the index is not in shards.
        """
        if not isinstance(pipeline.index, ShardedIndex):
            raise UsageError("--decoders needs --ray: the address of a Ray cluster, or local")
        slot = slot_of(settings.device, settings.threads, nodes_of(connected(cluster)))
        settings = settings._replace(device=slot.device, threads=slot.n_cores)
        self._told: set[str] = set()
        self._workers = RayWorkers(Decoder, (Handed.of(pipeline.index), settings), slot, n)
        try:
            places = [self._taken(told) for told in self._workers.every("load")]
            if len({dtype for _, dtype in places}) > 1:
                kinds = " and ".join(sorted({dtype for _, dtype in places}))
                raise ModelError(f"--dtype {settings.dtype} is {kinds} on different nodes; give one of them")
        except BaseException:
            self.close()
            raise
        self.device, self.dtype = places[0]
        many = "1 decoder" if n == 1 else f"{n} decoders"
        sys.stderr.write(f"model: {pipeline.model} on {self.device} in {self.dtype}, in {many}\n")
        self._batches = self._decoded(list(batched(topics, pipeline.batch_size)))

    def decoded(self, batch: Sequence[Query]) -> Decoded:
        """The keys of the next batch of topics; see `pipeline.Decode`.

        Raises:
            SealError: as a decoder raises it, or one is lost for good.
        """
        asked, decoded = next(self._batches)
        if asked != batch:
            raise ValueError("another batch of topics than the next one")
        return decoded

    def close(self) -> None:
        """End the decoders, in the middle of a batch too."""
        self._workers.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _decoded(self, batches: list[Sequence[Query]]) -> Iterator[tuple[Sequence[Query], Decoded]]:
        texts = (([topic.text for topic in batch],) for batch in batches)
        for batch, told in zip(batches, self._workers.in_order("decode", texts), strict=True):
            yield batch, self._taken(told)

    def _taken(self, told: Told) -> Any:
        """The answer; warnings, of which every decoder has its own, are told once."""
        for sentence in told.warnings:
            if sentence not in self._told:
                self._told.add(sentence)
                warn(sentence)
        return told.answer


class _Log(logging.Handler):
    """Keeps the warnings of an actor, whose own stderr nobody reads."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._sentences: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._sentences.append(record.getMessage())

    def taken(self) -> list[str]:
        """Those since the last time."""
        found, self._sentences = self._sentences, []
        return found
