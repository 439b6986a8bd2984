"""KILT's gold files with passages for pages: the evidence of each topic in an index of 100-word passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seal_ir.formats.collections.knowledge import Page, read_pages
from seal_ir.formats.collections.splitting import Split, passage_id
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import json_records
from seal_ir.formats.io.jsonlines import sound
from seal_ir.formats.kilt import read_provenance
from seal_ir.structured import json_line


@dataclass(frozen=True, slots=True)
class PlaceCounts:
    """What became of the places that provenance names; their sum is all of them.

    Attributes:
        found: have a passage.
        not_in_source: the knowledge source has no such page.
        whole_pages: name a page without a paragraph, as in entity linking.
    """

    found: int = 0
    not_in_source: int = 0
    whole_pages: int = 0

    def __str__(self) -> str:
        total = self.found + self.not_in_source + self.whole_pages
        return (
            f"{total:,} places of evidence = in passages {self.found:,} + pages not in the knowledge source"
            f" {self.not_in_source:,} + pages without a paragraph {self.whole_pages:,}"
        )


@dataclass(slots=True)
class _Passages:
    """The pages that gold files name, cut as an index cuts them."""

    pages: dict[str, Page]
    split: Split
    bounds: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    counts: PlaceCounts = PlaceCounts()

    def of(self, page_id: str, entry: dict[str, Any]) -> str:
        """The id of the passage that holds most of a place; the page's own id where there is none."""
        page, first = self.pages.get(page_id), entry.get("start_paragraph_id")
        if not isinstance(first, int):
            self.counts = _more(self.counts, whole_pages=1)
            return page_id
        if page is None:
            self.counts = _more(self.counts, not_in_source=1)
            return page_id
        self.counts = _more(self.counts, found=1)
        if page_id not in self.bounds:
            self.bounds[page_id] = list(self.split.bounds(page.text))
        last = _number(entry, "end_paragraph_id", first)
        length = len(page.paragraphs[last]) if 0 <= last < len(page.paragraphs) else 0
        start = page.place(first, _number(entry, "start_character", 0))
        end = page.place(last, _number(entry, "end_character", length))
        return passage_id(page_id, holding(start, end, self.bounds[page_id]))


def write_passages(gold: Path, knowledge: Path, split: Split, output: Path) -> PlaceCounts:
    """Writes a gold file anew, the passage of each place in the place of its page; all else stays.

    The passage is the one that holds most characters of the place, of several the first. A place without a
    passage keeps its page's id, which no passage has: its set of evidence stays as hard to find as it was.

    Args:
        gold: KILT's datapoints.
        knowledge: the knowledge source, see `read_pages`.
        split: how the index is split.
        output: what to write.

    Raises:
        InputError: a file cannot be read or breaks its format.
        UsageError: the output cannot be written.
    """
    gold = rereadable(gold)
    sets = read_provenance(gold)  # faults are told with their lines, before the knowledge source is read
    wanted = {page for outputs in sets.values() for pages in outputs for page in pages}
    found = (sound(page, knowledge, number) for number, page in read_pages(knowledge, wanted))
    passages = _Passages({page.id: page for page in found}, split)
    with atomic_writer(output) as file:
        for _, _, record in json_records(gold):
            file.write(f"{json_line(_with_passages(record, passages))}\n")
    return passages.counts


def holding(start: int, end: int, bounds: Sequence[tuple[int, int]]) -> int:
    """The number of the passage that holds most of [start, end), of several the first.

    An empty place is the character that would stand there; behind the last one, the last passage has it.
    """
    end = max(end, start + 1)
    held = [min(end, stop) - max(start, begin) for begin, stop in bounds]
    most = max(held)
    return held.index(most) if most > 0 else len(bounds) - 1


def _with_passages(record: dict[str, Any], passages: _Passages) -> dict[str, Any]:
    outputs = record.get("output")
    if not outputs:
        return record
    return {
        **record,
        "output": [
            {**output, "provenance": [_place(entry, passages) for entry in output["provenance"]]}
            if output.get("provenance")
            else output
            for output in outputs
        ],
    }


def _place(entry: dict[str, Any], passages: _Passages) -> dict[str, Any]:
    page = entry.get("wikipedia_id")
    return entry if page is None else {**entry, "wikipedia_id": passages.of(str(page).strip(), entry)}


def _number(entry: dict[str, Any], name: str, default: int) -> int:
    value = entry.get(name)
    return value if isinstance(value, int) else default


def _more(counts: PlaceCounts, found: int = 0, not_in_source: int = 0, whole_pages: int = 0) -> PlaceCounts:
    return PlaceCounts(
        counts.found + found, counts.not_in_source + not_in_source, counts.whole_pages + whole_pages
    )
