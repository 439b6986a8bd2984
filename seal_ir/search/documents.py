"""Documents and hits in the shape that Pyserini's users expect."""

from __future__ import annotations

from dataclasses import dataclass

from seal_ir.formats.io.jsonlines import Malformed, parse_object
from seal_ir.records import Document
from seal_ir.structured import json_line


@dataclass(frozen=True, slots=True)
class StoredField:
    """A field of a document, as Lucene's `IndexableField` gives it."""

    _value: str

    def stringValue(self) -> str:  # noqa: N802 - Lucene's name
        """Its text."""
        return self._value


@dataclass(frozen=True, slots=True)
class SealDocument:
    """A document as `searcher.doc()` returns it, with Pyserini's accessor methods.

    It stands for Lucene's document as well, in hits and in `lucene_document`: Pyserini's own code reads that
    with `get` and `getField`.

    Attributes:
        document: id, title, text, further and stored fields.
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

    def lucene_document(self) -> SealDocument:
        """Itself: there is no Lucene here, but all that Pyserini asks of its documents."""
        return self

    def contents(self) -> str:
        """Title, a line feed and the text; the text alone where there is no title."""
        return contents(self.document)

    def raw(self) -> str:
        """The record as it was read, else a JSON object with id, title and contents."""
        return raw(self.document) if self.record is None else self.record

    def get(self, field: str) -> str | None:
        """A field by name, or None.

        These are id, title, text, contents, raw; a further one, a value a line; whatever else the record that
        was kept has, where it is a JSON object; and stored fields, such as the `passage_start` and
        `passage_end` of a split document's passage. Text is given as it is, all other values as JSON.
        """
        values = {
            "id": self.document.id,
            "title": self.document.title,
            "text": self.document.text,
            "contents": self.contents(),
            "raw": self.raw(),
        }
        further = [value for name, value in self.document.further if name == field]
        if further or field in values:
            return "\n".join(further) if further else values[field]
        return self._recorded(field)

    def getField(self, field: str) -> StoredField | None:  # noqa: N802 - Lucene's name
        """A field that says its text as Lucene's do, or None; see `get`."""
        value = self.get(field)
        return None if value is None else StoredField(value)

    def _recorded(self, field: str) -> str | None:
        """A field of the record's own, which is read when it is asked for, or a stored one."""
        record = None if self.record is None else parse_object(self.record)
        value = None if record is None or isinstance(record, Malformed) else record.get(field)
        if value is None:
            value = dict(self.document.stored).get(field)
        if value is None:
            return None
        return value if isinstance(value, str) else json_line(value)


def contents(document: Document) -> str:
    """Title, a line feed and the text; the text alone where there is no title."""
    return f"{document.title}\n{document.text}" if document.title else document.text


def raw(document: Document) -> str:
    """A JSON object with id, title and contents."""
    values = {"id": document.id, "title": document.title, "contents": contents(document)}
    return json_line(values)
