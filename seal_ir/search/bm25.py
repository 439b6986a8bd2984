"""BM25 by real Lucene through Pyserini: documents given to it, topics searched, and the twin of an index."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from seal_ir.arguments import check_least
from seal_ir.command import Progress
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.io.outputs import put_in_place
from seal_ir.index.reader import Index
from seal_ir.index.replacing import clear_killed, working_folder
from seal_ir.processes import capped
from seal_ir.pyserini_plugin import build_lucene_index, is_lucene_index, lucene_searcher
from seal_ir.records import Document, Hit, Query
from seal_ir.search.documents import raw
from seal_ir.structured import json_file, load_json

ABOUT = "seal-ir.json"  # what the index was built from, kept in its directory; Lucene passes over it
_FILE_DOCUMENTS = 20_000  # documents a file: Lucene's threads read a file each
_BLOCK = 1_000  # documents taken out of an index at a time
_BATCH = 64  # topics searched at a time


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
        check_least(self, k1=0.0, b=0.0, hits=1, threads=1)
        if self.b > 1:
            raise UsageError(f"b is {self.b}; it must be at most 1")


def write_documents(documents: Iterable[Document], folder: Path) -> None:
    """Write documents into a folder as files of a JsonCollection; title and text are one field."""
    remaining = iter(documents)
    for number, first in enumerate(remaining):
        with (folder / f"{number:06d}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for document in chain([first], islice(remaining, _FILE_DOCUMENTS - 1)):
                file.write(f"{raw(document)}\n")


def search(lucene: Path, topics: Sequence[Query], config: Bm25Config) -> Iterator[tuple[Query, list[Hit]]]:
    """Each topic, in order, with its hits, best first; scores are Anserini's, rounded to four decimals.

    Java is started, and the index opened, before this returns; topics are searched as they are taken.

    Raises:
        IndexDirError: no Lucene index there, or one that cannot be read.
        UsageError: Pyserini or Java is missing.
    """
    searcher = lucene_searcher(lucene)
    searcher.set_bm25(config.k1, config.b)
    return _searched(searcher, topics, config)


def _searched(
    searcher: Any, topics: Sequence[Query], config: Bm25Config
) -> Iterator[tuple[Query, list[Hit]]]:
    k = min(config.hits, max(1, searcher.num_docs))  # Java's integers are smaller than ours
    for at in range(0, len(topics), _BATCH):
        batch = topics[at : at + _BATCH]
        texts, qids = [topic.text for topic in batch], [topic.id for topic in batch]
        found = searcher.batch_search(texts, qids, k=k, threads=capped(config.threads))
        for topic in batch:
            yield topic, [Hit(str(entry.docid), float(entry.score)) for entry in found[topic.id]]
    searcher.close()


def lucene_twin(index: Index, folder: Path, threads: int = 1) -> Path:
    """The Lucene index of an index's documents, in a folder of such; built where it is not there yet.

    It is named for the index and what that holds, so that another state of the index has another twin; that
    of an older state of the same directory is removed. It appears in one step, when it is complete.

    Raises:
        IndexDirError: Lucene failed, or holds another number of documents than the index.
        UsageError: Pyserini or Java is missing, another process is building it, or it cannot be written.
    """
    directory = index.directory.resolve()
    fingerprint = hashlib.sha256(index.manifest.to_json().encode()).hexdigest()
    twin = folder / f"{directory.name}-{fingerprint[:12]}"
    if is_lucene_index(twin):
        return twin
    sys.stderr.write(f"bm25: giving {index.n_documents:,} documents to Lucene, once, for {twin}\n")
    clear_killed(folder, f"{directory.name}-")
    try:
        with working_folder(twin.with_name(f"{twin.name}.new")) as working:
            if not is_lucene_index(twin):  # another process may have been quicker to the lock
                put_in_place(_build(index, working, threads), twin)
        _remove_older(twin, directory)
    except OSError as error:
        raise UsageError(
            f"{twin}: cannot be written ({error.strerror}); make room, set SEAL_IR_CACHE to another place, "
            "or fuse with a Lucene index of your own"
        ) from error
    return twin


def _build(index: Index, working: Path, threads: int) -> Path:
    source, built = working / "documents", working / "lucene"
    source.mkdir()
    write_documents(_documents(index), source)
    n_indexed = build_lucene_index(source, built, threads)
    if n_indexed != index.n_documents:
        raise IndexDirError(
            f"{index.directory}: Lucene took {n_indexed} of {index.n_documents} documents; "
            "look for records without words or ids that Lucene changes"
        )
    about = {"index": str(index.directory.resolve()), "n_documents": n_indexed}
    (built / ABOUT).write_text(json_file(about), encoding="utf-8")
    return built


def _documents(index: Index) -> Iterator[Document]:
    progress = Progress(index.n_documents, "documents")
    for at in range(0, index.n_documents, _BLOCK):
        block = index.documents(range(at, min(at + _BLOCK, index.n_documents)))
        yield from block
        progress.advance(len(block))
    progress.close()


def _remove_older(twin: Path, directory: Path) -> None:
    for other in twin.parent.iterdir():
        with suppress(OSError, ValueError, AttributeError):  # what is not ours stays
            about = load_json(other / ABOUT)
            if other.name != twin.name and about.get("index") == str(directory):
                shutil.rmtree(other, ignore_errors=True)
