"""An open index: its segments behind one batched interface, and its documents.

Ranges of several segments travel together as int64 [n, n_segments, 2]; counts are sums over segments
and successors are unions, so that no answer depends on how the documents were cut into segments.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seal_ir.arguments import path, text, whole, wholes
from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import ArgumentError, IndexDirError, UsageError, shown
from seal_ir.formats.collections.stored import StoredValue
from seal_ir.index.deletions import LiveTable
from seal_ir.index.directory import damaged
from seal_ir.index.documents import DocumentTable
from seal_ir.index.engine import Engine, Occurrences, Successors
from seal_ir.index.engines import Engines, joined
from seal_ir.index.manifest import Manifest
from seal_ir.index.opening import Check, open_generation, other_tokenizer
from seal_ir.index.value_lengths import value_lengths
from seal_ir.records import TITLE, Document, Range
from seal_ir.text.symbols import (
    TITLE_MARKS,
    Marks,
    further_marks,
    split_further,
    split_stream,
    to_tokens,
)
from seal_ir.text.tokenizer import TextTokenizer

_ROW = ""  # a column that no stored field can be


class Index:
    """An index opened for reading. Safe to use from several threads; answers never change.

    Copied or pickled it is opened again by its path, which fails if it has been rebuilt meanwhile.

    Attributes:
        directory: where it lies.
        manifest: what it holds.
        n_documents, n_tokens: totals; n_tokens is the N of the weights.
        stores: the documents' tokens, where they are stored beside the FM-indexes; else these have them.
        is_remote: whether a question takes a round trip to other processes.
    """

    is_remote = False

    def __init__(
        self, directory: str | Path, check: Check = "bytes", *, manifest: Manifest | None = None
    ) -> None:
        """Open an index directory: the generation that it holds now, whatever a build does to it later.

        Args:
            directory: the index.
            check: what is compared with the manifest, whose own checksum always is: the "bytes" of all files,
                which are read for it (about half a second a GiB that is in the system's cache), or their
                "sizes" only. Then damage may show later, as an error or as a wrong answer.
            manifest: open what it names, be it some segments of a generation, instead of what the directory's
                own one does.

        Raises:
            IndexDirError: not an index, damaged, or of another format.
            UsageError: `check` is neither.
        """
        self.directory = path(directory, "index directory")
        self._place, self._check = self.directory.absolute(), check  # to open it again from anywhere
        self._opened = open_generation(self.directory, check, manifest)
        self.manifest = self._opened.manifest
        if self.manifest.unknown:
            names = ", ".join(self.manifest.unknown)
            told = f"{self.directory}: written by a newer version; what it says of {names} is passed over"
            warnings.warn(told, stacklevel=2)
        self.n_documents, self.n_tokens = self.manifest.n_documents, self.manifest.n_tokens
        self._engines: list[Engine] = self._opened.engines
        self._tables, self.stores = self._opened.tables, self._opened.stores
        sizes = [segment.n_live for segment in self.manifest.segments]
        self._bases = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (self._place, self._check, self.manifest)

    @cached_property
    def tokenizer(self) -> TextTokenizer:
        """The tokenizer it was built with, which also gives the documents back; made on first use.

        Raises:
            ModelError: the file was no tokenizer.
            IndexDirError: it was another tokenizer.
        """
        file = self.directory / self.manifest.tokenizer_file
        tokenizer = TextTokenizer.from_bytes(self._opened.tokenizer, file)
        if tokenizer.fingerprint != self.manifest.tokenizer:
            raise other_tokenizer(file)
        return tokenizer

    def reopened(self) -> Index:
        """The index that lies there now.

        Raises:
            IndexDirError: there is no sound one.
        """
        return Index(self._place, self._check)

    # n-grams

    def session(self) -> Index:
        """The same index for one batch of decoding; what is remembered for that batch goes with it."""
        return self

    def expect(self, ranges: Ints) -> None:
        """Hear of n-grams [n, n_segments, 2] whose successors may be asked for soon; ignored here."""

    @cached_property
    def _joined(self) -> Engines:
        return joined(self._engines)

    @cached_property
    def everything(self) -> Ints:
        """The range of the empty n-gram, int64 [n_segments, 2]."""
        return np.array([[0, engine.n_rows] for engine in self._engines], dtype=np.int64)

    @cached_property
    def first_symbols(self) -> Successors:
        """Successors of the empty n-gram: every symbol of the index."""
        return self.successors(self.everything[None])

    @cached_property
    def whole_fields(self) -> dict[str, Marks]:
        """The fields whose values are written whole, title first, and the symbols around them."""
        further = enumerate(self.manifest.further_fields)
        return {TITLE: TITLE_MARKS, **{name: further_marks(number) for number, name in further}}

    def marks(self, field: str) -> Marks:
        """The symbols around the values of a field that is written whole.

        Raises:
            UsageError: the index has no such field.
        """
        if field not in self.whole_fields:
            raise UsageError(
                f"{self.directory}: no field {field!r} in this index; build one with --fields {field}"
            )
        return self.whole_fields[field]

    @cached_property
    def _lengths(self) -> dict[str, Ints]:
        return {}

    def value_lengths(self, field: str) -> Ints:
        """How many values of a field that is written whole have each length in tokens, the end included.

        int64 [longest + 1], empty values at 1. Counted when first asked for: a second for a million values.

        Raises:
            UsageError: the index has no such field.
        """
        if field not in self._lengths:
            marks, stores = self.marks(field), self.stores
            found = stores.value_lengths(marks) if stores else value_lengths(self.find, self.locate, marks)
            self._lengths[field] = found
        return self._lengths[field]

    def start_of(self, symbol: int) -> Ints:
        """The range of a symbol that starts fields, int64 [n_segments, 2]."""
        start: Ints = self.extend(self.everything[None], np.array([symbol], dtype=np.uint32))[0]
        return start

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """Ranges [n, n_segments, 2] with one symbol [n] appended to each n-gram; empty where it ends."""
        return self._joined.extend(ranges, symbols)

    def verify(self, ranges: Ints, candidates: Symbols) -> Ints:
        """Ranges [n, width, n_segments, 2] of each n-gram with each of its candidates [n, width]."""
        return self._joined.verify(ranges, candidates)

    def successors(self, ranges: Ints) -> Successors:
        """Every symbol that follows each n-gram inside a document, with the extended ranges."""
        return self._joined.successors(np.asarray(ranges))

    def find(self, symbols: Sequence[int]) -> tuple[Range, ...]:
        """Rows of one n-gram per segment, from scratch."""
        ranges = self.everything[None]
        for symbol in wholes(symbols, "symbols"):
            ranges = self.extend(ranges, np.array([symbol], dtype=np.uint32))
        return tuple(Range(int(lo), int(hi)) for lo, hi in ranges[0])

    def find_all(self, ngrams: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Ints]:
        """Rows of n-grams and of all that they begin with, int64 [n_segments, 2] each.

        Common beginnings are looked up once.
        """
        ranges: dict[tuple[int, ...], Ints] = {(): self.everything}
        left = set(ngrams)
        for depth in range(1, max(map(len, left), default=0) + 1):
            left = {ngram for ngram in left if len(ngram) >= depth}
            prefixes = sorted({ngram[:depth] for ngram in left})
            before = np.stack([ranges[prefix[:-1]] for prefix in prefixes])
            symbols = np.array([prefix[-1] for prefix in prefixes], dtype=np.uint32)
            ranges.update(zip(prefixes, self.extend(before, symbols), strict=True))
        return ranges

    def locate(self, ranges: Iterable[tuple[Range, ...]]) -> Occurrences:
        """All occurrences of n-grams given by their ranges."""
        grid = np.array(list(ranges), dtype=np.int64).reshape(-1, len(self._engines), 2)
        found = self._joined.locate(grid)
        return found._replace(documents=self._numbers(found.documents))

    def locate_row(self, segment: int, row: int) -> tuple[int, int]:
        """Document and exclusive end of one row of a segment; `locate` does many at once and far faster."""
        positions = self._engines[segment].locate(np.array([row], dtype=np.int64))
        base = sum(engine.n_documents for engine in self._engines[:segment])
        return int(self._numbers(positions[:, 0] + base)[0]), int(positions[0, 1])

    # documents

    def streams(self, documents: Sequence[int] | Ints) -> list[Symbols]:
        """The symbol streams of documents, each `BOUNDARY title TITLE_END body`, then further fields."""
        offsets, symbols = self.extract(wholes(documents, "documents"))
        return [symbols[lo:hi] for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        """Offsets int64 [n + 1] and concatenated streams uint32 [m] of documents int64 [n]."""
        self._segment_of(documents)  # refuses what does not exist
        return self.stores.extract(documents) if self.stores else self.extract_indexed(documents)

    def extract_indexed(self, documents: Ints) -> tuple[Ints, Symbols]:
        """`extract` from the FM-indexes, at a step a token, be there stores or not."""
        self._segment_of(documents)  # refuses what does not exist
        return self._joined.extract(documents)

    def documents(self, numbers: Sequence[int] | Ints) -> list[Document]:
        """Documents by number, title and text as they were read; further fields as the tokenizer has them."""
        numbers = wholes(numbers, "documents")
        streams = self.streams(numbers)
        names = {marks.start: name for name, marks in self.whole_fields.items()}
        try:
            parts = [(split_stream(stream), split_further(stream)) for stream in streams]
        except ValueError as error:  # damage that opening was told not to look for
            raise damaged(self.directory, "the text of a document") from error
        if any(start not in names for _, others in parts for start, _ in others):
            raise damaged(self.directory, "the text of a document")
        fields: list[list[int]] = []
        for own, others in parts:
            fields.extend(to_tokens(field) for field in own)
            fields.extend(to_tokens(value) for _, value in others)
        texts = iter(self.tokenizer.decode_fields(fields))
        found = []
        for number, (_, others) in zip(numbers, parts, strict=True):
            table, local = self._local(int(number))
            decoded = next(texts), next(texts)
            title, body = table.stored_text(local) or decoded
            values = tuple((names[start], next(texts)) for start, _ in others)
            found.append(Document(table.id(local), title, body, further=values))
        return found

    def raws(self, numbers: Sequence[int] | Ints) -> list[str | None]:
        """Documents' records as they were read, by number; None for what was not kept."""
        found: dict[int, str | None] = {}
        wanted = wholes(numbers, "documents")
        segment = self._segment_of(wanted)
        for s in np.unique(segment).tolist():
            local = (wanted[segment == s] - self._bases[s]).tolist()
            raws = self._tables[s].raws(local)
            found.update(zip((wanted[segment == s]).tolist(), raws, strict=True))
        return [found[number] for number in wanted.tolist()]

    def stored_values(self, numbers: Sequence[int] | Ints) -> list[tuple[tuple[str, StoredValue], ...]]:
        """Names and values of documents' stored fields, by number; absent ones are left out.

        Raises:
            IndexDirError: a file is damaged.
        """
        found: dict[int, tuple[tuple[str, StoredValue], ...]] = {}
        wanted = wholes(numbers, "documents")
        segment = self._segment_of(wanted)
        for s in np.unique(segment).tolist():
            chosen = wanted[segment == s]
            values = self._tables[s].stored_values(chosen - self._bases[s])
            found.update(zip(chosen.tolist(), values, strict=True))
        return [found[number] for number in wanted.tolist()]

    def docid(self, number: int) -> str:
        """The collection's id of a document."""
        known = max(-1, min(whole(number, "document"), self.n_documents))  # of 64 bits
        table, local = self._local(known)
        return table.id(local)

    def number(self, docid: str) -> int | None:
        """The number of the document with this id, or None."""
        for table, base in zip(self._tables, self._bases, strict=False):
            local = table.number(text(docid, "docid"))
            if local is not None:
                return local + int(base)
        return None

    def was_deleted(self, docid: str) -> bool:
        """Whether there is a deleted document with this id; merging segments forgets it.

        Raises:
            IndexDirError: a file is damaged.
        """
        return any(isinstance(table, LiveTable) and table.was_deleted(docid) for table in self._tables)

    def numbers_of(self, docids: Sequence[str]) -> Ints:
        """The numbers of the documents that have one of these ids, int64 [n] ascending; many at once.

        Raises:
            IndexDirError: a file is damaged.
        """
        wanted = pa.array(docids, pa.large_string())
        found = (table.having(wanted) for table in self._tables)
        return np.concatenate([local + base for local, base in zip(found, self._bases[:-1], strict=True)])

    def matching(self, condition: pc.Expression) -> Ints:
        """The numbers of the documents that a condition on stored fields is true of, int64 [n] ascending.

        Raises:
            ArgumentError: it does not fit the stored fields.
            IndexDirError: a file is damaged.
        """
        found = [np.empty(0, np.int64)]
        for table, base in zip(self.stored_tables(), self._bases.tolist(), strict=False):
            rows = np.arange(base, base + len(table))
            try:
                chosen = table.append_column(_ROW, pa.array(rows)).filter(condition)
            except (pa.ArrowException, TypeError) as error:
                raise self._unfit(condition, error) from error
            found.append(chosen.column(_ROW).to_numpy())
        return np.concatenate(found)

    def _unfit(self, condition: pc.Expression, error: Exception) -> ArgumentError:
        fields = ", ".join(f"{name} ({kind})" for name, kind in self.manifest.stored.items()) or "none"
        reason = str(error).partition("\n")[0].partition(" in id: ")[0]
        return ArgumentError(
            f"{self.directory}: the filter {shown(str(condition))} does not fit: {reason}; the stored fields"
            f" are id and {fields} (--store, when indexing, adds others)"
        )

    def stored_tables(self) -> Iterator[pa.Table]:
        """Of each segment the ids of its documents and their stored fields, a column each, in order.

        Raises:
            IndexDirError: a file is damaged.
        """
        return (table.stored for table in self._tables)

    def engine_sizes(self) -> dict[str, int]:
        """Bytes of the FM-indexes by part, all segments together."""
        sizes: dict[str, int] = {}
        for engine in self._engines:
            for part, n_bytes in engine.size_in_bytes().items():
                sizes[part] = sizes.get(part, 0) + n_bytes
        return sizes

    def _numbers(self, documents: Ints) -> Ints:
        """Numbers of documents, as the engines count them."""
        return documents

    def _segment_of(self, numbers: Ints) -> Ints:
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < self.n_documents:
            raise IndexError(f"documents {numbers.min()}..{numbers.max()} outside [0, {self.n_documents})")
        return np.searchsorted(self._bases, numbers, side="right") - 1

    def _local(self, number: int) -> tuple[DocumentTable | LiveTable, int]:
        segment = int(self._segment_of(np.array([number], dtype=np.int64))[0])
        return self._tables[segment], number - int(self._bases[segment])


def _opened_again(place: Path, check: Check, manifest: Manifest) -> Index:
    """The index of another process or searcher, of which this is the manifest."""
    index = Index(place, check)
    if index.manifest != manifest:
        raise IndexDirError(
            f"{place}: has been rebuilt since the index that is copied here was opened; open it anew"
        )
    return index
