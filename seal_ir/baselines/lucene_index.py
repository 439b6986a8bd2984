"""Lucene's index of the documents that our own reader makes of a collection."""

from __future__ import annotations

import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from seal_ir.baselines.built_from import check_built_from
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.io.outputs import scratch_folder
from seal_ir.pyserini_plugin import build_lucene_index
from seal_ir.search.bm25 import ABOUT, write_documents
from seal_ir.structured import json_file


@dataclass(frozen=True, slots=True)
class Source:
    """What a Lucene index was made from.

    Attributes:
        collection: kind of the collection.
        input: its file or folder, as an absolute path.
        include_ids: the file of the only ids taken, as an absolute path, or None.
        duplicates, malformed: see `ReadOptions`.
    """

    collection: str
    input: str
    include_ids: str | None = None
    duplicates: str = "error"
    malformed: str = "error"


def build(collection: Collection, source: Source, lucene: Path, threads: int = 1) -> int:
    """Index a collection with Lucene, for `seal_ir.search.bm25`; returns the number of documents.

    Ids, titles and what becomes of odd records are those of `python -m seal_ir.index` on the same collection.

    Raises:
        InputError: the collection cannot be read.
        IndexDirError: Lucene failed, or holds another number of documents than it was given.
        UsageError: `lucene` holds something else, or Pyserini or Java is missing.
    """
    with scratch_folder(lucene) as scratch:
        write_documents(collection, scratch)
        expected = collection.counts.indexed
        if not expected:
            raise UsageError(f"{source.input}: no documents to index ({collection.counts})")
        n_indexed = build_lucene_index(scratch, lucene, threads)
    if n_indexed != expected:
        shutil.rmtree(lucene)
        raise IndexDirError(f"{lucene}: Lucene took {n_indexed} of {expected} documents; it was removed")
    about = {**asdict(source), "counts": str(collection.counts)}
    (lucene / ABOUT).write_text(json_file(about), encoding="utf-8")
    return n_indexed


def check_source(lucene: Path, source: Source) -> None:
    """Refuse an index that was built from something else; see `check_built_from`."""
    check_built_from(lucene, asdict(source), "name another --lucene, or leave out --input")
