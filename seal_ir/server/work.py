"""What a server's threads do for questions of a kind: a first stage that decodes, and for each what is left.

A first stage runs in the thread of its model, and nothing else asks the model; what it returns is called in
other threads (`batching`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from seal_ir.decode.recorder import Decoding
from seal_ir.explanation.documents import MOST_LACKING
from seal_ir.explanation.values import Explanation
from seal_ir.records import Hit, QueryKeys
from seal_ir.search.explaining import Question
from seal_ir.search.searcher import SealSearcher

Result = TypeVar("Result")
Work = Callable[[SealSearcher, Sequence[Any]], list[Callable[[], Any]]]


@dataclass(frozen=True, slots=True)
class Searched:
    """A query, how many hits it wants, and whether these are to have their keys found."""

    query: str
    hits: int
    keys: bool = False


@dataclass(frozen=True, slots=True)
class Explained:
    """A query, a document, and how many hits a search for the query wants."""

    query: str
    docid: str
    hits: int


def searched(searcher: SealSearcher, asked: Sequence[Searched]) -> list[Callable[[], list[Hit]]]:
    """Decode queries together; their documents are ranked in other threads."""
    decoded = searcher.decode_counted([each.query for each in asked])
    return [partial(_ranked, searcher, keys, each) for keys, each in zip(decoded.queries, asked, strict=True)]


def explained(searcher: SealSearcher, asked: Sequence[Explained]) -> list[Callable[[], Explanation]]:
    """Decode queries together; documents are explained in other threads."""
    decoded = searcher.decode_counted([each.query for each in asked])
    return [
        partial(searcher.explanation, _question(each, False), keys)
        for keys, each in zip(decoded.queries, asked, strict=True)
    ]


def recorded(searcher: SealSearcher, asked: Sequence[Explained]) -> list[Callable[[], Explanation]]:
    """Explain documents, with how the model writes the keys; each by itself, in the decoding thread."""
    return [partial(_same, searcher.explanation(_question(each, True))) for each in asked]


def traced(searcher: SealSearcher, queries: Sequence[str]) -> list[Callable[[], Decoding]]:
    """Record how the model writes the keys of queries, each by itself."""
    return [partial(_same, searcher.trace(query)) for query in queries]


def _ranked(searcher: SealSearcher, keys: QueryKeys, asked: Searched) -> list[Hit]:
    hits = searcher.hits(searcher.rank(keys, asked.hits))
    if asked.keys:
        for hit in hits:
            _ = hit.keys  # found once, and kept
    return hits


def _question(asked: Explained, decoding: bool) -> Question:
    return Question(asked.query, asked.docid, asked.hits, decoding, MOST_LACKING)


def _same(value: Result) -> Result:
    return value
