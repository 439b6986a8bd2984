"""Indexes that are served by name, each with the searcher and the presets that it is searched with."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from seal_ir.config import SearchConfig
from seal_ir.errors import ArgumentError, InputError, UsageError, shown
from seal_ir.formats.io.files import on_disk
from seal_ir.formats.io.resolve import Places
from seal_ir.index.indexer import Duplicates, SealIndexer
from seal_ir.index.making import asked_index
from seal_ir.index.manifest import read_manifest
from seal_ir.lm.protocols import Generator
from seal_ir.models.weights import ensure_weights
from seal_ir.search.searcher import SealSearcher
from seal_ir.server.failures import ConflictError, NotFoundError
from seal_ir.server.work import Work

_RESERVED = "indexes"  # a route of its own


class Ranking(Protocol):
    """Another system that ranks the documents of an index."""

    @property
    def work(self) -> Work:
        """What ranks them: the first stage of a batch."""
        ...


@dataclass(frozen=True, slots=True)
class ServedIndex:
    """An index that is served.

    Attributes:
        name: what requests call it.
        model: the language model by name.
        searcher: opens it, and has the model.
        configs: the settings of each preset that requests may name; they mean the first if they name none.
        bm25: BM25's ranking of its documents, where it is offered, too.
    """

    name: str
    model: str
    searcher: SealSearcher
    configs: Mapping[str, SearchConfig]
    bm25: Ranking | None = None
    _changing: threading.Lock = field(default_factory=threading.Lock, compare=False, repr=False)

    def pinned(self, preset: str) -> SealSearcher:
        """A searcher under a preset that keeps to the documents of now."""
        searcher = copy(self.searcher)
        searcher.config = self.configs[preset]
        return searcher

    def about(self) -> dict[str, Any]:
        """What it is, for a list of indexes."""
        index = self.searcher.index
        return {
            "name": self.name,
            "documents": index.n_documents,
            "segments": len(index.manifest.segments),
            "model": self.model,
            "presets": list(self.configs),
            "bm25": self.bm25 is not None,
        }

    def refresh(self) -> bool:
        """See the last commit; whether anything has changed. Searches go on meanwhile.

        Raises:
            IndexDirError: as `SealSearcher.refresh`; what was open stays open.
        """
        with self._changing:
            return self.searcher.refresh()

    def add(self, docs: Sequence[Mapping[str, Any]], duplicates: Duplicates) -> int:
        """Add documents, all or none, and see them; returns how many there are then.

        Raises:
            ConflictError: one has an id that is there, or that an earlier one has, and `duplicates` is
                "error"; or another process writes to the index.
            ArgumentError: one is no document.
            IndexDirError: the index is damaged, or cannot be written.
        """
        with self._changing, _writer(self.searcher) as writer:
            if duplicates == "error":
                self._refuse_known([str(doc.get("id")) for doc in docs])
            writer.add(docs, duplicates)
            return self._committed(writer)

    def delete(self, docid: str) -> int:
        """Delete a document, and see it gone; returns how many there are then.

        Raises:
            NotFoundError: there is none with this id.
            ConflictError: it is the only one, or another process writes to the index.
            IndexDirError: the index is damaged, or cannot be written.
        """
        with self._changing, _writer(self.searcher) as writer:
            self.searcher.refresh()
            if self.searcher.index.number(docid) is None:
                raise NotFoundError(f"{self.name}: there is no document with the id {shown(docid)}")
            writer.delete([docid])
            return self._committed(writer)

    def _refuse_known(self, ids: Sequence[str]) -> None:
        self.searcher.refresh()
        index, seen = self.searcher.index, set[str]()
        for docid in ids:
            if docid in seen or index.number(docid) is not None:
                raise ConflictError(
                    f"{self.name}: the id {shown(docid)} is there already; choose to keep the first or last"
                )
            seen.add(docid)

    def _committed(self, writer: SealIndexer) -> int:
        try:
            writer.commit()
        except InputError as error:  # no document would be left
            raise ConflictError(str(error)) from error
        self.searcher.refresh()
        return self.searcher.num_docs


def _writer(searcher: SealSearcher) -> SealIndexer:
    try:
        return SealIndexer(searcher.index_dir)
    except ArgumentError:
        raise
    except UsageError as error:
        raise ConflictError(str(error)) from error


def named(indexes: Sequence[str], places: Places, yes: bool = False) -> dict[str, Path]:
    """The directories of indexes, by what requests call them.

    Args:
        indexes: each a registered name, which it keeps, or a directory, named by its last part; or NAME=DIR.
        places: where registered ones are.
        yes: build or download a registered one that is missing without asking.

    Raises:
        UsageError: there is no such index, or two have the same name.
        SealError: a registered one cannot be made.
    """
    found: dict[str, Path] = {}
    for given in indexes:
        name, directory = _named(given, places, yes)
        if name in found and found[name] != directory:
            raise UsageError(f"--index {given}: {found[name]} is called {name!r} too; give NAME={directory}")
        found[name] = directory
    return found


def _named(given: str, places: Places, yes: bool) -> tuple[str, Path]:
    name, separator, place = given.partition("=")
    if separator and "/" not in name and not Path(given).exists():
        directory = asked_index(place, places, yes)
    else:
        directory = asked_index(given, places, yes)
        name = directory.resolve().name
    if not name or name.strip() != name or "/" in name or name == _RESERVED:
        raise UsageError(f"--index {given}: {name!r} is no name for a route; give another one as NAME=DIR")
    return name, directory


def opened(
    directories: Mapping[str, Path],
    configs: Mapping[str, SearchConfig],
    *,
    model: str | None = None,
    device: str | None = None,
    dtype: str | None = None,
    yes: bool = False,
) -> list[ServedIndex]:
    """Open indexes and load their models, each model once.

    Args:
        directories: by name.
        configs: the settings of each preset.
        model: as for a searcher; default: each index's own.
        device: as for a searcher.
        dtype: as for a searcher.
        yes: fetch the weights that a packaged model builds on without asking.

    Raises:
        SealError: an index or a model cannot be opened, or they do not fit.
    """
    config = next(iter(configs.values()))
    loaded: dict[str, Generator] = {}
    served = []
    for name, directory in directories.items():
        wanted = model or on_disk(read_manifest(directory).model)
        ensure_weights(wanted, yes)
        known = loaded.get(wanted, wanted)
        searcher = SealSearcher(directory, known, config=config, device=device, dtype=dtype)
        loaded[wanted] = searcher.generator
        served.append(ServedIndex(name, wanted, searcher, configs))
    return served


def tried(served: Sequence[ServedIndex]) -> None:
    """Answer a first query from each index under each preset, so that what does not fit fails before serving.

    Raises:
        SealError: a preset asks for what the index or the model does not have.
    """
    for index in served:
        for preset in index.configs:
            index.pinned(preset).search("a first question", 1)
