"""Deleted documents of a segment: a file of their numbers beside it, as a segment never changes.

Which rows of the FM-index are theirs is not stored but found when the index is opened, by a walk through the
deleted documents: 17 us each, where storing it would take a bit per row with every commit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from seal_ir.arrays import Ints
from seal_ir.formats.collections.stored import StoredValue
from seal_ir.index.directory import damaged
from seal_ir.index.documents import DocumentTable, Text, numbers_bytes, open_numbers
from seal_ir.index.manifest import SegmentInfo

_DIGITS = 12  # hexadecimal, of the digest in the name


def write_deleted(folder: Path, numbers: Ints) -> str:
    """Write numbers of documents, int64 [n] ascending, to a file whose name no other content gets.

    Raises:
        OSError: it cannot be written.
    """
    content = numbers_bytes(numbers)
    name = f"deleted.{hashlib.sha256(content).hexdigest()[:_DIGITS]}.npy"
    (folder / name).write_bytes(content)
    return name


def read_deleted(directory: Path, segment: SegmentInfo) -> Ints:
    """The numbers of a segment's deleted documents, int64 [n] ascending.

    Raises:
        IndexDirError: the file is damaged.
    """
    if segment.deleted is None:
        return np.empty(0, np.int64)
    path = directory / segment.deleted.file
    numbers = np.array(open_numbers(path, segment.deleted.n_documents), dtype=np.int64)
    if numbers[0] < 0 or numbers[-1] >= segment.n_documents or (np.diff(numbers) <= 0).any():
        raise damaged(path, f"not numbers of {segment.n_documents} documents, ascending")
    return numbers


def live_numbers(segment: SegmentInfo, deleted: Ints) -> Ints:
    """The numbers of a segment's other documents, int64 [m] ascending."""
    is_live = np.ones(segment.n_documents, dtype=bool)
    is_live[deleted] = False
    return np.flatnonzero(is_live)


class LiveTable:
    """The tables of a segment's live documents, which are numbered as if there were no others."""

    def __init__(self, table: DocumentTable, live: Ints) -> None:
        """Args: table: of all documents; live: the numbers there of those that count, int64 [n] ascending."""
        self._table, self._live = table, live

    def id(self, number: int) -> str:
        """See `DocumentTable.id`."""
        return self._table.id(int(self._live[number]))

    def number(self, docid: str) -> int | None:
        """See `DocumentTable.number`."""
        return next(self._renumbered(self._table.numbers(docid)), None)

    def was_deleted(self, docid: str) -> bool:
        """Whether a document with this id is here and does not count."""
        numbers = list(self._table.numbers(docid))
        return len(numbers) > len(list(self._renumbered(iter(numbers))))

    def having(self, docids: pa.Array) -> Ints:
        """See `DocumentTable.having`."""
        return np.flatnonzero(np.isin(self._live, self._table.having(docids)))

    @property
    def stored(self) -> pa.Table:
        """See `DocumentTable.stored`."""
        return self._table.stored.take(self._live)

    def stored_values(self, numbers: Ints) -> list[tuple[tuple[str, StoredValue], ...]]:
        """See `DocumentTable.stored_values`."""
        return self._table.stored_values(self._live[numbers])

    def stored_text(self, number: int) -> Text | None:
        """See `DocumentTable.stored_text`."""
        return self._table.stored_text(int(self._live[number]))

    def raws(self, numbers: Sequence[int]) -> list[str | None]:
        """See `DocumentTable.raws`."""
        return self._table.raws([int(self._live[number]) for number in numbers])

    def _renumbered(self, numbers: Iterator[int]) -> Iterator[int]:
        for number in numbers:
            at = int(np.searchsorted(self._live, number))
            if at < len(self._live) and self._live[at] == number:
                yield at
