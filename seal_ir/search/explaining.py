"""From a query and a document to an explanation: decoded as a search decodes, scored as it ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from seal_ir.config import SearchConfig
from seal_ir.decode.recorder import Decoding, Recorder
from seal_ir.errors import UsageError
from seal_ir.explanation.documents import Asked, absent, explained
from seal_ir.explanation.values import Explanation
from seal_ir.index.reader import Index
from seal_ir.rank.ranker import Streams
from seal_ir.records import QueryKeys
from seal_ir.search.model import LazyGenerator


class Question(NamedTuple):
    """What is to be explained; see `SealSearcher.explain`."""

    query: str
    docid: str
    k: int
    decoding: bool
    n_lacking: int


def explanation_of(
    index: Index,
    model: LazyGenerator,
    streams: Streams,
    config: SearchConfig,
    asked: Question,
    keys: QueryKeys | None = None,
) -> Explanation:
    """See `SealSearcher.explain`; `keys` are the query's, where they have been decoded before."""
    _check(index, config)
    query, docid, k, decoding, n_lacking = asked
    number = index.number(docid)
    if number is None and not decoding:
        return absent(index, config, query, docid, k)
    written: Decoding | None = None
    if decoding:
        keys, written = recorded(index, model, config, query)
    elif keys is None:
        (keys,) = model.decode([query], config, index).queries
    if number is None:
        return replace(absent(index, config, query, docid, k), decoding=written)
    known = Asked(query, keys, k)
    return replace(explained(index, config, known, number, streams, n_lacking), decoding=written)


def recorded(
    index: Index, model: LazyGenerator, config: SearchConfig, query: str
) -> tuple[QueryKeys, Decoding]:
    """A query's keys, and how the model wrote them; see `SealSearcher.trace`."""
    _check(index, config)
    recorder = Recorder(index, model.get().title_end)
    (keys,) = model.decode([query], config, index, recorder).queries
    return keys, recorder.decoding()


def _check(index: Index, config: SearchConfig) -> None:
    if index.is_remote:
        raise UsageError(
            f"{index.directory}: explanations follow rows of the index, which lie in shards here; open the"
            " index directory without Ray to explain"
        )
    if config.slow_path:
        raise UsageError(
            f"preset {config.preset!r} is a baseline for benchmarks and has no explanations; 'intersective'"
            " has the same scores"
        )
