"""A collection written again with one more field in every record, for `seal_ir.index --fields`."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.io.files import atomic_writer, is_text
from seal_ir.formats.io.inputs import READ_SUFFIXES, REFUSED_SUFFIXES
from seal_ir.formats.io.json_text import json_line
from seal_ir.records import Document
from seal_ir.search.documents import contents

_GZIP_LEVEL = 6


def check_output(path: Path) -> None:
    """Refuse a name that promises a compression that is not written.

    Raises:
        UsageError: it does.
    """
    if path.suffix.lower() in {*READ_SUFFIXES, *REFUSED_SUFFIXES} - {".gz"}:
        raise UsageError(f"{path}: this is written plain or as gzip; name it .jsonl or .jsonl.gz")


def record_of(document: Document) -> dict[str, Any]:
    """The JSON record of a document as it was read, its id under "id"; one made for it if it has none.

    Args:
        document: read with `keep_raw`.
    """
    if document.raw is None:
        return {"id": document.id, "title": document.title, "contents": contents(document)}
    record = json.loads(document.raw)
    return {"id": document.id, **{name: value for name, value in record.items() if name != "id"}}


def write_again(
    collection: Collection, path: Path, field: str, value_of: Callable[[Document, dict[str, Any]], object]
) -> None:
    """Write every document's record with `field` set to what `value_of` says; another value there is lost.

    The file appears whole or not at all. A name in .gz is compressed, to the same bytes every time.

    Args:
        collection: read with `keep_raw`, so that records keep all that they hold.
        path: see `check_output`.
        field: where the value goes.
        value_of: from a document and its record to a JSON value.

    Raises:
        InputError: the collection cannot be read.
        UsageError: the path cannot be written.
    """
    with atomic_writer(path) as plain, _maybe_compressed(plain, path) as stream:
        for document in collection:
            record = record_of(document)
            record[field] = value_of(document, record)
            line = json_line(record)
            if not is_text(line):  # half a surrogate stays an escape
                line = json_line(record, ascii_only=True)
            stream.write(f"{line}\n")


@contextmanager
def _maybe_compressed(plain: TextIO, path: Path) -> Iterator[TextIO]:
    if path.suffix.lower() != ".gz":
        yield plain
        return
    with (
        gzip.GzipFile("", "wb", _GZIP_LEVEL, plain.buffer, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
    ):
        yield stream
