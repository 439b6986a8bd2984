"""Collections that say whose they are, so that an index of two generations at once would be found out."""

from __future__ import annotations

from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny

N_DOCUMENTS = 60


def collection(name: str) -> list[Document]:
    """Documents that say whose they are in their ids, titles and texts."""
    return [
        Document(f"{name}{i}", name, f"{name} says: {tiny.SENTENCES[i % len(tiny.SENTENCES)]} {i}", None)
        for i in range(N_DOCUMENTS)
    ]


def check_whole(index: Index) -> str:
    """The name of the one collection that an index holds."""
    documents = index.documents(range(N_DOCUMENTS))
    (name,) = {document.title for document in documents}
    assert documents == collection(name)
    assert [index.number(document.id) for document in documents] == list(range(N_DOCUMENTS))
    return name
