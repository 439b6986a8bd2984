"""Documents and hits in the shape that Pyserini's users expect."""

from __future__ import annotations

from dataclasses import dataclass

from seal_ir.formats.json_text import json_line
from seal_ir.records import Document


@dataclass(frozen=True, slots=True)
class SealDocument:
    """A document as `searcher.doc()` returns it, with Pyserini's accessor methods.

    Attributes:
        document: id, title and text.
        record: its record as it was read, where the index was built with --storeRaw.
    """

    document: Document
    record: str | None = None

    def docid(self) -> str:
        """The collection's id."""
        return self.document.id

    def id(self) -> str:
        """The collection's id."""
        return self.document.id

    def lucene_document(self) -> None:
        """None: there is no Lucene here."""
        return

    def contents(self) -> str:
        """Title, a line feed and the text; the text alone where there is no title."""
        return contents(self.document)

    def raw(self) -> str:
        """The record as it was read, else a JSON object with id, title and contents."""
        return raw(self.document) if self.record is None else self.record

    def get(self, field: str) -> str | None:
        """A field by name (id, title, text, contents, raw; of a further one a value a line), or None."""
        values = {
            "id": self.document.id,
            "title": self.document.title,
            "text": self.document.text,
            "contents": self.contents(),
            "raw": self.raw(),
        }
        further = [value for name, value in self.document.further if name == field]
        return "\n".join(further) if further else values.get(field)


def contents(document: Document) -> str:
    """Title, a line feed and the text; the text alone where there is no title."""
    return f"{document.title}\n{document.text}" if document.title else document.text


def raw(document: Document) -> str:
    """A JSON object with id, title and contents."""
    values = {"id": document.id, "title": document.title, "contents": contents(document)}
    return json_line(values)
