"""The way from queries to rankings: a model writes the next keys while threads rank by the last ones."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

from seal_ir.arguments import instance, instances, texts, whole
from seal_ir.config import DEFAULT_BATCH_SIZE, DEFAULT_PRESET, SearchConfig, chosen
from seal_ir.decode.beam import Decoded
from seal_ir.decode.prompts import CutQueries, cut_sentence
from seal_ir.decode.recorder import Decoding
from seal_ir.decode.rescore import rescore
from seal_ir.distributed.index import ShardedIndex
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.explanation.values import Explanation
from seal_ir.index.filters import Filter
from seal_ir.index.manifest import read_manifest
from seal_ir.index.reader import Index
from seal_ir.index.registry import opened
from seal_ir.index.view import View
from seal_ir.lm import protocols
from seal_ir.processes import capped
from seal_ir.published import rank as published_ranking
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import Hit, Query, QueryKeys, Ranked
from seal_ir.search.explaining import Question, explanation_of, recorded
from seal_ir.search.model import LazyGenerator, settings_for

logger = logging.getLogger(__name__)
Batch = TypeVar("Batch")
Item = TypeVar("Item")
Result = TypeVar("Result")
Decode = Callable[[Sequence[Query]], Decoded]


class KeyBatch(NamedTuple):
    """Queries that were decoded together, and the keys of each."""

    queries: Sequence[Query]
    keys: list[QueryKeys]


class RankedBatch(NamedTuple):
    """Queries that were decoded together; of each its keys, and its ranking under each config."""

    queries: Sequence[Query]
    keys: list[QueryKeys]
    rankings: list[list[list[Ranked]]]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """An open index with what belongs to its documents' numbers and rows."""

    index: Index
    model: LazyGenerator
    streams: Streams  # texts of candidates, which recur from query to query


