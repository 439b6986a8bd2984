"""The values that travel down the pipeline, each frozen, and `Hit`, which Pyserini's fusion mutates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from seal_ir.arrays import Doubles, Ints, Symbols

BODY, TITLE, QUERY, UNIGRAM = "body", "title", "query", "unigram"


class Document(NamedTuple):
    """One passage of a collection. `id` is an opaque string without white space.

    `raw` is the record as it was read, where the reader was asked to keep it and the format has one.
    `further` holds name and value of its further fields, as far as the reader was asked for them; a field may
    come several times. `stored` holds name and value of those that an index stores to filter by.
    """

    id: str
    title: str
    text: str
    raw: str | None = None
    further: tuple[tuple[str, str], ...] = ()
    stored: tuple[tuple[str, str | int | float | bool], ...] = ()


class Query(NamedTuple):
    """One topic. `id` is an opaque string that is written to the run byte for byte."""

    id: str
    text: str


class Range(NamedTuple):
    """Half-open interval of suffix-array rows `[lo, hi)` in one segment; empty when `lo == hi`."""

    lo: int
    hi: int


@dataclass(frozen=True, slots=True)
class Key:
    """An n-gram of the corpus that the language model wrote for a query.

    Attributes:
        symbols: index symbols in reading order; never empty, never control symbols only.
        logprob: natural log of P(symbols | query) under the model, <= 0.
        count: F(n), the number of occurrences in the whole index, >= 1.
        ranges: the rows of the n-gram, one range per segment of the index.
        kind: BODY, TITLE, QUERY, UNIGRAM or a further field's name: which prompt the model was answering.
    """

    symbols: tuple[int, ...]
    logprob: float
    count: int
    ranges: tuple[Range, ...]
    kind: str


class Unigrams(NamedTuple):
    """The first decoding step's distribution over the symbols of the index, best first.

    Attributes:
        symbols: uint32 [n].
        logprobs: float64 [n], natural log.
        counts: int64 [n], F of each symbol.
    """

    symbols: Symbols
    logprobs: Doubles
    counts: Ints


NO_UNIGRAMS = Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))


class QueryKeys(NamedTuple):
    """All that the model wrote for one query; every preset ranks with a part of it."""

    keys: tuple[Key, ...]
    unigrams: Unigrams


@dataclass(frozen=True, slots=True)
class ScoredKey:
    """A key and its weight: w(n, q) as a query's key, its share of the score as a document's."""

    key: Key
    weight: float


class Ranked(NamedTuple):
    """A ranked document by number, and the keys that made its score, in the order they were taken."""

    document: int
    score: float
    matched: Sequence[ScoredKey]


class StoredDocument(Protocol):
    """A document as Pyserini's code reads it, which takes it for Lucene's."""

    def get(self, field: str) -> str | None:
        """The text of a field, or None."""
        ...

    def getField(self, field: str) -> Any:  # noqa: N802 - Lucene's name
        """A field with a `stringValue()`, or None."""
        ...


@dataclass(slots=True)
class Hit:
    r"""One ranked document, with the attributes that Pyserini's writers, fusion and rerankers read.

    Attributes:
        docid: the collection's own id.
        score: exact document score; higher is better.
        lucene_docid: the index's internal document number (the name is Pyserini's).
        contents: `title + "\n" + text`.
        raw: JSON object with id, title and contents.
        lucene_document: the document, read by `get("raw")`, `get("contents")`, `get("id")` or the name of any
            field of a stored record; None for a hit without texts. (The name is Pyserini's; no Lucene here.)
    """

    docid: str
    score: float
    lucene_docid: int = -1
    contents: str | None = None
    raw: str | None = None
    lucene_document: StoredDocument | None = field(default=None, compare=False, repr=False)
