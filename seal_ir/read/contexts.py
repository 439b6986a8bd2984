"""From a run to the passages of each question: rankings, and the texts of what they name."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from seal_ir.errors import InputError
from seal_ir.eval.rankings import read_rankings
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.io.files import listed, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.index.reader import Index
from seal_ir.read.records import Context
from seal_ir.records import Document, Query

_MOST_LISTED = 10


class Passages(Protocol):
    """Where the texts of passages are."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    def lacking(self, docids: Iterable[str]) -> list[str]:
        """Those of the ids that it does not have."""
        ...

    def read(self, docids: Sequence[str]) -> list[Context]:
        """The passages with these ids, all of which it has."""
        ...


class IndexPassages:
    """Those of one of our indexes, read when they are asked for."""

    def __init__(self, directory: Path) -> None:
        """Open the index.

        Raises:
            IndexDirError: there is none, or it is damaged.
        """
        self._index = Index(directory, check="bytes")
        self.name = str(directory)

    def lacking(self, docids: Iterable[str]) -> list[str]:
        """See `Passages.lacking`."""
        return [docid for docid in docids if self._index.number(docid) is None]

    def read(self, docids: Sequence[str]) -> list[Context]:
        """See `Passages.read`."""
        numbers = [self._index.number(docid) for docid in docids]
        found = self._index.documents([number for number in numbers if number is not None])
        return [_context(document) for document in found]


class CollectionPassages:
    """Those of a collection: one pass over it, which keeps what will be asked for."""

    def __init__(self, kind: str, path: Path, wanted: Iterable[str]) -> None:
        """Read the collection.

        Args:
            kind: of collection.
            path: file or folder.
            wanted: ids of what will be asked for.

        Raises:
            UsageError: no such kind of collection.
            InputError: no such file, an unreadable one, or an id that comes twice.
        """
        collection = Collection(
            kind, rereadable(path), ReadOptions(malformed="skip", include_ids=frozenset(wanted))
        )
        if collection.note:
            sys.stderr.write(f"{collection.note}\n")
        self._known = {document.id: _context(document) for document in collection}
        self.name = str(path)

    def lacking(self, docids: Iterable[str]) -> list[str]:
        """See `Passages.lacking`."""
        return [docid for docid in docids if docid not in self._known]

    def read(self, docids: Sequence[str]) -> list[Context]:
        """See `Passages.read`."""
        return [self._known[docid] for docid in docids]


def read_heads(path: Path, topics: Sequence[Query], n_contexts: int) -> dict[str, list[str]]:
    """The first ids of each topic's ranking in a run; stderr is told of topics without any.

    Args:
        path: a run in TREC's format, or KILT's.
        topics: what is asked.
        n_contexts: how many ids are taken.

    Raises:
        InputError: the run cannot be read, is empty, or has none of the topics.
    """
    rankings = read_rankings(path)
    if not rankings:
        raise InputError(f"{path}: the run is empty; there is nothing to read")
    heads = {query.id: rankings.get(query.id, [])[:n_contexts] for query in topics}
    without = [qid for qid, docids in heads.items() if not docids]
    if len(without) == len(topics):
        raise InputError(
            f"{path}: 0 of {len(topics)} topics in run (they are like {shown(topics[0].id)}, the run's like"
            f" {shown(next(iter(rankings)))}); the ids must be equal"
        )
    if without:
        sys.stderr.write(
            f"{path}: {len(without)} of {len(topics)} topics have no passages, and are asked without:"
            f" {listed(without, _MOST_LISTED)}\n"
        )
    return heads


def check_passages(path: Path, heads: Mapping[str, Sequence[str]], passages: Passages) -> None:
    """Refuses a run of passages that are not there.

    Raises:
        InputError: some are not.
    """
    wanted = wanted_of(heads)
    lacking = passages.lacking(wanted)
    if lacking:
        raise InputError(
            f"{path}: {len(lacking)} of its {len(wanted)} passages, such as {shown(lacking[0])}, are not in"
            f" {passages.name}; name the index or collection that was searched"
        )


def wanted_of(heads: Mapping[str, Sequence[str]]) -> list[str]:
    """All ids of some rankings, each once."""
    return list(dict.fromkeys(docid for docids in heads.values() for docid in docids))


def _context(document: Document) -> Context:
    return Context(document.id, document.title, document.text)
