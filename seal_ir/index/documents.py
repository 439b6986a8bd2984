"""Ids of a segment's documents, and the text of those that the tokenizer does not give back exactly.

Both are Arrow files, mapped into memory: a look-up reads what it needs and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from seal_ir.errors import IndexDirError
from seal_ir.index.engine import utf8
from seal_ir.index.manifest import REBUILD

IDS, BY_ID, TEXTS = "ids.arrow", "by_id.npy", "texts.arrow"
Text = tuple[str, str]  # title, text


def write_documents(folder: Path, ids: Sequence[str], texts: dict[int, Text]) -> None:
    """Write a segment's document tables.

    Args:
        folder: the segment's folder.
        ids: the collection's ids, in document order.
        texts: title and text of the documents that do not survive the tokenizer, by number.
    """
    _write(folder / IDS, {"id": pa.array(ids, pa.large_string())})
    order = sorted(range(len(ids)), key=ids.__getitem__)
    np.save(folder / BY_ID, np.array(order, dtype=np.int64), allow_pickle=False)
    numbers = sorted(texts)
    columns = {
        "document": pa.array(numbers, pa.int64()),
        "title": pa.array([texts[number][0] for number in numbers], pa.large_string()),
        "text": pa.array([texts[number][1] for number in numbers], pa.large_string()),
    }
    _write(folder / TEXTS, columns)


class DocumentTable:
    """The document tables of one segment, read-only and safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        """Open the tables.

        Raises:
            IndexDirError: a file is damaged.
        """
        self._ids = _read(folder / IDS).column("id")
        try:
            self._by_id = np.load(folder / BY_ID, mmap_mode="r", allow_pickle=False)
        except (OSError, EOFError, ValueError, SyntaxError) as error:
            raise IndexDirError(f"{folder / BY_ID}: damaged ({error}); {REBUILD}") from error
        texts = _read(folder / TEXTS)
        self._numbers = texts.column("document").to_numpy()
        self._titles, self._texts = texts.column("title"), texts.column("text")

    def id(self, number: int) -> str:
        """The collection's id of a document."""
        return self._ids[number].as_py()  # type: ignore[no-any-return]

    def number(self, docid: str) -> int | None:
        """The number of the document with this id, or None."""
        lo, hi = 0, len(self._by_id)
        while lo < hi:
            middle = (lo + hi) // 2
            if self.id(int(self._by_id[middle])) < docid:
                lo = middle + 1
            else:
                hi = middle
        found = lo < len(self._by_id) and self.id(int(self._by_id[lo])) == docid
        return int(self._by_id[lo]) if found else None

    def stored_text(self, number: int) -> Text | None:
        """Title and text of a document that the FM-index cannot give back, or None."""
        at = int(np.searchsorted(self._numbers, number))
        if at == len(self._numbers) or self._numbers[at] != number:
            return None
        return self._titles[at].as_py(), self._texts[at].as_py()


def _write(path: Path, columns: dict[str, pa.Array]) -> None:
    table = pa.table(columns)
    with pa.OSFile(utf8(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _read(path: Path) -> pa.Table:
    try:
        return pa.ipc.open_file(pa.memory_map(utf8(path))).read_all()
    except (OSError, pa.ArrowException) as error:
        raise IndexDirError(f"{path}: damaged ({error}); {REBUILD}") from error