class QueryPipeline:
    """A language model and an index: the keys of queries, and what they rank. No algorithm in here.

    The model is loaded when the first query comes. It may be used from several threads.

    Attributes:
        index_dir: the index directory, as it was given.
        config: preset and settings.
        batch_size: queries decoded together.
    """

    def __init__(
        self,
        index_dir: str | Path | Index,
        model: str | protocols.Generator | None = None,
        *,
        preset: str = DEFAULT_PRESET,
        config: SearchConfig | None = None,
        device: str | None = None,
        dtype: str | None = None,
        batch_size: int = DEFAULT_BATCH_SIZE,
    ) -> None:
        """Open an index.

        Args:
            index_dir: an index directory, or an open index.
            model: folder, hub name or packaged model, or a loaded model; default: the model that the
                index was built for.
            preset: "balanced", "fast", "thorough", "intersective", "paper" or another of docs/scoring.md.
            config: settings instead of a preset.
            device: where the model runs; default: CUDA where there is one.
            dtype: "float32" (default), "bfloat16", "float16" or "auto"; see `load_generator`.
            batch_size: queries decoded together.

        Raises:
            IndexDirError: there is no sound index.
            UsageError: unknown preset.
            ArgumentError: batch_size is less than 1, or an argument is of a type that means nothing.
        """
        self.batch_size = whole(batch_size, "batch_size", 1)
        self.config = chosen(preset, config)
        index = index_dir if isinstance(index_dir, Index) else _opened(index_dir)
        self.index_dir = str(index.directory if isinstance(index_dir, Index) else index_dir)
        self._place = index.directory.absolute()
        # One attribute, so that a copy of this object has all of one generation, whoever refreshes it.
        self._snapshot = _Snapshot(index, LazyGenerator(index, model, device, dtype), Streams(index))

    @property
    def index(self) -> Index:
        """The open index, as it was at the beginning or when it was last refreshed."""
        return self._snapshot.index

    def refresh(self) -> bool:
        """See the last commit to the index; the loaded model stays. Whether anything has changed.

        Searches that are under way, in other threads too, end with the index that they began with. Keys that
        were decoded before, and numbers of documents, mean nothing afterwards.

        Raises:
            IndexDirError: there is no sound index any more, or it was rebuilt with another tokenizer; what
                was open stays open.
            UsageError: this is `within` a filter.
        """
        before = self._snapshot
        if isinstance(before.index, View):
            raise UsageError("what searches within a filter keeps its index; refresh what it was made from")
        manifest = read_manifest(self._place)
        if manifest == before.index.manifest:
            return False
        if manifest.tokenizer != before.index.manifest.tokenizer:
            raise IndexDirError(
                f"{self.index_dir}: has been rebuilt with another tokenizer, that of {manifest.model!r}; open"
                " a new searcher"
            )
        index = before.index.reopened()
        self._snapshot = _Snapshot(index, before.model.following(index), Streams(index))
        return True

    def within(self, allowed: Filter) -> Self:
        """The same over some documents only; it shares the model and the texts that were read.

        Raises:
            UsageError: the filter was made for another index or another generation of it, or `stop` goes by
                other counts than the weights.
        """
        narrowed, snapshot = copy(self), self._snapshot
        view = instance(allowed, Filter, "filter").view_of(snapshot.index)
        if self.config.decode.stop and view.counts == "collection":
            # Two n-grams that occur equally often within the filter may not in the whole collection.
            raise UsageError(
                "stop is on, and goes by what occurs within the filter; leave it off, or let the filter's"
                " counts weigh keys, too (counts='filter', --filter-counts filter)"
            )
        narrowed._snapshot = _Snapshot(view, snapshot.model, snapshot.streams)
        return narrowed

    @property
    def model(self) -> str:
        """The language model by name; that of the index for a model that was given loaded."""
        return self._snapshot.model.name

    @property
    def generator(self) -> protocols.Generator:
        """The language model, loaded on first use.

        Raises:
            ModelError: it cannot be loaded, or has another tokenizer than the index.
        """
        return self._snapshot.model.get()

    def decode(self, queries: Iterable[str]) -> list[QueryKeys]:
        """The keys that the model writes for each query, for `rank`; one batch.

        Raises:
            ArgumentError: a query is no text.
            ModelError: the model cannot be loaded, does not fit the index, or gives no numbers.
        """
        asked = texts(queries, "queries")
        decoded = self.decode_counted(asked)
        warn(cut_sentence(decoded.cut, None, len(asked)))
        return decoded.queries

    def decode_counted(self, queries: Iterable[str]) -> Decoded:
        """`decode`, and which queries were cut, without a warning: many batches are told of at once."""
        snapshot = self._snapshot
        return snapshot.model.decode(texts(queries, "queries"), self.config, snapshot.index)

    def key_batches(
        self, queries: Sequence[Query], cut: CutQueries, decode: Decode | None = None
    ) -> Iterator[KeyBatch]:
        """Queries with their keys, `batch_size` at a time; each batch is decoded when it is asked for.

        Args:
            queries: the queries.
            cut: counts those that were cut.
            decode: what gives a batch of queries its keys; default: the model.
        """
        decode = decode or (lambda batch: self.decode_counted([query.text for query in batch]))
        for batch in batched(queries, self.batch_size):
            decoded = decode(batch)
            cut.add([query.id for query in batch], decoded.cut)
            yield KeyBatch(batch, decoded.queries)

    def ranked_batches(
        self,
        queries: Sequence[Query],
        k: int,
        cut: CutQueries,
        configs: Sequence[SearchConfig] | None = None,
        *,
        threads: int = 1,
        decode: Decode | None = None,
    ) -> Generator[RankedBatch, None, None]:
        """`key_batches` with rankings; threads rank a batch while the next one, and no other, is decoded.

        Close it where not all batches are taken: it leaves no thread behind then.

        Args:
            queries: the queries.
            k: documents in a ranking.
            cut: counts the queries that were cut.
            configs: what to rank under; default: its own.
            threads: threads that rank.
            decode: what gives a batch of queries its keys; default: the model.

        Raises:
            ArgumentError: k or threads is no integer from 1 on.
        """
        k, threads, under = whole(k, "k", 1), whole(threads, "threads", 1), configs or [self.config]
        batches = ((batch, batch.keys) for batch in self.key_batches(queries, cut, decode))

        def rankings(keys: QueryKeys) -> list[list[Ranked]]:
            return [self.rank(keys, k, config) for config in under]

        with closing(overlapped(batches, rankings, threads)) as results:
            for batch, found in results:
                yield RankedBatch(*batch, found)

    def rescore(self, queries: Iterable[str], keys: Iterable[QueryKeys]) -> list[QueryKeys]:
        """Keys, from wherever they are, with the probabilities that its model gives them.

        Raises:
            ArgumentError: a query is no text, or an entry of `keys` no `QueryKeys`.
            UsageError: not as many lists of keys as queries, or a key that is none.
        """
        asked, found = texts(queries, "queries"), instances(keys, QueryKeys, "keys")
        rescored = rescore(self.generator, asked, found, settings_for(self.index, self.config))
        warn(cut_sentence(rescored.cut, None, len(asked)))
        return rescored.queries

    def rank(self, keys: QueryKeys, k: int, config: SearchConfig | None = None) -> list[Ranked]:
        """The best k documents for a query's keys, under `config` or its own.

        Raises:
            ArgumentError: k is no integer from 1 on, or `keys` or `config` is something else.
        """
        instance(keys, QueryKeys, "keys")
        under = self.config if config is None else instance(config, SearchConfig, "config")
        snapshot = self._snapshot
        index, streams = snapshot.index, snapshot.streams
        k = min(whole(k, "k", 1), index.n_documents)
        if under.slow_path:
            return published_ranking.rank(index, keys, under.rank, k)
        if isinstance(index, ShardedIndex):
            return index.rank(keys, under.rank, k)
        return rank(index, keys, under.rank, k, streams=streams)

    def explanation(self, asked: Question, keys: QueryKeys | None = None) -> Explanation:
        """Why a document ranks where it does; see `SealSearcher.explain`.

        Args:
            asked: what is to be explained.
            keys: the query's, where they have been decoded before, without its decoding.
        """
        snapshot = self._snapshot
        return explanation_of(snapshot.index, snapshot.model, snapshot.streams, self.config, asked, keys)

    def recorded(self, query: str) -> Decoding:
        """How the model writes a query's keys; see `SealSearcher.trace`."""
        snapshot = self._snapshot
        return recorded(snapshot.index, snapshot.model, self.config, query)[1]

    def bare_hits(self, ranked: Iterable[Ranked]) -> list[Hit]:
        """Hits of ranked documents, without their texts."""
        return [Hit(self.index.docid(item.document), item.score, item.document) for item in ranked]


