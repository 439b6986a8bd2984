"""Collections that are Lucene indexes with stored documents: a directory, or the name of one of Pyserini's.

The documents are read by Pyserini in a process of its own; see `formats.io.pyserini_records`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.collections.passages import TEXT_KEYS, Record, json_document
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.formats.io.folders import DocumentFiles
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.formats.io.pyserini_records import pyserini_records
from seal_ir.records import Document

_NAME = re.compile(r"[\w][\w.-]*")
_OTHER_TEXTS = ("passage", "segment", "body")  # MS MARCO's v2 passages, segments and documents


def is_lucene_index(directory: Path) -> bool:
    """Whether a directory holds a finished Lucene index."""
    return directory.is_dir() and any(directory.glob("segments_*"))


def find_lucene(source: Path) -> DocumentFiles:
    """The index itself: a directory, or a name that Pyserini is asked for when it is read.

    Raises:
        InputError: a path at which there is no Lucene index, or what is no name.
    """
    if is_lucene_index(source):
        return DocumentFiles([source])
    if source.exists() or not _NAME.fullmatch(str(source)):
        raise InputError(
            f"{source}: no Lucene index there; give the directory that holds its segments_N, or the name of"
            " one of Pyserini's prebuilt indexes"
        )
    return DocumentFiles([source])


def read_lucene(
    source: Path, *, keep_raw: bool = False, fields: Sequence[str] = (), stored: StoredFields = ()
) -> Iterator[tuple[int, Record]]:
    """Numbers from 1 and records, in the order of Lucene's own document numbers; deleted ones are left out.

    The id is Lucene's. The rest is that of a `JsonCollection` where what Lucene stored as `raw` is a JSON
    object, else the stored fields `contents` and `title`; without `contents` it is `raw` without mark-up.

    Raises:
        InputError: it stores no documents, cannot be read, or is no index that Pyserini knows.
        UsageError: Pyserini or Java is missing.
    """
    rows = pyserini_records("documents", str(source))
    try:
        for number, (docid, raw, contents, title) in enumerate(rows, start=1):
            record = _record(docid, raw, contents, title)
            document = record if isinstance(record, Malformed) else json_document(record, fields, stored)
            if keep_raw and isinstance(document, Document):
                document = document._replace(raw=raw)
            yield number, document
    finally:
        rows.close()  # type: ignore[attr-defined]  # ends its process


def _record(
    docid: str | None, raw: str | None, contents: str | None, title: str | None
) -> dict[str, object] | Malformed:
    """The JSON record of a stored document."""
    if docid is None:
        return Malformed("no stored field id; every document needs one")
    record = _object(raw)
    if record is None:
        if raw is None and contents is None:
            return Malformed(f"document {docid!r} has neither raw nor contents stored")
        record = {"contents": contents if contents is not None else without_markup(raw or "")}
    if not any(name in record for name in TEXT_KEYS):
        name = next((name for name in _OTHER_TEXTS if name in record), None)
        text = contents if contents is not None else record.get(name) if name else None
        record = record if text is None else {**record, "text": text}
    if title is not None and "title" not in record:
        record["title"] = title
    return {**record, "id": docid}


def _object(raw: str | None) -> dict[str, object] | None:
    try:
        value = json.loads(raw) if raw is not None and raw.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _Texts(HTMLParser):
    """Collects what stands between tags."""

    def __init__(self) -> None:
        super().__init__()
        self.pieces: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep a piece of text."""
        self.pieces.append(data)


def without_markup(text: str) -> str:
    """The text of what begins as SGML, XML or HTML does, with single spaces; other text as it is."""
    if not re.match(r"\s*<[a-zA-Z!?]", text):
        return text
    parser = _Texts()
    parser.feed(text)
    parser.close()
    return " ".join(" ".join(parser.pieces).split())
