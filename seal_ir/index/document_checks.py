"""Documents that a caller hands over, looked at one by one before they are indexed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from seal_ir.arguments import instance, items, text
from seal_ir.errors import ArgumentError, shown
from seal_ir.formats.collections.passages import json_document
from seal_ir.formats.collections.stored import StoredFields, stored_values
from seal_ir.formats.io.jsonlines import Malformed, parse_object
from seal_ir.records import Document
from seal_ir.structured import json_line

Given = Document | Mapping[str, object] | str  # what is a document to `given`


def checked(
    documents: Iterable[Document], fields: Collection[str], stored: StoredFields = ()
) -> Iterator[Document]:
    """The documents, as they are asked for, each of them with texts for texts.

    Args:
        documents: in their order.
        fields: names of the further fields that they may have.
        stored: the fields that are stored beside them.

    Raises:
        ArgumentError: `documents` is no iterable; when they are asked for, also: one is no `Document`, a text
            of it is none, its id is empty or holds white space, or it has another field.
    """
    return (
        _checked(item, f"documents[{at}]", fields, stored)
        for at, item in enumerate(items(documents, "documents"))
    )


def _checked(value: object, name: str, fields: Collection[str], stored: StoredFields) -> Document:
    document = instance(value, Document, name)
    docid = text(document.id, f"{name}.id")
    if docid.split() != [docid]:
        raise ArgumentError(f"{name}.id is {shown(docid)}; it must be text without white space")
    further = []
    for field, content in document.further:
        if field not in fields:
            raise ArgumentError(f"{name} has a field {shown(field)}; name it in BuildOptions(fields=...)")
        further.append((field, text(content, f"{name}.{field}")))
    raw = None if document.raw is None else text(document.raw, f"{name}.raw")
    title, body = text(document.title, f"{name}.title"), text(document.text, f"{name}.text")
    known = [field for field, _ in stored]
    if other := [field for field, _ in document.stored if field not in known]:
        raise ArgumentError(f"{name} stores {shown(other[0])}; name it in BuildOptions(store=...)")
    values = stored_values(dict(document.stored), stored)
    if isinstance(values, Malformed):
        raise ArgumentError(f"{name}: {values.reason}")
    return Document(docid, title, body, raw, tuple(further), values)


def given(
    documents: Iterable[Given], fields: Collection[str], stored: StoredFields = ()
) -> Iterator[Document]:
    """Documents of what a caller hands over: each a `Document`, a dict or the text of a JSON object.

    Dicts and JSON are read as records of a JSON collection: `id` and `contents`, or `title` and `text`, and
    `fields`. Their JSON is the document's record as read.

    Args:
        documents: in their order.
        fields: names of the further fields that they may have.
        stored: the fields that are stored beside them.

    Raises:
        ArgumentError: when they are asked for: one is none of these, or lacks what a document needs.
    """
    return (_given(item, f"docs[{at}]", fields, stored) for at, item in enumerate(items(documents, "docs")))


def _given(value: object, name: str, fields: Collection[str], stored: StoredFields) -> Document:
    if isinstance(value, Document):
        return _checked(value, name, fields, stored)
    if isinstance(value, str):
        raw, record = value, parse_object(value)
    elif isinstance(value, Mapping):
        record = {key if isinstance(key, str) else str(key): content for key, content in value.items()}
        raw = _json_of(record, name)
    else:
        kind = type(value).__name__
        raise ArgumentError(f"{name} is {shown(value)} ({kind}); it must be a Document, a dict or JSON text")
    document = json_document(record, list(fields), stored)
    if isinstance(document, Malformed):
        raise ArgumentError(f"{name}: {document.reason}")
    return document._replace(raw=raw)


def _json_of(record: Mapping[str, object], name: str) -> str:
    try:
        return json_line(record)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"{name} cannot be written as JSON ({error}); give plain values") from None
