"""An index seen through some of its documents: what is written and located is theirs alone."""

from __future__ import annotations

from functools import cached_property, singledispatch
from typing import Any, Literal

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.index.engine import Engine
from seal_ir.index.reader import Index
from seal_ir.text.tokenizer import TextTokenizer

Counts = Literal["collection", "filter"]


class View(Index):
    """Some documents of an index, which keep their numbers there. Safe to use from several threads.

    N-grams, their ranges and their places are those of an index of these documents alone. Documents are
    looked up in the whole index, by its numbers and ids, so that what is kept by number serves both.

    Attributes:
        whole: the index.
        allowed: the numbers of the documents, int64 [n] ascending.
        counts: whose F(n) and N the weights take: the whole "collection"'s, or those within the "filter".
        n_tokens: that N.
    """

    def __init__(self, whole: Index, allowed: Ints, counts: Counts = "collection") -> None:
        """Find the rows of the documents, or of the others if these are fewer: a step for each symbol.

        Args:
            whole: the index.
            allowed: numbers of documents, int64 [n] ascending.
            counts: see `View`.

        Raises:
            IndexDirError: a file is damaged.
        """
        self.whole, self.allowed, self.counts = whole, allowed, counts
        self.directory, self.manifest, self._opened = whole.directory, whole.manifest, whole._opened
        self._place, self._check = whole._place, whole._check
        self._tables, self._bases, self.stores = whole._tables, whole._bases, whole.stores
        self.n_documents = whole.n_documents
        parts = np.split(allowed, np.searchsorted(allowed, self._bases[1:-1]))
        self._engines = [
            _view(engine, numbers - base)
            for engine, numbers, base in zip(whole._engines, parts, self._bases[:-1], strict=True)
        ]
        n_tokens = sum(engine.n_rows - 1 for engine in self._engines)
        self.n_tokens = n_tokens if counts == "filter" else whole.n_tokens

    def __reduce__(self) -> tuple[Any, ...]:
        return View, (self.whole, self.allowed, self.counts)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """The whole index's."""
        return self.whole.tokenizer

    def allows(self, docid: str) -> bool:
        """Whether the document with this id is one of them."""
        number = self.number(docid)
        if number is None:
            return False
        at = int(np.searchsorted(self.allowed, number))
        return at < len(self.allowed) and int(self.allowed[at]) == number

    def value_lengths(self, field: str) -> Ints:
        """Those of the whole index, which bound the view's; finding these takes time and changes no key."""
        return self.whole.value_lengths(field)

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """See `Index.extract`; of any documents of the whole index."""
        return self.whole.extract(documents)

    def _numbers(self, documents: Ints) -> Ints:
        numbers: Ints = self.allowed[documents]
        return numbers


@singledispatch
def view_of(index: Index, allowed: Ints, counts: Counts) -> View:
    """The view of an index, of whatever kind it is, through some of its documents; see `View`."""
    return View(index, allowed, counts)


def _view(engine: Engine, documents: Ints) -> Engine:
    """The engine of some documents, found the shorter way."""
    if len(documents) == engine.n_documents:
        return engine
    if 2 * len(documents) <= engine.n_documents:
        return engine.only(documents)
    return engine.without(np.setdiff1d(np.arange(engine.n_documents), documents, assume_unique=True))
