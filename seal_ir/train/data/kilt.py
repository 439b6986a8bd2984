"""Pairs of KILT: inputs with the paragraphs of the knowledge source that their provenance names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.files import first_line, iter_lines, shown
from seal_ir.formats.io.json_records import json_records
from seal_ir.formats.io.jsonlines import Malformed, identifier, parse_object
from seal_ir.formats.kilt import read_kilt, read_provenance
from seal_ir.train.data.pairs import SUPERVISED, Pair, PairCounts


class Paragraphs(NamedTuple):
    """Paragraphs [first, end) of a page that provenance names."""

    page: str
    first: int
    end: int


def has_outputs(path: Path) -> bool:
    """Whether the first line is a datapoint of KILT."""
    record = parse_object(first_line(path))
    return isinstance(record, dict) and "input" in record and "output" in record


def read_kilt_pairs(path: Path, knowledge: Path, counts: PairCounts) -> Iterator[Pair]:
    """A pair for each input and each place of its provenance that the knowledge source has.

    Args:
        path: KILT's JSON lines.
        knowledge: JSON lines `{"wikipedia_id", "wikipedia_title", "text": [paragraph, ...]}`.
        counts: gets the number of places that the knowledge source lacks.

    Raises:
        InputError: a file cannot be read or a record breaks its format.
    """
    questions = {qid: text for _, qid, text in read_kilt(path)}
    read_provenance(path)  # faults in it are told with their lines
    places = {qid: _places(record.get("output")) for _, qid, record in json_records(path)}
    pages = _pages(knowledge, {place.page for found in places.values() for place in found})
    for qid, found in places.items():
        for place in found:
            title, paragraphs = pages.get(place.page, ("", []))
            text = " ".join(paragraph.strip() for paragraph in paragraphs[place.first : place.end])
            if text:
                yield Pair(questions[qid], title, text, SUPERVISED)
            else:
                counts.not_in_collection += 1


def _places(outputs: object) -> list[Paragraphs]:
    """Distinct places; without paragraph numbers, the first paragraph after the title."""
    places: dict[Paragraphs, None] = {}
    for output in outputs if isinstance(outputs, list) else []:
        for entry in output.get("provenance") or []:
            page, first = entry.get("wikipedia_id"), entry.get("start_paragraph_id", 1)
            last = entry.get("end_paragraph_id", first)
            if page is not None and isinstance(first, int) and isinstance(last, int):
                places[Paragraphs(str(page).strip(), max(0, first), max(0, last) + 1)] = None
    return list(places)


def _pages(knowledge: Path, wanted: set[str]) -> dict[str, tuple[str, list[str]]]:
    """Titles and paragraphs of the pages; only those are kept in memory."""
    pages: dict[str, tuple[str, list[str]]] = {}
    for number, line in iter_lines(knowledge):
        if not line or line.isspace():
            continue
        record = parse_object(line)
        page = record if isinstance(record, Malformed) else identifier(record, ("wikipedia_id",))
        if isinstance(record, Malformed) or isinstance(page, Malformed) or page is None:
            reason = page.reason if isinstance(page, Malformed) else 'no "wikipedia_id"; every page needs one'
            raise InputError(f"{knowledge}:{number}: {reason}")
        if page not in wanted:
            continue
        title, text = record.get("wikipedia_title"), record.get("text")
        strings = isinstance(text, list) and all(isinstance(paragraph, str) for paragraph in text)
        if not isinstance(title, str) or not isinstance(text, list) or not strings:
            raise InputError(
                f'{knowledge}:{number}: page {shown(page)}: "wikipedia_title" must be a string and "text" a'
                " list of strings"
            )
        pages[page] = title, text
    return pages
