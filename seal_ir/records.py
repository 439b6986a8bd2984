"""The values that travel down the pipeline, each frozen, and `Hit`, which Pyserini's fusion mutates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from seal_ir.arrays import Doubles, Ints, Symbols
from seal_ir.errors import UsageError, shown

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


@dataclass(frozen=True, slots=True)
class HitKey:
    """A key as a part of a document's score.

    Attributes:
        text: the n-gram as the tokenizer reads it, without white space at its ends; where its tokens cut a
            character, as the document has it.
        kind: BODY, TITLE, QUERY, UNIGRAM or a further field's name.
        weight: w(n, q) of docs/scoring.md, before it is raised to alpha.
        share: what it added to the score.
        fraction: the share as a part of the score; 1 for a key that is all of it.
        count: F(n), the number of occurrences in the whole index.
        logprob: natural log of P(n | q).
        positions: half-open ranges of characters of the document's `contents`, ascending.
        further: places in further fields: the field's name, which of its values, from 0, and a half-open
            range of characters there.
    """

    text: str
    kind: str
    weight: float
    share: float
    fraction: float
    count: int
    logprob: float
    positions: tuple[tuple[int, int], ...] = ()
    further: tuple[tuple[str, int, int, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, by these names; docs/explain.md has them."""
        return {
            "text": self.text,
            "kind": self.kind,
            "weight": self.weight,
            "share": self.share,
            "fraction": self.fraction,
            "count": self.count,
            "logprob": self.logprob,
            "positions": [list(place) for place in self.positions],
            "further": [list(place) for place in self.further],
        }


class Highlight(NamedTuple):
    """A piece `[start, end)` of a document's `contents` that keys took, and the sum of their shares."""

    start: int
    end: int
    text: str
    share: float


class Evidence(Protocol):
    """What a hit's score is made of; worked out when it is asked for."""

    @property
    def keys(self) -> tuple[HitKey, ...]:
        """The keys that made the score, in the order in which they were taken."""
        ...

    def highlights(self, unigrams: bool) -> list[Highlight]:
        """What keys took of the contents."""
        ...

    def snippet(self, length: int, before: str, after: str) -> str:
        """The piece of the contents that says most."""
        ...

    def html(self, hit: Hit) -> str:
        """The hit as HTML."""
        ...


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
        evidence: what `keys`, `highlights` and `snippet` are answered from; None for a hit without keys.
    """

    docid: str
    score: float
    lucene_docid: int = -1
    contents: str | None = None
    raw: str | None = None
    lucene_document: StoredDocument | None = field(default=None, compare=False, repr=False)
    evidence: Evidence | None = field(default=None, compare=False, repr=False)

    @property
    def keys(self) -> tuple[HitKey, ...]:
        """The keys that made its score, in the order in which they were taken; found when first asked for.

        Their shares, added up in float64 in this order, are the score that it was ranked by, to the bit.

        Raises:
            UsageError: it has none: it is another system's, or was made without texts.
            IndexDirError: the index turns out to be damaged.
        """
        return self._known().keys

    def highlights(self, unigrams: bool = False) -> list[Highlight]:
        """The pieces of `contents` that its keys took, in their order there; pieces that overlap are joined.

        Args:
            unigrams: those that only unigrams took, too: most words of a text.

        Raises:
            UsageError: as `keys`.
        """
        return self._known().highlights(unigrams)

    def snippet(self, length: int = 240, before: str = "**", after: str = "**") -> str:
        """The piece of `contents` whose keys added most, as plain text with what they took between marks.

        Args:
            length: of the piece in characters, without marks and the dots where something was left out.
            before: mark before each piece that `highlights` has.
            after: mark after it.

        Raises:
            UsageError: as `keys`.
            ArgumentError: length is no integer from 1 on.
        """
        return self._known().snippet(length, before, after)

    def _repr_html_(self) -> str | None:
        """What notebooks show; None, so that they show its repr, for a hit without keys."""
        return None if self.evidence is None else self.evidence.html(self)

    def _known(self) -> Evidence:
        if self.evidence is None:
            raise UsageError(
                f"hit {shown(self.docid)} has no keys: only hits of SealSearcher.search and batch_search have"
            )
        return self.evidence