def _opened(index_dir: str | Path) -> Index:
    started = time.monotonic()
    index = opened(index_dir)
    seconds = time.monotonic() - started
    logger.info("opened %s: %d documents, %.1f s", index_dir, index.n_documents, seconds)
    return index


def warn(sentence: str) -> None:
    """Log a warning, if there is something to say."""
    if sentence:
        logger.warning("%s", sentence)


def overlapped(
    batches: Iterable[tuple[Batch, Sequence[Item]]],
    second: Callable[[Item], Result],
    threads: int,
) -> Generator[tuple[Batch, list[Result]], None, None]:
    """Each batch with the results of its items, in order; no more than two batches are held.

    What a stage raises is raised here, and an iterator that ends or is closed leaves no thread behind and
    starts nothing new; what a thread is in the middle of is waited for.

    Args:
        batches: the first stage, each batch with its items; made in the caller's thread, one ahead of what
            has been given out.
        second: makes the result of an item, in one of `threads` threads, while the next batch is made.
        threads: at least 1; `most_threads` at most, see there.
    """
    with ThreadPoolExecutor(capped(threads), thread_name_prefix="rank") as pool:
        waiting: tuple[Batch, list[Future[Result]]] | None = None
        try:
            for batch, items in batches:
                started = [pool.submit(second, item) for item in items]
                ready, waiting = waiting, (batch, started)
                if ready is not None:
                    yield ready[0], [future.result() for future in ready[1]]
            if waiting is not None:
                yield waiting[0], [future.result() for future in waiting[1]]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def batched(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Consecutive pieces of `size` items, the last one shorter."""
    for at in range(0, len(items), size):
        yield items[at : at + size]
