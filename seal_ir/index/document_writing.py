"""Writing a segment's documents beside its FM-index: the files that `documents` reads."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seal_ir.formats.collections.stored import StoredFields
from seal_ir.formats.io.files import utf8
from seal_ir.index.documents import (
    BY_ID,
    ID_SCHEMA,
    IDS,
    RAW,
    RAW_ROWS,
    RAW_SCHEMA,
    STORED,
    TEXT_SCHEMA,
    TEXTS,
    numbers_bytes,
    open_table,
    read_table,
    stored_schema,
)
from seal_ir.records import Document

_ID_ROWS, _TEXT_ROWS = 1 << 16, 1 << 10


class TableWriter:
    """Writes rows to an Arrow IPC file, holding one record batch of them in memory."""

    def __init__(
        self, path: Path, schema: pa.Schema, batch_rows: int, compression: str | None = None
    ) -> None:
        """Begin a file.

        Args:
            path: file to write.
            schema: its columns and metadata.
            batch_rows: rows of each record batch; the last one may have fewer.
            compression: of each batch, "zstd", or None.
        """
        self._schema, self._batch_rows = schema, batch_rows
        self._rows: list[tuple[Any, ...]] = []
        self._sink = pa.OSFile(utf8(path), "wb")
        options = pa.ipc.IpcWriteOptions(compression=compression)
        self._writer = pa.ipc.new_file(self._sink, schema, options=options)

    def add(self, *row: Any) -> None:
        """Append a row, one value for each column."""
        self._rows.append(row)
        if len(self._rows) == self._batch_rows:
            self._flush()

    def close(self) -> None:
        """Write what is left and the file's end."""
        if self._rows:
            self._flush()
        self._writer.close()
        self._sink.close()

    def abandon(self) -> None:
        """Close a file that will not be finished; harmless afterwards."""
        with suppress(OSError):
            self._sink.close()

    def _flush(self) -> None:
        columns = zip(zip(*self._rows, strict=True), self._schema.types, strict=True)
        arrays = [pa.array(values, kind) for values, kind in columns]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows.clear()


class DocumentWriter:
    """Writes a segment's document tables as the documents come, with little of them in memory."""

    def __init__(self, folder: Path, *, store_raw: bool = False, stored: StoredFields = ()) -> None:
        """Begin the tables of a segment in its folder.

        Args:
            folder: the segment's.
            store_raw: keep the records as they were read.
            stored: fields of the documents to keep values of.
        """
        self._folder = folder
        self._ids = TableWriter(folder / IDS, ID_SCHEMA, _ID_ROWS)
        self._texts = TableWriter(folder / TEXTS, TEXT_SCHEMA, _TEXT_ROWS)
        self._raw = TableWriter(folder / RAW, RAW_SCHEMA, RAW_ROWS, "zstd") if store_raw else None
        self._names = [name for name, _ in stored]
        self._stored = TableWriter(folder / STORED, stored_schema(stored), _ID_ROWS) if stored else None
        tables = (self._ids, self._texts, self._raw, self._stored)
        self._tables = [table for table in tables if table is not None]
        self.n_documents = 0

    def add(self, document: Document, *, exact: bool) -> None:
        """Append a document; the text is kept unless the tokenizer gives it back exactly."""
        self._ids.add(document.id)
        if not exact:
            self._texts.add(self.n_documents, document.title, document.text)
        if self._raw is not None:
            self._raw.add(document.raw)
        if self._stored is not None:
            values = dict(document.stored)
            self._stored.add(*(values.get(name) for name in self._names))
        self.n_documents += 1

    def close(self) -> None:
        """Finish the tables."""
        for table in self._tables:
            table.close()
        path = self._folder / IDS
        ids = read_table(path, open_table(path, ID_SCHEMA)).column("id")
        # UTF-8 sorts as Python's strings do, by code points.
        order = pc.sort_indices(ids).to_numpy()
        (self._folder / BY_ID).write_bytes(numbers_bytes(order))

    def abandon(self) -> None:
        """Close the files of tables that will not be finished; harmless afterwards."""
        for table in self._tables:
            table.abandon()
