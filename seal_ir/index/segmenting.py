"""Documents -> streams -> segments, which are cut by tokens and the memory budget, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Symbols
from seal_ir.errors import InputError
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.index.memory import MAX_NARROW, Budget, Size, segment_limit
from seal_ir.index.segments import SegmentWriter
from seal_ir.records import Document
from seal_ir.text.symbols import further_marks, packed_stream
from seal_ir.text.words import FieldEncoder

_BATCH = 1000  # documents tokenised at a time
_NUMBERS = 1_000_000  # in names of segments
PhaseReport = Callable[[str, int], None]  # phase, how many documents so far; called from several threads


class Tokenised(NamedTuple):
    """A document, its stream, and whether the tokenizer gives title and text back exactly."""

    document: Document
    symbols: Symbols
    exact: bool


def tokenised(
    documents: Iterable[Document], encoder: FieldEncoder, fields: Sequence[str], progress: PhaseReport
) -> Iterator[Tokenised]:
    """Documents with their streams, a batch in memory at a time; `fields` are the names of further ones."""
    marks = {name: further_marks(number) for number, name in enumerate(fields)}
    left, done = iter(documents), 0
    while batch := list(islice(left, _BATCH)):
        encoded = iter(encoder.encode([text for document in batch for text in _texts(document)]))
        for document in batch:
            title, body = next(encoded), next(encoded)
            further = [(marks[name], next(encoded).symbols) for name, _ in document.further]
            yield Tokenised(
                document, packed_stream(title.symbols, body.symbols, further), title.exact and body.exact
            )
        done += len(batch)
        progress("tokenising", done)


def _texts(document: Document) -> tuple[str, ...]:
    return (document.title, document.text, *(value for _, value in document.further))


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts documents into segments, in order, each as large as it may be.

    Attributes:
        max_tokens: most tokens of a segment.
        budget: the engine, which has a limit of its own, and the memory that building any segment may take.
        store_raw: keep the records as they were read.
        stored: fields of the documents to keep values of.
    """

    max_tokens: int
    budget: Budget
    store_raw: bool = False
    stored: StoredFields = ()

    def segments(
        self, items: Iterable[Tokenised], folder: Path, first: int = 0
    ) -> Iterator[tuple[SegmentWriter, bool]]:
        """Finished segments in new folders below `folder`, numbered from `first`; whether each is the last.

        Raises:
            InputError: a document is longer than a segment may be.
            IndexDirError: the memory does not hold another segment.
            OSError: a file cannot be written.
        """
        collector = Collector(self, folder, first)
        try:
            for item in items:
                if (full := collector.add(item)) is not None:
                    yield full, False
            if (last := collector.finish()) is not None:
                yield last, True
        finally:
            collector.abandon()

    def _limit(self, size: Size) -> int:
        return min(self.max_tokens, segment_limit(self.budget.spec, size.n_distinct))

    def fits(self, n_read: int, size: Size) -> bool:
        """Whether a segment may have this size when so many documents have been read."""
        return size.n_tokens <= self._limit(size) and self.budget.holds(n_read, size)

    def check(self, document: Document, n_read: int, size: Size) -> None:
        """Refuse a document that does not fit into a segment of its own.

        Raises:
            InputError: it does not.
        """
        told = f"document {document.id!r} has {size.n_tokens} tokens"
        if size.n_tokens > self._limit(size):
            raise InputError(f"{told}; a segment holds at most {self._limit(size)}; split it (--split)")
        if not self.budget.holds(n_read, size):
            raise InputError(f"{told}, for which the memory does not suffice; split it, or see --memory")


class Collector:
    """Collects documents that come one by one in segments on disk; one segment is open at a time.

    Attributes:
        open: the segment that the next document may go to, if there is one.
    """

    def __init__(self, cutter: Cutter, folder: Path, first: int) -> None:
        """Begin with no segment.

        Args:
            cutter: says how large segments may be.
            folder: where their folders are made.
            first: the number of the first one.
        """
        self._cutter, self._folder, self._number = cutter, folder, first
        self._n_read = 0
        self.open: SegmentWriter | None = None

    def add(self, item: Tokenised) -> SegmentWriter | None:
        """Add a document; the segment that was finished because it has no room for it, or None.

        Raises:
            InputError: a document is longer than a segment may be.
            IndexDirError: the memory does not hold another segment.
            OSError: a file cannot be written.
        """
        document, symbols, exact = item
        full = None
        writer = self.open
        size = None if writer is None else writer.size_with(symbols)
        if writer is None or size is None or not self._cutter.fits(self._n_read, size):
            if writer is not None:
                self._cutter.budget.check(self._n_read)
            self._cutter.check(document, self._n_read, self._size_alone(symbols))
            full = self.finish()
            writer = self.open = self._begun()
            size = writer.size_with(symbols)
        writer.add(document, symbols, size, exact=exact)
        self._n_read += 1
        return full

    def finish(self) -> SegmentWriter | None:
        """Close the open segment, if there is one, and give it away: it can be built then.

        Raises:
            OSError: a file cannot be written.
        """
        writer = self.open
        if writer is not None:
            writer.close()
        self.open = None  # not before: what cannot be closed is to be abandoned
        return writer

    def abandon(self) -> None:
        """Close the files of a segment that will not be finished."""
        if self.open is not None:
            self.open.abandon()

    def _begun(self) -> SegmentWriter:
        path = self._folder / f"segment-{self._number:06d}"
        self._number = (self._number + 1) % _NUMBERS
        cutter = self._cutter
        return SegmentWriter(path, cutter.budget.n_symbols, store_raw=cutter.store_raw, stored=cutter.stored)

    def _size_alone(self, symbols: Symbols) -> Size:
        """What a segment of one document would hold."""
        wide = self._cutter.budget.n_symbols > MAX_NARROW
        return Size(1, len(symbols), len(np.unique(symbols)) if wide else 0)
