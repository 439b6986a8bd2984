"""Indexes by name: which exist, what they are good for, and how to make one (collections/indexes.toml)."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seal_ir.arguments import path
from seal_ir.errors import IndexDirError, InputError, UsageError, shown
from seal_ir.formats.io.downloads import Download
from seal_ir.formats.io.published import Published
from seal_ir.formats.io.registries import download_of, registry_sections
from seal_ir.formats.io.resolve import Places
from seal_ir.index.directory import has_beside
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index

_COLLECTIONS = "{collections}"


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """An index that the registry knows.

    Attributes:
        name: short name; the index lies in `indexes/NAME` below the cache.
        description: one line.
        topics: names of the topics whose answers it holds.
        build: the command that builds it.
        directory: where it lies, if it was built.
        download: an archive of it, where it is published.
        n_bytes: about how large it is; 0 where nobody has said.
        bundled: made of what comes with this package, in seconds; so nobody is asked before.
    """

    name: str
    description: str
    topics: tuple[str, ...]
    build: str
    directory: Path
    download: Download | None = None
    n_bytes: int = 0
    bundled: bool = False

    @property
    def present(self) -> bool:
        """Whether it has been built."""
        return (self.directory / MANIFEST).is_file()

    @property
    def published(self) -> Published | None:
        """What is downloaded, where it is published."""
        if self.download is None:
            return None
        return Published("index", self.name, self.download, self.directory, _fetching(self))


def registered(places: Places) -> list[IndexEntry]:
    """All entries, best first for topics that several of them serve.

    Raises:
        InputError: one means nothing.
    """
    path = places.collections / "indexes.toml"
    return [
        _entry(table, path, places) for table in registry_sections(path, "index", ("description", "build"))
    ]


def _entry(table: Mapping[str, Any], path: Path, places: Places) -> IndexEntry:
    topics = table.get("topics")
    if not isinstance(topics, list) or not all(isinstance(name, str) for name in topics):
        raise InputError(
            f"{path}: topics of {shown(table['name'])} are {shown(topics)}; they must be a list of names"
        )
    directory, build = places.cache / "indexes" / table["name"], table["build"]
    for word, folder in {"{index}": directory, _COLLECTIONS: places.collections}.items():
        build = build.replace(word, shlex.quote(str(folder)))
    return IndexEntry(
        name=table["name"],
        description=table["description"],
        topics=tuple(topics),
        build=build,
        directory=directory,
        download=download_of(table, path),
        n_bytes=table.get("n_bytes", 0),
        bundled=_COLLECTIONS in table["build"],
    )


def named_index(name: str, places: Places) -> IndexEntry:
    """The entry of a name, built or not.

    Raises:
        UsageError: no such name, or it has not been built; says how to build it.
    """
    entries = registered(places)
    for entry in entries:
        if entry.name == name:
            if not entry.present:
                raise UsageError(_ways(entry))
            return entry
    known = ", ".join(entry.name for entry in entries) or "none"
    raise UsageError(f"{name}: neither an index directory nor a registered index; registered are: {known}")


def _ways(entry: IndexEntry) -> str:
    """What an index is not yet, and how it becomes so."""
    if entry.published is None:
        return f"index {entry.name!r} is not built; build it with: {entry.build}"
    return entry.published.absent


def how_to_make(entry: IndexEntry) -> str:
    """The command that downloads an index, where it is published, or builds it."""
    return entry.build if entry.download is None else _fetching(entry)


def _fetching(entry: IndexEntry) -> str:
    return f"python -m seal_ir.index.download {shlex.quote(entry.name)}"


def opened(directory: str | Path) -> Index:
    """The index of a directory, its bytes checked: a second for 1 GiB, beside many for a model.

    Raises:
        IndexDirError: there is no sound index; says so where the name is that of a registered one.
        ArgumentError: it is no path.
    """
    folder = path(directory, "index directory")
    if not folder.exists():
        names = [entry.name for entry in registered(Places.from_environment())]
        if str(directory) in names:
            raise IndexDirError(
                f"{directory}: no such directory, but the name of a registered index; open it with "
                f"SealSearcher.from_prebuilt_index({str(directory)!r}), whose index_dir is its directory"
            )
    return Index(folder, check="bytes")


def find_index(name: str, places: Places) -> Path:
    """The directory itself, or that of an index which was built under a registered name.

    Raises:
        UsageError: as `named_index`, for what does not look like a path.
    """
    return Path(name) if is_directory(name) else named_index(name, places).directory


def is_directory(name: str) -> bool:
    """Whether a name means a directory, be it there or not, rather than a registered index."""
    return os.sep in name or Path(name).exists() or has_beside(Path(name))


def index_for(topics: str, places: Places) -> IndexEntry:
    """The best index that is present for topics given by name.

    Raises:
        UsageError: no index serves these topics, or none of those that do has been built.
    """
    suitable = serving(topics, places)
    for entry in suitable:
        if entry.present:
            return entry
    raise UsageError(absent(topics, suitable))


def absent(topics: str, suitable: Sequence[IndexEntry]) -> str:
    """What to tell where none of the indexes that serve topics is there."""
    ways = "; or ".join(map(how_to_make, suitable))
    return f"no index for topics {topics!r} is built; build one with: {ways}"


def serving(topics: str, places: Places) -> list[IndexEntry]:
    """The indexes that serve topics given by name, best first, there or not.

    Raises:
        UsageError: there is none.
    """
    suitable = [entry for entry in registered(places) if topics in entry.topics]
    if not suitable:
        raise UsageError(f"no registered index serves topics {topics!r}; name one with --index")
    return suitable
