"""Indexes by name: which exist, what they are good for, and how to make one (collections/indexes.toml)."""

from __future__ import annotations

import os
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

from seal_ir.arguments import path
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.io.downloads import Download
from seal_ir.formats.io.resolve import Places
from seal_ir.index.directory import has_beside
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index


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
    """

    name: str
    description: str
    topics: tuple[str, ...]
    build: str
    directory: Path
    download: Download | None = None

    @property
    def present(self) -> bool:
        """Whether it has been built."""
        return (self.directory / MANIFEST).is_file()


def registered(places: Places) -> list[IndexEntry]:
    """All entries, best first for topics that several of them serve."""
    path = places.collections / "indexes.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["index"] if path.is_file() else []
    root = places.cache / "indexes"
    return [
        IndexEntry(
            name=table["name"],
            description=table["description"],
            topics=tuple(table["topics"]),
            build=table["build"].replace("{index}", shlex.quote(str(root / table["name"]))),
            directory=root / table["name"],
            download=Download(**table["download"]) if "download" in table else None,
        )
        for table in tables
    ]


def named_index(name: str, places: Places) -> IndexEntry:
    """The entry of a name, built or not.

    Raises:
        UsageError: no such name, or it has not been built; says how to build it.
    """
    entries = registered(places)
    for entry in entries:
        if entry.name == name:
            if not entry.present:
                raise UsageError(f"index {name!r} is not {_ways(entry)}")
            return entry
    known = ", ".join(entry.name for entry in entries) or "none"
    raise UsageError(f"{name}: neither an index directory nor a registered index; registered are: {known}")


def _ways(entry: IndexEntry) -> str:
    """What an index is not yet, and how it becomes so."""
    if entry.download is None:
        return f"built; build it with: {entry.build}"
    return f"here; download it ({entry.download.n_bytes / 1e6:,.1f} MB) with: {_fetching(entry)}"


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
    directory = Path(name)
    if os.sep in name or directory.exists() or has_beside(directory):
        return directory
    return named_index(name, places).directory


def index_for(topics: str, places: Places) -> IndexEntry:
    """The best index that is present for topics given by name.

    Raises:
        UsageError: no index serves these topics, or none of those that do has been built.
    """
    suitable = [entry for entry in registered(places) if topics in entry.topics]
    if not suitable:
        raise UsageError(f"no registered index serves topics {topics!r}; name one with --index")
    for entry in suitable:
        if entry.present:
            return entry
    ways = "; or ".join(entry.build if entry.download is None else _fetching(entry) for entry in suitable)
    raise UsageError(f"no index for topics {topics!r} is built; build one with: {ways}")
