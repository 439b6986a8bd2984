"""What a server answers, whoever asks: searches in batches, explanations, documents, changes of an index."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from seal_ir.config import SearchConfig
from seal_ir.decode.recorder import Decoding
from seal_ir.errors import SealError, shown
from seal_ir.explanation.values import Explanation
from seal_ir.index.indexer import Duplicates
from seal_ir.records import Hit
from seal_ir.server.batching import Batcher, BatchTold
from seal_ir.server.failures import NotFoundError, RequestError, TimedOutError
from seal_ir.server.limits import Limits
from seal_ir.server.served import ServedIndex
from seal_ir.server.work import Explained, Searched, Work, explained, recorded, searched, traced

Result = TypeVar("Result")
logger = logging.getLogger(__name__)
_OF_ID = ("id", "_id", "docid")


@dataclass(frozen=True, slots=True)
class Group:
    """What questions must have in common to be one batch; how many hits they want may differ.

    Attributes:
        index: by name.
        preset: by name.
        work: what is asked: the first stage of a batch, run in the thread that decodes.
        apart: what makes a question a batch of its own, so that others wait for that one only; None for those
            that are decoded together.
    """

    index: str
    preset: str
    work: Work
    apart: object = None


class Service:
    """Answers for indexes by name. Its methods are called in one event loop; `close` ends its threads.

    Attributes:
        indexes: by name.
        limits: how much it takes on.
    """

    def __init__(
        self,
        served: Sequence[ServedIndex],
        limits: Limits,
        *,
        threads: int = 1,
        told: Callable[[BatchTold], None] = lambda batch: None,
    ) -> None:
        """Start a decoding thread for each model.

        Args:
            served: the indexes, with their models.
            limits: how much it takes on.
            threads: threads that rank, for each model.
            told: is told of each batch.
        """
        self.indexes: Mapping[str, ServedIndex] = {index.name: index for index in served}
        self.limits = limits
        self._changing = ThreadPoolExecutor(1, thread_name_prefix="change")
        models = {index.name: id(index.searcher.generator) for index in served}
        batchers = {
            model: Batcher(self._begun, limits, threads=threads, told=told)
            for model in dict.fromkeys(models.values())
        }
        self._batchers: dict[str, Batcher[Group, Any, Any]] = {
            name: batchers[model] for name, model in models.items()
        }
        has_bm25 = any(index.bm25 is not None for index in served)
        self._bm25: Batcher[Group, Any, Any] | None = Batcher(self._begun, limits) if has_bm25 else None

    @property
    def n_waiting(self) -> int:
        """Queries whose batch has not begun."""
        return sum(batcher.n_waiting for batcher in set(self._batchers.values()))

    @property
    def is_ready(self) -> bool:
        """Whether queries are answered."""
        return all(batcher.is_running for batcher in self._batchers.values())

    def index(self, name: str) -> ServedIndex:
        """An index by its name.

        Raises:
            NotFoundError: none is served under this name.
        """
        if name not in self.indexes:
            known = ", ".join(self.indexes)
            raise NotFoundError(f"no index is served as {shown(name)}; served are {known}")
        return self.indexes[name]

    async def search(
        self, index: str, query: str, hits: int, preset: str | None = None, *, keys: bool = False
    ) -> list[Hit]:
        """The best documents for a query, best first, with their texts.

        Args:
            index: by name.
            query: the query.
            hits: how many.
            preset: by name; default: the first.
            keys: whether the hits' keys are found here already, in the threads that rank.

        Raises:
            NotFoundError: no such index, or preset.
            RequestError: keys are asked for under a preset that has none.
            OverloadedError, UnavailableError: it cannot be answered now.
            TimedOutError: the time limit passed.
        """
        if keys:
            self._check_explained(index, preset)
        found: list[Hit] = await self._answer(index, preset, searched, Searched(query, hits, keys))
        return found

    async def explain(
        self, index: str, query: str, docid: str, hits: int, preset: str | None = None, decoding: bool = False
    ) -> Explanation:
        """Why a document ranks where it does for a query, or why it does not; see `SealSearcher.explain`.

        Raises:
            SealError: as `search` with keys. A document that is not there has an explanation, too.
        """
        self._check_explained(index, preset)
        asked = Explained(query, docid, hits)
        if decoding:
            found: Explanation = await self._answer(index, preset, recorded, asked, apart=object())
        else:
            found = await self._answer(index, preset, explained, asked)
        return found

    async def trace(self, index: str, query: str, preset: str | None = None) -> Decoding:
        """How the model writes a query's keys; see `SealSearcher.trace`.

        Raises:
            SealError: as `search` with keys.
        """
        self._check_explained(index, preset)
        found: Decoding = await self._answer(index, preset, traced, query, apart=object())
        return found

    async def bm25(self, index: str, query: str, hits: int) -> list[Hit]:
        """The best documents for a query by BM25, with their texts.

        Raises:
            NotFoundError: no such index, or it is served without BM25.
            ConflictError: the index has other documents by now than BM25's.
            SealError: as `search`.
        """
        ranking = self.index(index).bm25
        if ranking is None or self._bm25 is None:
            raise NotFoundError(f"{index} is served without BM25; start the server with --bm25")
        found: list[Hit] = await self._answer(
            index, None, ranking.work, Searched(query, hits), batcher=self._bm25
        )
        return found

    async def document(self, index: str, docid: str) -> str:
        """A document's record as it was read, else a JSON object with id, title and contents.

        Raises:
            NotFoundError: no such index or document.
        """
        found = await asyncio.to_thread(self.index(index).searcher.doc, docid)
        if found is None:
            raise NotFoundError(f"{index}: there is no document with the id {shown(docid)}")
        return found.raw()

    async def refresh(self, index: str) -> bool:
        """See the last commit to an index; whether anything has changed.

        Raises:
            NotFoundError: no such index.
            IndexDirError: there is no sound index any more; what was open is searched on.
        """
        return await self._changed(self.index(index).refresh)

    async def refresh_all(self) -> None:
        """See the last commit to each index; what cannot be seen is logged, and searched on as it was."""
        for name in self.indexes:
            try:
                if await self.refresh(name):
                    logger.info("%s: %d documents now", name, self.indexes[name].searcher.num_docs)
            except (SealError, OSError) as error:
                logger.warning("%s: the index is searched on as it was: %s", name, error)

    async def add(self, index: str, docs: Sequence[Mapping[str, Any]], duplicates: Duplicates) -> int:
        """Add documents to an index; see `ServedIndex.add`. It is done to its end, whoever waits."""
        return await self._changed(partial(self.index(index).add, docs, duplicates))

    async def delete(self, index: str, docid: str) -> int:
        """Delete a document of an index; see `ServedIndex.delete`."""
        return await self._changed(partial(self.index(index).delete, docid))

    def close(self) -> None:
        """Answer what waits, and end the threads."""
        for batcher in (*self._batchers.values(), self._bm25):
            if batcher is not None:
                batcher.close()
        self._changing.shutdown()

    async def _changed(self, change: Callable[[], Result]) -> Result:
        """What a change of an index makes; one at a time, and not among the threads that get documents."""
        return await asyncio.get_running_loop().run_in_executor(self._changing, change)

    def _config(self, index: str, preset: str | None) -> tuple[str, SearchConfig]:
        """The name of a preset, or of the first, and its settings."""
        configs = self.index(index).configs
        chosen = next(iter(configs)) if preset is None else preset
        if chosen not in configs:
            raise NotFoundError(f"{index}: no preset {shown(chosen)}; there are {', '.join(configs)}")
        return chosen, configs[chosen]

    def _check_explained(self, index: str, preset: str | None) -> None:
        chosen, config = self._config(index, preset)
        if config.slow_path:
            raise RequestError(f"preset {chosen!r} has no explanations; ask under another one")

    async def _answer(
        self,
        index: str,
        preset: str | None,
        work: Work,
        asked: object,
        *,
        apart: object = None,
        batcher: Batcher[Group, Any, Any] | None = None,
    ) -> Any:
        """What the work makes of a question, in a batch with others that come at about the same time."""
        chosen, _ = self._config(index, preset)
        future = (batcher or self._batchers[index]).submit(Group(index, chosen, work, apart), asked)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limits.timeout_s)
        except TimeoutError as error:
            raise TimedOutError(f"no answer within {self.limits.timeout_s:g} s; ask again later") from error

    def _begun(self, group: Group, asked: Sequence[Any]) -> list[Callable[[], Any]]:
        return group.work(self.indexes[group.index].pinned(group.preset), asked)


def parsed(raw: str) -> Any:
    """A record as Pyserini's REST answers show it where they parse: of a JSON object all but its id.

    Values that are neither object nor array become text, and of a single one only the value is left. What is
    no JSON stays text.
    """
    try:
        record = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return raw
    if not isinstance(record, dict):
        return record
    values = {
        name: value if isinstance(value, dict | list) else str(value)
        for name, value in record.items()
        if name not in _OF_ID
    }
    return next(iter(values.values())) if len(values) == 1 else values


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
