"""An index directory from outside: a build's own entries and debris, and what to say where it is no index."""

from __future__ import annotations

import os
import re
from pathlib import Path

from seal_ir.errors import IndexDirError, one_line

WORKING, LOCK = ".building", ".lock"  # inside the index directory, while a build runs
BUILD = "python -m seal_ir.index"
REBUILD = f"rebuild it with {BUILD}"
# Names that only a build gives. Those of formats before 4 mean something to others, too.
_OWN = re.compile(r"segment-\d{6}-[0-9a-f]{12}|tokenizer\.[0-9a-f]{8}\.json|deleted\.[0-9a-f]{12}\.npy")
_EARLIER = re.compile(r"segment-\d{6}|tokenizer\.json")


def is_own(name: str) -> bool:
    """Whether an entry of a directory can only come from a build, be it of an index that is whole or not."""
    return name in (WORKING, LOCK) or _OWN.fullmatch(name) is not None


def is_earlier(name: str) -> bool:
    """Whether an entry of a directory is named as an index of a format before 4 names its parts."""
    return _EARLIER.fullmatch(name) is not None


def replaced_beside(directory: Path) -> Path:
    """Where builds before format 4 put the old index aside, for the moment between two renames."""
    return directory.with_name(f".{directory.name}.old")


def grown_beside(directory: Path) -> Path:
    """Where builds before format 4 grew."""
    return directory.with_name(f".{directory.name}.building")


def has_beside(directory: Path) -> bool:
    """Whether a build before format 4 has left something of an index beside its directory."""
    return directory.name != "" and (replaced_beside(directory).is_dir() or grown_beside(directory).is_dir())


def why_absent(directory: Path) -> str:
    """Why there is no index in a directory that has no manifest, as far as can be seen, and what to do."""
    if directory.is_dir():
        if os.access(directory, os.R_OK) and any(is_own(path.name) for path in directory.iterdir()):
            return (
                f"{directory}: incomplete, its first build is still running or was interrupted; wait for it,"
                f" or run the same {BUILD} command again"
            )
        return f"{directory}: not an index, it has no index.json; {REBUILD}"
    if directory.name and (old := replaced_beside(directory)).is_dir():
        return (
            f"{directory}: a build was killed while it replaced this index, which is whole in {old}; rename"
            f" that to {directory}, or build again with {BUILD}"
        )
    if has_beside(directory):
        return f"{directory}: incomplete, its first build was interrupted; run the same {BUILD} command again"
    return f"{directory}: no such index directory; build one with {BUILD}"


def unwritable(path: Path, error: OSError) -> IndexDirError:
    """The error for an index that the system does not let be written: its words, whoever wrote."""
    told = os.strerror(error.errno) if error.errno else one_line(error)
    return IndexDirError(f"{path}: cannot write the index: {told}")


def damaged(path: Path, what: object) -> IndexDirError:
    """The error for a file whose content makes no sense."""
    return IndexDirError(f"{path}: damaged ({one_line(what)}); {REBUILD}")
