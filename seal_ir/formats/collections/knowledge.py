"""KILT's knowledge source: pages of Wikipedia as lists of paragraphs, one JSON object a line."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from seal_ir.formats.collections.passages import ID_KEYS, Record, json_document
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.formats.io.files import filled_lines, is_text, shown
from seal_ir.formats.io.jsonlines import Malformed, identifier, parse_object
from seal_ir.records import Document
from seal_ir.structured import json_line

PAGE_KEYS = ("wikipedia_id", "_id")
_HEADING = "Section::::"  # WikiExtractor's marks, which are no text of the page
_BULLET = re.compile(r"\s*(?:BULLET::::(?:-|[0-9]+\.)?\s*)?")
_LEFT_OUT = ("contents", "text", "anchors")  # of a page's record; anchors are places in its paragraphs


class Page(NamedTuple):
    """A page of the knowledge source.

    Attributes:
        id: its id in Wikipedia.
        title: its title.
        paragraphs: as they stand in the source; KILT's provenance counts them from 0.
    """

    id: str
    title: str
    paragraphs: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is indexed of it: the paragraphs, one blank between them.

        The title in the first paragraph, headings, and the marks of list items are left out.
        """
        return " ".join(text for text in self._texts() if text)

    def place(self, paragraph: int, character: int) -> int:
        """Where a character of a paragraph stands in `text`; in what is not there, where the next one does.

        Both count from 0; beyond the page, its end.
        """
        texts = list(self._texts())
        starts = list(accumulate((len(text) + 1 if text else 0 for text in texts), initial=0))
        end = max(0, starts[-1] - 1)
        if paragraph >= len(texts):
            return end
        skipped = len(self.paragraphs[paragraph]) - len(_BULLET.sub("", self.paragraphs[paragraph], count=1))
        within = min(max(0, character - skipped), len(texts[paragraph]))
        return min(starts[max(0, paragraph)] + within, end)

    def _texts(self) -> Iterator[str]:
        for number, paragraph in enumerate(self.paragraphs):
            text = _BULLET.sub("", paragraph, count=1).rstrip()
            is_title = number == 0 and text == self.title.strip()
            yield "" if is_title or text.startswith(_HEADING) else text


def read_pages(path: Path, wanted: Container[str] | None = None) -> Iterator[tuple[int, Page | Malformed]]:
    """Line numbers and pages; only those whose ids are wanted, where that is said.

    Raises:
        InputError: the file cannot be read.
    """
    for number, _, page in _records(path, wanted):
        yield number, page


def read_knowledge_source(
    path: Path, *, keep_raw: bool = False, fields: Sequence[str] = (), stored: StoredFields = ()
) -> Iterator[tuple[int, Record]]:
    """Line numbers and records of a knowledge source, a page a document under its id in Wikipedia.

    With `keep_raw` documents have their records as JSON written anew: with `id`, `title` and `text` as they
    are indexed, without `anchors`. `fields` and `stored` as for JSON collections.
    """
    for number, record, page in _records(path, None):
        if isinstance(page, Malformed):
            yield number, page
            continue
        others = {name: value for name, value in record.items() if name not in (*ID_KEYS, *_LEFT_OUT)}
        own = {"id": page.id, "title": page.title, "text": page.text, **others}
        document = json_document(own, fields, stored)
        if keep_raw and isinstance(document, Document):
            document = document._replace(raw=json_line(own))
        yield number, document


def _records(
    path: Path, wanted: Container[str] | None
) -> Iterator[tuple[int, dict[str, object], Page | Malformed]]:
    for number, line in filled_lines(path):
        record = parse_object(line)
        if isinstance(record, Malformed):
            yield number, {}, record
            continue
        docid = identifier(record, PAGE_KEYS)
        if docid is None:
            yield number, record, Malformed('no "wikipedia_id"; every page needs one')
        elif isinstance(docid, Malformed):
            yield number, record, docid
        elif wanted is None or docid in wanted:
            yield number, record, _page(docid, record)


def _page(docid: str, record: dict[str, object]) -> Page | Malformed:
    title, text = record.get("wikipedia_title"), record.get("text")
    strings = isinstance(text, list) and all(isinstance(paragraph, str) for paragraph in text)
    if not isinstance(title, str) or not isinstance(text, list) or not strings:
        return Malformed(
            f'page {shown(docid)}: "wikipedia_title" must be a string and "text" a list of strings'
        )
    if not is_text(title) or not all(map(is_text, text)):
        return Malformed(f"page {shown(docid)}: the text has half a surrogate pair; mend the \\u escape")
    return Page(docid, title, tuple(text))
