"""A collection written again with one more field in every record, for `seal_ir.index --fields`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.io.packed import packed_writer
from seal_ir.records import Document
from seal_ir.search.documents import contents
from seal_ir.structured import json_line


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
        path: see `packed_writer`.
        field: where the value goes.
        value_of: from a document and its record to a JSON value.

    Raises:
        InputError: the collection cannot be read.
        UsageError: the path cannot be written.
    """
    with packed_writer(path) as stream:
        for document in collection:
            record = record_of(document)
            record[field] = value_of(document, record)
            stream.write(f"{json_line(record)}\n")
