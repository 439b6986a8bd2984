"""Where a build grows and how it takes the old index's place; what a killed one leaves, and its clearing.

The new index grows beside the old one, in `.NAME.building`, and takes its place by renaming when it is
complete: a build that dies leaves the old index as it was, and its debris is cleared by the next.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO

from seal_ir.errors import UsageError
from seal_ir.formats.outputs import make_parents
from seal_ir.index.manifest import MANIFEST

try:
    import fcntl
except ImportError:  # Windows: two builds of one index at a time are the user's to avoid
    fcntl = None  # type: ignore[assignment]


@contextmanager
def working_folder(directory: Path) -> Iterator[Path]:
    """A new folder beside the index directory; it is gone afterwards, unless `replace` has moved it.

    Raises:
        UsageError: `directory` holds something that is not an index, or another build of it is running.
        OSError: it cannot be written.
    """
    working = directory.with_name(f".{directory.name}.building")
    lock = directory.with_name(f".{directory.name}.lock")
    make_parents(directory)
    with lock.open("wb") as file:
        if not _locked(file, lock):
            raise UsageError(f"{directory}: another process is building this index; wait for it")
        try:
            _clear_debris(directory, working)
            _check_target(directory)
            working.mkdir()
            yield working
        finally:
            shutil.rmtree(working, ignore_errors=True)
            lock.unlink(missing_ok=True)


def clear_killed(folder: Path, prefix: str) -> None:
    """Remove what killed builds left of directories in a folder whose names begin with the prefix."""
    for working in folder.glob(f".{escape(prefix)}*.building"):
        lock = working.with_suffix(".lock")
        with suppress(OSError), lock.open("ab") as file:
            if _locked(file, lock):
                shutil.rmtree(working, ignore_errors=True)
                lock.unlink(missing_ok=True)


def replace(directory: Path, working: Path) -> None:
    """Put the finished index in its place. Two renames: a reader sees the old index or the new one."""
    if not directory.exists():
        working.replace(directory)
        return
    old = _old(directory)
    directory.replace(old)
    try:
        working.replace(directory)
    except OSError:
        old.replace(directory)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _locked(file: BinaryIO, path: Path) -> bool:
    """Take the lock, unless a process has it or has just thrown its file away; it dies with this process."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False


def _clear_debris(directory: Path, working: Path) -> None:
    """Remove what a killed build has left; an old index that it was about to replace goes back."""
    old = _old(directory)
    if (old / MANIFEST).is_file() and not directory.exists():
        old.replace(directory)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(working, ignore_errors=True)


def _old(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.old")


def _check_target(directory: Path) -> None:
    if not directory.exists():
        return
    if not directory.is_dir():
        raise UsageError(f"{directory}: is a file; give a directory for the index")
    if any(directory.iterdir()) and not (directory / MANIFEST).is_file():
        raise UsageError(f"{directory}: holds files that are not an index; choose an empty or new directory")
