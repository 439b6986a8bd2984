"""Documents -> streams -> segments, which are cut by tokens and the memory budget, and by nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from seal_ir.arrays import Symbols
from seal_ir.errors import InputError
from seal_ir.index.memory import Budget, Size, segment_limit
from seal_ir.index.segments import SegmentWriter
from seal_ir.records import Document
from seal_ir.text.symbols import further_marks, stream
from seal_ir.text.tokenizer import TextTokenizer

_BATCH = 1000  # documents tokenised at a time
PhaseReport = Callable[[str, int], None]  # phase, how many documents so far; called from several threads


class Tokenised(NamedTuple):
    """A document, its stream, and whether the tokenizer gives title and text back exactly."""

    document: Document
    symbols: Symbols
    exact: bool


def tokenised(
    documents: Iterable[Document], tokenizer: TextTokenizer, fields: Sequence[str], progress: PhaseReport
) -> Iterator[Tokenised]:
    """Documents with their streams, a batch in memory at a time; `fields` are the names of further ones."""
    marks = {name: further_marks(number) for number, name in enumerate(fields)}
    left, done = iter(documents), 0
    while batch := list(islice(left, _BATCH)):
        ids = tokenizer.encode_fields([text for document in batch for text in _texts(document)])
        back = tokenizer.decode_fields(ids)
        at = 0
        for document in batch:
            n = 2 + len(document.further)
            exact = (back[at], back[at + 1]) == (document.title, document.text)
            further = zip((marks[name] for name, _ in document.further), ids[at + 2 : at + n], strict=True)
            yield Tokenised(document, stream(ids[at], ids[at + 1], further), exact)
            at += n
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
    """

    max_tokens: int
    budget: Budget
    store_raw: bool = False

    def segments(self, items: Iterable[Tokenised], folder: Path) -> Iterator[tuple[SegmentWriter, bool]]:
        """Finished segments in new folders below `folder`, and whether each is the last.

        Raises:
            InputError: a document is longer than a segment may be.
            IndexDirError: the memory does not hold another segment.
            OSError: a file cannot be written.
        """
        writer: SegmentWriter | None = None
        n_segments = 0
        try:
            for n_read, (document, symbols, exact) in enumerate(items):
                if writer is not None and not self._fits(n_read, size := writer.size_with(symbols)):
                    writer.close()
                    yield writer, False
                    self.budget.check(n_read)
                    writer = None
                if writer is None:
                    path = folder / f"segment-{n_segments:06d}"
                    writer = SegmentWriter(path, self.budget.n_symbols, store_raw=self.store_raw)
                    n_segments += 1
                    size = writer.size_with(symbols)
                    self._check(document, n_read, size)
                writer.add(document, symbols, size, exact=exact)
            if writer is not None:
                writer.close()
                yield writer, True
        finally:
            if writer is not None:
                writer.abandon()

    def _limit(self, size: Size) -> int:
        return min(self.max_tokens, segment_limit(self.budget.spec, size.n_distinct))

    def _fits(self, n_read: int, size: Size) -> bool:
        return size.n_tokens <= self._limit(size) and self.budget.holds(n_read, size)

    def _check(self, document: Document, n_read: int, size: Size) -> None:
        """Refuse a document that does not fit into a segment of its own."""
        told = f"document {document.id!r} has {size.n_tokens} tokens"
        if size.n_tokens > self._limit(size):
            raise InputError(f"{told}; a segment holds at most {self._limit(size)}; split it")
        if not self.budget.holds(n_read, size):
            raise InputError(f"{told}, for which the memory does not suffice; split it, or see --memory")
