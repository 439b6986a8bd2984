"""Long documents -> passages of so many words, `doc#0`, `doc#1`, ..., that know where they stood."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from seal_ir.errors import InputError, UsageError, shown
from seal_ir.formats.collections.passages import ID_KEYS, TEXT_KEYS
from seal_ir.formats.collections.stored import StoredField, StoredFields
from seal_ir.formats.io.jsonlines import Malformed, parse_object
from seal_ir.records import Document
from seal_ir.structured import json_line

DELIMITER = "#"  # what ends a document's id in those of its passages
POSITIONS: StoredFields = (StoredField("passage_start", "int"), StoredField("passage_end", "int"))
_FORM = re.compile(r"words:([0-9]{1,9})(?::([0-9]{1,9}))?", re.ASCII)
# Chinese and Japanese have no white space between words: each of their characters is one, with its marks.
_KANA, _HAN = r"\u3041-\u30ff\u31f0-\u31ff\uff66-\uff9f", r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_UNSPACED = rf"{_KANA}{_HAN}\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}][^\w\s]*|[^\s{_UNSPACED}]+")


@dataclass(frozen=True, slots=True)
class Split:
    """How documents are cut into passages.

    A word is what stands between white space, or one character of Chinese or Japanese.

    Attributes:
        n_words: words of a passage; the last one may have fewer.
        n_overlap: how many of them the next passage begins with again; less than `n_words`.
    """

    n_words: int
    n_overlap: int = 0

    @classmethod
    def parse(cls, text: str) -> Split:
        """The split of "words:N" or "words:N:OVERLAP".

        Raises:
            UsageError: the text has another form, N is 0, or the overlap is not less.
        """
        form = _FORM.fullmatch(text)
        if form is None or not int(form[1]):
            raise UsageError(
                f"split {shown(text)}: write words:N or words:N:OVERLAP, N from 1 on, such as words:100 or"
                " words:100:50"
            )
        split = cls(int(form[1]), int(form[2] or 0))
        if split.n_overlap >= split.n_words:
            raise UsageError(
                f"split {shown(text)}: the overlap of {split.n_overlap} words must be less than the"
                f" {split.n_words} of a passage"
            )
        return split

    def __str__(self) -> str:
        return f"words:{self.n_words}" + (f":{self.n_overlap}" if self.n_overlap else "")

    def bounds(self, text: str) -> Iterator[tuple[int, int]]:
        """Where the passages of a text stand in it, half-open, in characters.

        Passage i begins with word i (N - OVERLAP) and ends where word i (N - OVERLAP) + N begins; the first
        begins and the last ends with the text. So passages without overlap are the text, one after another. A
        text of fewer words, or none, is one passage. No passage lies within the one before it.
        """
        step = self.n_words - self.n_overlap
        begun = deque([0])  # where the passages begin that have not ended
        for number, word in enumerate(_WORD.finditer(text)):
            if number >= self.n_words and (number - self.n_words) % step == 0:
                yield begun.popleft(), word.start()
            if number and number % step == 0:
                begun.append(word.start())
        yield begun[0], len(text)


def passage_id(docid: str, number: int) -> str:
    """The id of a document's passage, counted from 0."""
    return f"{docid}{DELIMITER}{number}"


def id_fault(docid: str) -> str | None:
    """Why a document with this id cannot be split; None where it can."""
    if DELIMITER not in docid:
        return None
    return (
        f"{shown(docid)} holds {DELIMITER!r}, which ends a document's id in those of its passages"
        f" ({passage_id('doc', 0)}); give another id, or leave out --split"
    )


def splittable(record: Document | Malformed) -> Document | Malformed:
    """The record, malformed where its id cannot be split."""
    fault = None if isinstance(record, Malformed) else id_fault(record.id)
    return record if fault is None else Malformed(f"the id {fault}")


def passages(document: Document, split: Split) -> Iterator[Document]:
    """A document's passages, one at a time, in order; at least one.

    Title, further fields and stored fields are the document's; its text's part from `passage_start` to
    `passage_end`, half-open and in characters, is the passage's text. A record that was kept is a JSON object
    with the passage's id and text in the place of the document's.

    Raises:
        InputError: the document's id holds a `#`.
    """
    if (fault := id_fault(document.id)) is not None:
        raise InputError(f"the id {fault}")
    record = None if document.raw is None else parse_object(document.raw)
    for number, bounds in enumerate(split.bounds(document.text)):
        docid, text = passage_id(document.id, number), document.text[slice(*bounds)]
        raw = document.raw
        if record is not None and not isinstance(record, Malformed):
            raw = json_line({**record, **_replaced(record, document, docid, text)})
        places = zip((field.name for field in POSITIONS), bounds, strict=True)
        yield document._replace(id=docid, text=text, raw=raw, stored=(*document.stored, *places))


def with_positions(stored: StoredFields) -> StoredFields:
    """The stored fields of passages.

    Raises:
        UsageError: one has the name of a position.
    """
    names = [field.name for field in POSITIONS]
    if taken := [field.name for field in stored if field.name in names]:
        raise UsageError(
            f"stored field {shown(taken[0])}: --split keeps the places of passages under it; give another"
        )
    return (*stored, *POSITIONS)


def _replaced(record: Mapping[str, object], document: Document, docid: str, text: str) -> dict[str, object]:
    """What a passage's record has in the place of its document's id and text."""
    found: dict[str, object] = {}
    if (name := next((name for name in ID_KEYS if str(record.get(name)) == document.id), None)) is not None:
        found[name] = docid
    name = next((name for name in TEXT_KEYS if name in record), None)
    whole = None if name is None else record[name]
    if name is not None and isinstance(whole, str) and whole.endswith(document.text):
        title_line = whole[: len(whole) - len(document.text)]
        found[name] = title_line + text
    return found
