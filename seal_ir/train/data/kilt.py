"""Pairs of KILT: inputs with the paragraphs of the knowledge source that their provenance names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from seal_ir.formats.collections.knowledge import read_pages
from seal_ir.formats.io.files import first_line
from seal_ir.formats.io.json_records import json_records
from seal_ir.formats.io.jsonlines import parse_object, sound
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


def _pages(knowledge: Path, wanted: set[str]) -> dict[str, tuple[str, Sequence[str]]]:
    """Titles and paragraphs of the pages; only those are kept in memory."""
    found = (sound(page, knowledge, number) for number, page in read_pages(knowledge, wanted))
    return {page.id: (page.title, page.paragraphs) for page in found}
