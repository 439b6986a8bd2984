"""The passages of whatever was searched, by id: which there are, and their bodies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Set
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.collections import collection as reading
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.resolve import Places
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.pyserini_plugin import is_lucene_index, lucene_texts

# From ids to bodies, without titles; ids that the source does not have are left out.
Texts = Callable[[Iterable[str]], dict[str, str]]
# From ids to those of them that the source has.
Known = Callable[[Collection[str]], Set[str]]
_BATCH = 2048


class Passages(NamedTuple):
    """A source of passages."""

    texts: Texts
    known: Known


def index_passages(directory: Path) -> Passages:
    """The passages of one of our indexes.

    Raises:
        IndexDirError: no index there, or a damaged one.
    """
    index = Index(directory)

    def bodies(docids: Iterable[str]) -> dict[str, str]:
        found = [number for docid in docids if (number := index.number(docid)) is not None]
        numbers = sorted(found)
        texts: dict[str, str] = {}
        for at in range(0, len(numbers), _BATCH):
            texts.update(
                (document.id, document.text) for document in index.documents(numbers[at : at + _BATCH])
            )
        return texts

    def known(docids: Collection[str]) -> Set[str]:
        wanted = set(docids)
        if len(index.numbers_of(list(wanted))) == len(wanted):  # all at once, as is usual
            return wanted
        return {docid for docid in wanted if index.number(docid) is not None}

    return Passages(bodies, known)


def index_texts(directory: Path) -> Texts:
    """Bodies out of one of our indexes; raises as `index_passages`."""
    return index_passages(directory).texts


def collection_texts(kind: str, path: Path) -> Texts:
    """Bodies out of a collection, read through once a call; only those asked for are kept in memory.

    Raises:
        UsageError: no such kind of collection.
        InputError: no such file; when called also an unreadable one, or an id that comes twice.
    """
    path = rereadable(path)
    note = reading.Collection(kind, path).note  # faults in the options are told before anything is read
    if note:
        sys.stderr.write(f"{note}\n")

    def bodies(docids: Iterable[str]) -> dict[str, str]:
        options = reading.ReadOptions(malformed="skip", include_ids=frozenset(docids))
        return {document.id: document.text for document in reading.Collection(kind, path, options)}

    return bodies


def searched_passages(name: str, places: Places) -> Passages:
    """The passages of the index that was searched, ours or Lucene's; by its directory or its name.

    Raises:
        IndexDirError: no index there, or a damaged one.
        UsageError: it is Lucene's, and Pyserini or Java is missing.
    """
    directory = searched_directory(name, places)
    if is_lucene_index(directory):
        texts = lucene_texts(directory)
        return Passages(texts, lambda docids: texts(docids).keys())
    return index_passages(directory)


def searched_texts(name: str, places: Places) -> Texts:
    """Bodies out of the index that was searched; raises as `searched_passages`."""
    return searched_passages(name, places).texts


def searched_directory(name: str, places: Places) -> Path:
    """The directory itself, or that of an index which was built under a registered name."""
    directory = Path(name)
    built = places.cache / "indexes" / name
    return built if not directory.exists() and (built / MANIFEST).is_file() else directory


def bodies_of(docids: Iterable[str], texts: Texts, also: Iterable[str] = ()) -> dict[str, str]:
    """The bodies of all the passages, and of those of `also` that the source has.

    Raises:
        InputError: the source lacks some: it is not what was searched, and figures from it would be wrong.
    """
    wanted = list(dict.fromkeys(docids))
    found = texts(list(dict.fromkeys([*wanted, *also])))
    missing = [docid for docid in wanted if docid not in found]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(wanted)} passages in the runs, such as {shown(missing[0])}, are not in"
            " the index or collection given; name the one that was searched"
        )
    return found
