"""Checking an index through and through: every byte, and documents taken there and back."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from seal_ir.arrays import Symbols
from seal_ir.errors import IndexDirError, one_line
from seal_ir.formats.collections.passages import json_document
from seal_ir.formats.io.jsonlines import parse_object
from seal_ir.index.directory import REBUILD
from seal_ir.index.reader import Index
from seal_ir.index.segmenting import tokenised
from seal_ir.records import Document
from seal_ir.text.words import FieldEncoder

SAMPLE = 1000
_BATCH = 1000
_NGRAM = 8  # symbols; long enough to be rare
_FAULTS = (IndexError, ValueError, OverflowError, RuntimeError, MemoryError, pa.ArrowException)


def verify_index(
    directory: Path, say: Callable[[str], None], n_documents: int | None = SAMPLE, seed: int = 0
) -> None:
    """Check all checksums, then documents: id -> number -> document -> stream, n-gram -> place, record.

    Args:
        directory: the index.
        say: told in a line what has been checked.
        n_documents: documents to check, drawn at random; None for all.
        seed: of the draw.

    Raises:
        IndexDirError: the first difference, in one line.
    """
    index = Index(directory, check="bytes")
    manifest = index.manifest
    say(f"{len(manifest.files)} files, {manifest.n_bytes:,} bytes: every size and checksum agrees")
    total = index.n_documents
    chosen: list[int] | range = range(total)
    if n_documents is not None and n_documents < total:
        chosen = sorted(random.Random(seed).sample(range(total), n_documents))
    for at in range(0, len(chosen), _BATCH):
        numbers = list(chosen[at : at + _BATCH])
        try:
            _check_batch(index, numbers)
        except _FAULTS as error:
            raise IndexDirError(
                f"{directory}: documents {numbers[0]} to {numbers[-1]} cannot be read ({one_line(error)});"
                f" {REBUILD}"
            ) from error
    drawn = "all" if len(chosen) == total else f"{len(chosen):,} of {total:,}, seed {seed}"
    raws = ", and their raw records are theirs" if manifest.has_raw else ""
    say(f"{len(chosen):,} documents ({drawn}): ids, texts, tokens and places agree{raws}")


def _check_batch(index: Index, numbers: list[int]) -> None:
    streams, documents = index.streams(numbers), index.documents(numbers)
    if index.stores is not None:
        _check_stored(index, numbers, streams)
    encoder = FieldEncoder(index.tokenizer, by_words=False)
    tokenised_again = tokenised(documents, encoder, index.manifest.further_fields, lambda *_: None)
    again = [symbols for _, symbols, _ in tokenised_again]
    for i, (number, document, symbols) in enumerate(zip(numbers, documents, streams, strict=True)):
        docid = index.docid(number)
        if document.id != docid or index.number(docid) != number:
            raise _differs(index, number, "its id does not lead back to it")
        if again[i].tolist() != symbols.tolist():
            raise _differs(index, number, f"{docid!r}: its text does not give its tokens")
        if not _is_found(index, number, symbols):
            raise _differs(index, number, f"{docid!r}: its n-grams are not found where they stand")
    for number, document, raw in zip(numbers, documents, index.raws(numbers), strict=True):
        if raw is not None and _id_of(raw) != document.id:
            raise _differs(index, number, f"{document.id!r}: its raw record is another's")


def _check_stored(index: Index, numbers: list[int], streams: list[Symbols]) -> None:
    """Whether the stored streams are those of the FM-indexes."""
    offsets, symbols = index.extract_indexed(np.array(numbers, dtype=np.int64))
    for i, (number, stored) in enumerate(zip(numbers, streams, strict=True)):
        if symbols[offsets[i] : offsets[i + 1]].tolist() != stored.tolist():
            raise _differs(index, number, "its stored tokens are not those of its FM-index")


def _is_found(index: Index, number: int, symbols: Symbols) -> bool:
    """Whether searching for an n-gram of the document leads to it; each document has another one."""
    lo = number % max(1, len(symbols) - _NGRAM)
    ngram = symbols[lo : lo + _NGRAM]
    places = index.locate([index.find(ngram.tolist())])
    return (number, lo + len(ngram)) in zip(places.documents.tolist(), places.ends.tolist(), strict=True)


def _id_of(raw: str) -> str | None:
    record = json_document(parse_object(raw))
    return record.id if isinstance(record, Document) else None


def _differs(index: Index, number: int, what: str) -> IndexDirError:
    return IndexDirError(f"{index.directory}: document {number}: {what}; {REBUILD}")
