"""A segment's documents beside its FM-index: ids, texts that the tokenizer loses, and records as read.

All are files mapped into memory: a look-up reads what it needs and nothing else. docs/format.md has them
byte by byte.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seal_ir.arrays import Ints
from seal_ir.formats.collections.stored import StoredFields, StoredValue
from seal_ir.formats.io.files import utf8
from seal_ir.index.directory import damaged
from seal_ir.index.manifest import RAW_FILE

IDS, BY_ID, TEXTS, RAW, STORED = "ids.arrow", "by_id.npy", "texts.arrow", RAW_FILE, "stored.arrow"
Text = tuple[str, str]  # title, text
_FEW_IDS = 32  # looked up one by one; more of them are compared with all
RAW_ROWS = 128  # records of one batch of raw.arrow: what a look-up decompresses
_STRING = pa.large_string()
ID_SCHEMA = pa.schema([pa.field("id", _STRING)])
TEXT_SCHEMA = pa.schema(
    [pa.field("document", pa.int64()), pa.field("title", _STRING), pa.field("text", _STRING)]
)
RAW_SCHEMA = pa.schema([pa.field("raw", _STRING)])
_ARROW_TYPES = {"string": _STRING, "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
_FAULTS = (OSError, ValueError, IndexError, pa.ArrowException)  # what reading a spoiled file raises


class DocumentTable:
    """The document tables of one segment, read-only and safe to share between threads."""

    def __init__(
        self, folder: Path, n_documents: int, *, with_raw: bool = False, stored: StoredFields = ()
    ) -> None:
        """Open the tables; what they hold is checked when it is first asked for.

        Raises:
            IndexDirError: a file is damaged.
        """
        self._folder, self._n_documents = folder, n_documents
        self._id_reader = open_table(folder / IDS, ID_SCHEMA)
        self._text_reader = open_table(folder / TEXTS, TEXT_SCHEMA)
        self._by_id = open_numbers(folder / BY_ID, n_documents)
        self._raw_reader = open_table(folder / RAW, RAW_SCHEMA) if with_raw else None
        self._stored_reader = open_table(folder / STORED, stored_schema(stored)) if stored else None
        self._reading = threading.Lock()

    def id(self, number: int) -> str:
        """The collection's id of a document.

        Raises:
            IndexDirError: the file is damaged.
        """
        return self._ids[number].as_py()  # type: ignore[no-any-return]

    def number(self, docid: str) -> int | None:
        """The number of the document with this id, or None.

        Raises:
            IndexDirError: a file is damaged.
        """
        return next(iter(self.numbers(docid)), None)

    def numbers(self, docid: str) -> Iterator[int]:
        """Every document with this id: of several all but one are deleted.

        Raises:
            IndexDirError: a file is damaged.
        """
        lo, hi = 0, len(self._by_id)
        while lo < hi:
            middle = (lo + hi) // 2
            if self.id(self._ordered(middle)) < docid:
                lo = middle + 1
            else:
                hi = middle
        while lo < len(self._by_id) and self.id(self._ordered(lo)) == docid:
            yield self._ordered(lo)
            lo += 1

    def occurring(self, docids: Sequence[str]) -> Iterator[tuple[str, int]]:
        """Those of distinct ids that documents have, with the documents' numbers.

        Raises:
            IndexDirError: a file is damaged.
        """
        if len(docids) <= _FEW_IDS:
            for docid in docids:
                yield from ((docid, number) for number in self.numbers(docid))
            return
        which = pc.index_in(self._ids, value_set=pa.array(docids, _STRING))
        numbers = np.flatnonzero(pc.is_valid(which).to_numpy())
        places = which.drop_null().to_numpy()
        for number, at in zip(numbers.tolist(), places.tolist(), strict=True):
            yield docids[at], number

    def having(self, docids: pa.Array) -> Ints:
        """The numbers of the documents that have one of these ids, int64 [n] ascending.

        Raises:
            IndexDirError: the file is damaged.
        """
        return np.flatnonzero(pc.is_in(self._ids, value_set=docids).to_numpy())

    def stored_text(self, number: int) -> Text | None:
        """Title and text of a document that the FM-index cannot give back, or None."""
        numbers, titles, texts = self._texts
        at = int(np.searchsorted(numbers, number))
        if at == len(numbers) or numbers[at] != number:
            return None
        return titles[at].as_py(), texts[at].as_py()

    def raws(self, numbers: Sequence[int]) -> list[str | None]:
        """Documents' records as they were read; None where none is kept.

        Raises:
            IndexDirError: the file is damaged.
        """
        if self._raw_reader is None:
            return [None] * len(numbers)
        batches = {n: self._raw_batch(n) for n in sorted({number // RAW_ROWS for number in numbers})}
        return [batches[number // RAW_ROWS][number % RAW_ROWS].as_py() for number in numbers]

    @cached_property
    def stored(self) -> pa.Table:
        """The ids, in a column `id`, and the stored fields of the documents, in order, mapped.

        Raises:
            IndexDirError: a file is damaged.
        """
        table = pa.table({"id": self._ids})
        if self._stored_reader is None:
            return table
        path = self._folder / STORED
        fields = read_table(path, self._stored_reader)
        if len(fields) != self._n_documents:
            raise damaged(path, f"{len(fields)} rows of {self._n_documents} documents")
        for name in fields.column_names:
            table = table.append_column(name, fields.column(name))
        return table

    def stored_values(self, numbers: Ints) -> list[tuple[tuple[str, StoredValue], ...]]:
        """Names and values of documents' stored fields, as `Document.stored` has them.

        Raises:
            IndexDirError: a file is damaged.
        """
        if self._stored_reader is None:
            return [()] * len(numbers)
        rows = self.stored.take(numbers).drop_columns("id").to_pylist()
        return [tuple((name, value) for name, value in row.items() if value is not None) for row in rows]

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        path = self._folder / IDS
        ids = read_table(path, self._id_reader).column("id")
        if len(ids) != self._n_documents or ids.null_count:
            raise damaged(path, f"{len(ids) - ids.null_count} ids of {self._n_documents} documents")
        return ids

    @cached_property
    def _texts(self) -> tuple[Ints, pa.ChunkedArray, pa.ChunkedArray]:
        table = read_table(self._folder / TEXTS, self._text_reader)
        return table.column("document").to_numpy(), table.column("title"), table.column("text")

    def _ordered(self, at: int) -> int:
        number = int(self._by_id[at])
        if not 0 <= number < self._n_documents:
            raise damaged(self._folder / BY_ID, f"document {number} of {self._n_documents}")
        return number

    def _raw_batch(self, n: int) -> pa.Array:
        path = self._folder / RAW
        rows = min(RAW_ROWS, self._n_documents - n * RAW_ROWS)
        try:
            with self._reading:
                batch = self._raw_reader.get_batch(n)  # type: ignore[union-attr]
            batch.validate(full=True)
        except _FAULTS as error:
            raise damaged(path, error) from error
        if batch.num_rows != rows:
            raise damaged(path, f"batch {n} has {batch.num_rows} records, not {rows}")
        return batch.column(0)


def stored_schema(stored: StoredFields) -> pa.Schema:
    """The columns of stored fields."""
    return pa.schema([pa.field(name, _ARROW_TYPES[kind]) for name, kind in stored])


def open_table(path: Path, schema: pa.Schema) -> pa.RecordBatchFileReader:
    """An Arrow file in memory, with the columns that are expected.

    Raises:
        IndexDirError: the file is damaged.
    """
    try:
        reader = pa.ipc.open_file(pa.memory_map(utf8(path)))
        fits = reader.schema.equals(schema)
    except _FAULTS as error:
        raise damaged(path, error) from error
    if not fits:
        raise damaged(path, "its columns are others")
    return reader


def read_table(path: Path, reader: pa.RecordBatchFileReader) -> pa.Table:
    """All batches, every offset and string checked, so that no look-up reads beyond the file.

    Raises:
        IndexDirError: the file is damaged.
    """
    try:
        table = reader.read_all()
        table.validate(full=True)
    except _FAULTS as error:
        raise damaged(path, error) from error
    return table


def numbers_bytes(numbers: Ints) -> bytes:
    """The content of a file of documents' numbers: numpy's format 1.0 for int64 [n]."""
    return _header(len(numbers)) + numbers.astype("<i8").tobytes()


def open_numbers(path: Path, n: int) -> Ints:
    """The numbers of a file that holds n of them, int64 [n], mapped; what they are is not looked at.

    Raises:
        IndexDirError: it is another file, or cannot be read.
    """
    expected = _header(n)
    try:
        with path.open("rb") as file:  # once: by its name it may be another one, or none, in a moment
            seen, size = file.read(len(expected)), os.fstat(file.fileno()).st_size
            if seen != expected or size != len(expected) + 8 * n:
                raise damaged(path, f"not int64 [{n}]")
            return np.memmap(file, np.dtype("<i8"), "r", len(expected), (n,))
    except OSError as error:
        raise damaged(path, error.strerror) from error


def _header(n: int) -> bytes:
    """The 128 bytes of numpy's format 1.0 for int64 [n], spelled out: numpy's parser need not be trusted."""
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({n},), }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode().ljust(117) + b"\n"
