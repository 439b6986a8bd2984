"""Documents that a caller hands over, looked at one by one before they are indexed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from seal_ir.arguments import instance, items, text
from seal_ir.errors import ArgumentError, shown
from seal_ir.records import Document


def checked(documents: Iterable[Document], fields: Collection[str]) -> Iterator[Document]:
    """The documents, as they are asked for, each of them with texts for texts.

    Args:
        documents: in their order.
        fields: names of the further fields that they may have.

    Raises:
        ArgumentError: `documents` is no iterable; when they are asked for, also: one is no `Document`, a text
            of it is none, its id is empty or holds white space, or it has another field.
    """
    return (
        _checked(item, f"documents[{at}]", fields) for at, item in enumerate(items(documents, "documents"))
    )


def _checked(value: object, name: str, fields: Collection[str]) -> Document:
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
    return Document(docid, title, body, raw, tuple(further))
