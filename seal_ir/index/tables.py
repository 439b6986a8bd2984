"""Arrow files of a segment: written batch by batch, mapped into memory, never trusted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from seal_ir.formats.io.files import utf8
from seal_ir.index.directory import damaged

FAULTS = (OSError, ValueError, IndexError, pa.ArrowException)  # what reading a spoiled file raises


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
        self._sink.close()

    def _flush(self) -> None:
        columns = zip(zip(*self._rows, strict=True), self._schema.types, strict=True)
        arrays = [pa.array(values, kind) for values, kind in columns]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows.clear()


def open_table(path: Path, schema: pa.Schema) -> pa.RecordBatchFileReader:
    """An Arrow file in memory, with the columns that are expected.

    Raises:
        IndexDirError: the file is damaged.
    """
    try:
        reader = pa.ipc.open_file(pa.memory_map(utf8(path)))
        fits = reader.schema.equals(schema)
    except FAULTS as error:
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
    except FAULTS as error:
        raise damaged(path, error) from error
    return table
