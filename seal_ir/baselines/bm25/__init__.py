"""BM25 by real Lucene through Pyserini, over the documents that our own reader makes of a collection."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.collections import Collection
from seal_ir.formats.files import shown
from seal_ir.pyserini_plugin import build_lucene_index, is_lucene_index, lucene_searcher
from seal_ir.records import Document, Hit, Query
from seal_ir.search.documents import raw

ABOUT = "seal-ir.json"  # what the index was built from, kept in its directory; Lucene passes over it
_FILE_DOCUMENTS = 20_000  # documents a file: Lucene's threads read a file each
_BATCH = 64  # topics searched at a time


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


@dataclass(frozen=True, slots=True)
class Bm25Config:
    """How to search.

    Attributes:
        k1, b: BM25's parameters; Anserini's defaults.
        hits: documents per topic.
        threads: Lucene's.
    """

    k1: float = 0.9
    b: float = 0.4
    hits: int = 100
    threads: int = 1

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        for name, least in (("k1", 0.0), ("b", 0.0), ("hits", 1), ("threads", 1)):
            if not getattr(self, name) >= least:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if self.b > 1:
            raise UsageError(f"b is {self.b}; it must be at most 1")


def build(collection: Collection, source: Source, lucene: Path, threads: int = 1) -> int:
    """Index a collection with Lucene, for `search`; returns the number of documents.

    Ids, titles and what becomes of odd records are those of `python -m seal_ir.index` on the same collection.

    Raises:
        InputError: the collection cannot be read.
        IndexDirError: Lucene failed, or holds another number of documents than it was given.
        UsageError: `lucene` holds something else, or Pyserini or Java is missing.
    """
    lucene.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=lucene.parent, prefix=f".{lucene.name}.") as scratch:
        documents = iter(collection)
        for number, block in enumerate(iter(lambda: list(islice(documents, _FILE_DOCUMENTS)), [])):
            with (Path(scratch) / f"{number:06d}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
                _write(file, block)
        expected = collection.counts.indexed
        if not expected:
            raise UsageError(f"{source.input}: no documents to index ({collection.counts})")
        n_indexed = build_lucene_index(Path(scratch), lucene, threads)
    if n_indexed != expected:
        shutil.rmtree(lucene)
        raise IndexDirError(f"{lucene}: Lucene took {n_indexed} of {expected} documents; it was removed")
    about = {**asdict(source), "counts": str(collection.counts)}
    (lucene / ABOUT).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return n_indexed


def check_source(lucene: Path, source: Source) -> None:
    """Refuse an index that was built from something else; one that we did not build passes.

    Raises:
        UsageError: it was built from another collection, or with other options.
    """
    if not (lucene / ABOUT).is_file():
        return
    built = json.loads((lucene / ABOUT).read_text(encoding="utf-8"))
    for name, wanted in asdict(source).items():
        if built.get(name) != wanted:
            raise UsageError(
                f"{lucene}: built with {name} {shown(built.get(name))}, not {shown(wanted)}; "
                "name another --lucene, or leave out --input"
            )


def search(lucene: Path, topics: Sequence[Query], config: Bm25Config) -> Iterator[tuple[Query, list[Hit]]]:
    """Each topic, in order, with its hits, best first; scores are Anserini's, rounded to four decimals.

    Raises:
        IndexDirError: no Lucene index there, or one that cannot be read.
        UsageError: Pyserini or Java is missing.
    """
    searcher = lucene_searcher(lucene)
    searcher.set_bm25(config.k1, config.b)
    for at in range(0, len(topics), _BATCH):
        batch = topics[at : at + _BATCH]
        texts, qids = [topic.text for topic in batch], [topic.id for topic in batch]
        found = searcher.batch_search(texts, qids, k=config.hits, threads=config.threads)
        for topic in batch:
            yield topic, [Hit(str(entry.docid), float(entry.score)) for entry in found[topic.id]]
    searcher.close()


def _write(file: TextIO, documents: Sequence[Document]) -> None:
    for document in documents:
        file.write(raw(document))
        file.write("\n")


__all__ = ["ABOUT", "Bm25Config", "Source", "build", "check_source", "is_lucene_index", "search"]
