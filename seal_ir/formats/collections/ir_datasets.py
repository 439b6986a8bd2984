"""Collections that are documents of the package ir_datasets, by its names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from seal_ir.formats.collections.passages import Record, json_document
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.formats.io.folders import DocumentFiles
from seal_ir.formats.io.ir_datasets_access import dataset_with, told
from seal_ir.records import Document
from seal_ir.structured import json_line

_TEXTS = ("text", "body", "contents", "abstract", "passage")


def find_ir_dataset(source: Path) -> DocumentFiles:
    """The name itself, which the package knows and has documents of; nothing is downloaded yet.

    Raises:
        InputError: it does not.
        MissingPackageError: it is not installed.
    """
    dataset_with(str(source), "docs")
    return DocumentFiles([source])


def read_ir_dataset(
    source: Path, *, keep_raw: bool = False, fields: Sequence[str] = (), stored: StoredFields = ()
) -> Iterator[tuple[int, Record]]:
    """Numbers from 1 and records, whose fields are those of the dataset's documents, id and text aside.

    Raises:
        InputError: the documents cannot be downloaded or read.
    """
    name = str(source)
    documents = told(name, dataset_with(name, "docs").docs_iter())
    for number, entry in enumerate(documents, start=1):
        record = _record(entry)
        document = json_document(record, fields, stored)
        if keep_raw and isinstance(document, Document):
            document = document._replace(raw=json_line(record, default=str))
        yield number, document


def _record(entry: Any) -> dict[str, object]:
    """The JSON record of one of the package's documents, a named tuple."""
    values = {name: value for name, value in entry._asdict().items() if name not in ("doc_id", "contents")}
    texts = (getattr(entry, name, None) for name in _TEXTS)
    text = next((value for value in texts if isinstance(value, str)), None)
    return {**values, "id": entry.doc_id, "text": entry.default_text() if text is None else text}
