"""What a writer has been asked for since its last commit: documents deleted, and new ones, on disk."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.index.parts import Part
from seal_ir.index.segmenting import Collector, Cutter, Tokenised
from seal_ir.index.segments import SegmentWriter
from seal_ir.records import Document

Wanted = Callable[[str, bool], bool]  # an id, and whether it is there already


class Place(NamedTuple):
    """Where a document is: in which segment, new ones counted on after those there are, and its number."""

    segment: int
    number: int


class _Step(NamedTuple):
    """A change of one document, which can be taken back."""

    docid: str
    before: Place | None
    after: Place | None


class NewSegment(NamedTuple):
    """A new segment, closed and not yet built, and its documents that are deleted already."""

    writer: SegmentWriter
    dead: Ints  # numbers, ascending
    n_dead_tokens: int


class Changes:
    """Changes on top of a generation. Readers see nothing of them.

    Attributes:
        n_added, n_deleted: documents since the last commit; an updated one counts in both.
    """

    def __init__(self, parts: Sequence[Part], cutter: Cutter, folder: Path, first: int) -> None:
        """No changes yet.

        Args:
            parts: the segments of the generation.
            cutter: cuts new documents into segments.
            folder: where new segments are collected.
            first: the number of the first new segment.
        """
        self._parts = parts
        self._collector = Collector(cutter, folder, first)
        self._closed: list[SegmentWriter] = []
        self._lengths: list[array[int]] = []  # of each new segment's streams
        self._new: dict[str, Place] = {}  # the live new documents
        self._dead: dict[int, set[int]] = {}  # since the last commit, by segment
        self._steps: list[_Step] = []
        self.n_added = self.n_deleted = 0

    def __bool__(self) -> bool:
        return bool(self.n_added or self.n_deleted)

    def find(self, docids: Iterable[str]) -> dict[str, Place]:
        """Where the live documents are that have one of these ids.

        Raises:
            IndexDirError: a file is damaged.
        """
        wanted = list(dict.fromkeys(docids))
        found = {docid: self._new[docid] for docid in wanted if docid in self._new}
        for segment, part in enumerate(self._parts):
            left = [docid for docid in wanted if docid not in found]
            dead = self._dead.get(segment, ())
            for docid, number in part.table.occurring(left):
                at = int(np.searchsorted(part.deleted, number))
                is_deleted = at < len(part.deleted) and part.deleted[at] == number
                if not is_deleted and number not in dead:
                    found[docid] = Place(segment, number)
        return found

    def add(self, item: Tokenised) -> None:
        """Add a document, whose id no live one has.

        Raises:
            InputError, IndexDirError, OSError: as `Collector.add`.
        """
        begun = self._collector.open
        full = self._collector.add(item)
        self._closed += [full] if full is not None else []
        if self._collector.open is not begun:
            self._lengths.append(array("q"))
        lengths = self._lengths[-1]
        place = Place(len(self._parts) + len(self._lengths) - 1, len(lengths))
        lengths.append(len(item.symbols))
        self._do(_Step(item.document.id, None, place))

    def delete_all(self, places: Mapping[str, Place]) -> None:
        """Delete the documents that `find` found there."""
        for docid, place in places.items():
            self._do(_Step(docid, place, None))

    def begin(self) -> None:
        """What is done from here on can be taken back."""
        self._steps.clear()

    def undo(self) -> None:
        """Take back what has been done since `begin`."""
        for docid, before, after in reversed(self._steps):
            if after is not None:
                self._dead.setdefault(after.segment, set()).add(after.number)
                self._new.pop(docid)
                self.n_added -= 1
            if before is not None:
                self._dead[before.segment].remove(before.number)
                if before.segment >= len(self._parts):
                    self._new[docid] = before
                self.n_deleted -= 1
        self._steps.clear()

    def dead(self, segment: int) -> Ints:
        """Numbers, ascending, of the documents of a segment that are deleted since the last commit."""
        return np.array(sorted(self._dead.get(segment, ())), dtype=np.int64)

    def finish(self) -> list[NewSegment]:
        """Close the new segments; those with live documents.

        Raises:
            OSError: a file cannot be written.
        """
        last = self._collector.finish()
        self._closed += [last] if last is not None else []
        found = []
        for at, writer in enumerate(self._closed):
            dead, lengths = self.dead(len(self._parts) + at), self._lengths[at]
            if len(dead) < len(lengths):
                found.append(NewSegment(writer, dead, sum(lengths[number] for number in dead.tolist())))
        return found

    def abandon(self) -> None:
        """Close the files of what will not be finished."""
        self._collector.abandon()

    def _do(self, step: _Step) -> None:
        self._steps.append(step)
        if step.before is not None:
            self._dead.setdefault(step.before.segment, set()).add(step.before.number)
            self._new.pop(step.docid, None)
            self.n_deleted += 1
        if step.after is not None:
            self._new[step.docid] = step.after
            self.n_added += 1


def chosen_of(batch: Iterable[Document], there: Container[str], wanted: Wanted) -> list[Document]:
    """The documents of a batch that are wanted; of several with an id the last, in its place."""
    chosen: dict[str, Document] = {}
    for document in batch:
        if wanted(document.id, document.id in there or document.id in chosen):
            chosen.pop(document.id, None)
            chosen[document.id] = document
    return list(chosen.values())
