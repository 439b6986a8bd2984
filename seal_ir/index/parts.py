"""Committed segments as a writer sees them: all documents, and which of them are deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seal_ir.arrays import Ints
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.index.deletions import live_numbers, read_deleted
from seal_ir.index.documents import DocumentTable
from seal_ir.index.engine import Engine
from seal_ir.index.engines import open_engine
from seal_ir.index.manifest import Manifest, SegmentInfo
from seal_ir.index.segmenting import Tokenised
from seal_ir.index.segments import ENGINE_FILE
from seal_ir.records import Document

_BATCH = 1000  # documents read at a time


@dataclass(frozen=True, slots=True)
class Part:
    """A segment of a generation.

    Attributes:
        info: what the manifest says of it.
        folder: where it lies.
        table: its documents, the deleted ones among them.
        deleted: their numbers, int64 [n] ascending.
    """

    info: SegmentInfo
    folder: Path
    table: DocumentTable
    deleted: Ints

    @classmethod
    def opened(cls, directory: Path, info: SegmentInfo, *, with_raw: bool, stored: StoredFields = ()) -> Part:
        """A segment of the index in `directory`.

        Raises:
            IndexDirError: it is damaged.
        """
        folder = directory / info.name
        table = DocumentTable(folder, info.n_documents, with_raw=with_raw, stored=stored)
        return cls(info, folder, table, read_deleted(directory, info))

    def engine(self) -> Engine:
        """The FM-index of all its documents, opened anew.

        Raises:
            IndexDirError: it is damaged.
        """
        return open_engine(self.info.engine, self.folder / ENGINE_FILE)

    def n_tokens(self, numbers: Ints) -> int:
        """Tokens of some of its documents, int64 [n]; takes a step for each token.

        Raises:
            IndexDirError: it is damaged.
        """
        engine = self.engine()
        return sum(
            int(engine.extract(numbers[at : at + _BATCH])[0][-1]) for at in range(0, len(numbers), _BATCH)
        )

    def live(self) -> Iterator[Tokenised]:
        """Its live documents with their streams, in order, a batch in memory at a time.

        Title and text are empty where the tokenizer gives them back, and further fields in the stream alone.

        Raises:
            IndexDirError: it is damaged.
        """
        engine, numbers = self.engine(), live_numbers(self.info, self.deleted)
        for at in range(0, len(numbers), _BATCH):
            batch = numbers[at : at + _BATCH]
            offsets, symbols = engine.extract(batch)
            chosen = batch.tolist()
            raws, stored = self.table.raws(chosen), self.table.stored_values(batch)
            bounds = zip(offsets[:-1], offsets[1:], strict=True)
            for number, raw, values, (lo, hi) in zip(chosen, raws, stored, bounds, strict=True):
                exact = self.table.stored_text(number)
                title, text = exact or ("", "")
                document = Document(self.table.id(number), title, text, raw, stored=values)
                yield Tokenised(document, symbols[lo:hi], exact is None)


def opened_parts(directory: Path, manifest: Manifest, known: Sequence[Part] = ()) -> list[Part]:
    """The segments of a manifest, those taken over from `known` that are there unchanged.

    Raises:
        IndexDirError: one is damaged.
    """
    same = {part.info: part for part in known}
    opened = partial(Part.opened, directory, with_raw=manifest.has_raw, stored=manifest.stored_fields)
    return [same.get(info) or opened(info) for info in manifest.segments]
