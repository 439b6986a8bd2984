"""One shard: some segments of an index, asked by n-grams, which answers with counts, symbols and matches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seal_ir.arrays import Ints, Symbols
from seal_ir.distributed.messages import (
    ALWAYS,
    MOST_ROWS,
    NARROW,
    Answered,
    Asked,
    Found,
    NGrams,
    Wanted,
    Whole,
    Within,
    narrowed,
)
from seal_ir.distributed.ranking import best_of, further_of, new_holders
from seal_ir.distributed.rows import Rows, counts_of
from seal_ir.errors import IndexDirError
from seal_ir.formats.collections.stored import StoredValue
from seal_ir.index.engine import Occurrences
from seal_ir.index.engines import as_tuples
from seal_ir.index.manifest import Manifest, read_manifest
from seal_ir.index.opening import Check
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.rank.ranker import Streams
from seal_ir.records import Document

_VIEWS = 4  # filters whose rows are kept


@dataclass(frozen=True, slots=True)
class Part:
    """Some neighbouring segments of a generation of an index, and no more than is needed to open them.

    Attributes:
        directory: the index, by its absolute path.
        manifest: of these segments.
        base: the number of their first document in the index.
        check: what is compared with the manifest when they are opened; see `Index`.
    """

    directory: str
    manifest: Manifest
    base: int
    check: Check = "bytes"

    @classmethod
    def of(cls, directory: Path, manifest: Manifest, first: int, end: int, check: Check = "bytes") -> Part:
        """Segments [first, end) of a generation."""
        base = sum(segment.n_live for segment in manifest.segments[:first])
        return cls(str(directory), _only(manifest, first, end), base, check)

    @property
    def end(self) -> int:
        """The number of the document after the last."""
        return self.base + self.manifest.n_documents


@dataclass(frozen=True, slots=True)
class _Seen:
    """An index or a view of it, and what is remembered of it."""

    rows: Rows
    streams: Streams


class Shard:
    """Answers for a part of an index. Safe to use from several threads; numbers of documents are the index's.

    Its files are opened by the first question. Nothing else is kept that an answer depends on: `allowed`, the
    documents of a filter, is given with each question: a shard that takes the place of a lost one knows it.
    """

    def __init__(self, part: Part) -> None:
        """Of a part, which need not be readable yet."""
        self._part, self._base = part, part.base
        self._opening = threading.RLock()
        self._seen: OrderedDict[str, _Seen] = OrderedDict()

    # n-grams

    def n_rows(self, within: Within, allowed: Ints | None) -> int:
        """Rows of the suffix arrays: a token more than there are for each segment."""
        return int(counts_of(self._of(within, allowed).rows.index.everything))

    def n_segments(self, within: Within, allowed: Ints | None) -> int:
        """Segments of this part."""
        return len(self._of(within, allowed).rows.index.everything)

    def first_symbols(self, within: Within, allowed: Ints | None) -> tuple[Symbols, Whole]:
        """Every symbol, ascending, and its count."""
        first = self._of(within, allowed).rows.index.first_symbols
        return first.symbols, narrowed(counts_of(first.ranges))

    def continued(self, within: Within, allowed: Ints | None, asked: Asked) -> Answered:
        """Counts of n-grams, and what follows those that are to be opened."""
        rows = self._of(within, allowed).rows
        owners = asked.owners.astype(np.int64)
        wanted = np.flatnonzero(asked.opened)
        ranges = rows.extended(asked.prefixes.names, owners, asked.symbols, wanted)
        counts = counts_of(ranges)
        opened = (counts > 0) & (
            (asked.opened == ALWAYS) | ((asked.opened == NARROW) & (counts <= MOST_ROWS))
        )
        which = np.flatnonzero(opened)
        successors = rows.successors(ranges[which])
        sizes = np.zeros(len(counts) + 1, dtype=np.int64)
        sizes[1:][which] = np.diff(successors.offsets)
        follows = counts_of(successors.ranges)
        return Answered(narrowed(counts), narrowed(np.cumsum(sizes)), successors.symbols, narrowed(follows))

    def counted(self, within: Within, allowed: Ints | None, ngrams: NGrams) -> Whole:
        """Counts of n-grams."""
        return narrowed(counts_of(self._of(within, allowed).rows.of(ngrams.names)))

    def located(self, within: Within, allowed: Ints | None, ngrams: NGrams) -> Occurrences:
        """All occurrences of n-grams."""
        seen = self._of(within, allowed)
        found = seen.rows.index.locate(as_tuples(seen.rows.of(ngrams.names)))
        return found._replace(documents=found.documents + self._base)

    # ranking

    def ranked(
        self, within: Within, allowed: Ints | None, wanted: Wanted, taken: int, limit: int | None
    ) -> Found:
        """The best documents for a query.

        Args:
            within: see `Within`.
            allowed: the documents of a filter.
            wanted: the query.
            taken: frequent keys whose documents are candidates, too.
            limit: how many documents, the first by number, the last of these keys may add; None: all.
        """
        seen = self._of(within, allowed)
        ranges = seen.rows.of(wanted.ngrams.names)
        further = further_of(seen.rows.index, wanted, ranges, taken, limit)
        n_rare, scored = best_of(seen.rows.index, wanted, ranges, further, seen.streams)
        docids = [self._index.docid(number) for number in scored.documents.tolist()]
        return Found(n_rare, scored.documents + self._base, *scored[1:], docids)

    def holders(self, within: Within, allowed: Ints | None, wanted: Wanted) -> Ints:
        """How many documents each frequent key would add to those of the keys before it, in their order."""
        seen = self._of(within, allowed)
        return new_holders(seen.rows.index, wanted, seen.rows.of(wanted.ngrams.names))

    # documents

    def value_lengths(self, field: str) -> Ints:
        """See `Index.value_lengths`."""
        return self._index.value_lengths(field)

    def extracted(self, numbers: Ints) -> tuple[Ints, Symbols]:
        """See `Index.extract`."""
        return self._index.extract(numbers - self._base)

    def documents(self, numbers: Ints) -> list[Document]:
        """See `Index.documents`."""
        return self._index.documents(numbers - self._base)

    def raws(self, numbers: Ints) -> list[str | None]:
        """See `Index.raws`."""
        return self._index.raws(numbers - self._base)

    def stored_values(self, numbers: Ints) -> list[tuple[tuple[str, StoredValue], ...]]:
        """See `Index.stored_values`."""
        return self._index.stored_values(numbers - self._base)

    def docids(self, numbers: Ints) -> list[str]:
        """Ids of documents."""
        return [self._index.docid(number) for number in (numbers - self._base).tolist()]

    def number(self, docid: str) -> int | None:
        """See `Index.number`."""
        local = self._index.number(docid)
        return None if local is None else local + self._base

    def was_deleted(self, docid: str) -> bool:
        """See `Index.was_deleted`."""
        return self._index.was_deleted(docid)

    def numbers_of(self, docids: Sequence[str]) -> Ints:
        """See `Index.numbers_of`."""
        return self._index.numbers_of(docids) + self._base

    def matching(self, condition: pc.Expression) -> Ints:
        """See `Index.matching`."""
        return self._index.matching(condition) + self._base

    def stored(self) -> list[pa.Table]:
        """See `Index.stored_tables`."""
        return list(self._index.stored_tables())

    def engine_sizes(self) -> dict[str, int]:
        """See `Index.engine_sizes`."""
        return self._index.engine_sizes()

    # what is open

    @cached_property
    def _index(self) -> Index:
        part = self._part
        directory = Path(part.directory)
        try:
            with self._opening:
                return Index(directory, part.check, manifest=part.manifest)
        except IndexDirError as error:
            try:
                files = read_manifest(directory).files
            except IndexDirError:
                raise error from None
            if all(files.get(name) == entry for name, entry in part.manifest.files.items()):
                raise
            raise IndexDirError(
                f"{directory}: has been rebuilt since it was opened, and {part.manifest.segments[0].name}"
                " cannot be opened again; open it anew"
            ) from error

    def _of(self, within: Within, allowed: Ints | None) -> _Seen:
        """What is asked: everything, or a view that is made where it is not known."""
        with self._opening:
            seen = self._seen.get(within.name)
            if seen is None:
                index = self._index
                if allowed is not None:
                    index = View(index, allowed - self._base, within.counts)
                seen = self._seen[within.name] = _Seen(Rows(index), self._streams)
                filters = [name for name in self._seen if name]
                for name in filters[:-_VIEWS]:
                    del self._seen[name]
            self._seen.move_to_end(within.name)
            return seen

    @cached_property
    def _streams(self) -> Streams:
        return Streams(self._index)


def _only(manifest: Manifest, first: int, end: int) -> Manifest:
    """What a manifest says of some segments."""
    segments = manifest.segments[first:end]
    folders = {segment.name for segment in segments}
    lists = {segment.deleted.file for segment in segments if segment.deleted}
    lists.add(manifest.tokenizer_file)
    files = {
        name: entry
        for name, entry in manifest.files.items()
        if name in lists or name.partition("/")[0] in folders
    }
    return replace(manifest, segments=segments, files=files)
