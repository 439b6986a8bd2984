"""Where something is built that appears in one step: in `.NAME.building` beside it.

A build that dies leaves what was there before, and its debris is cleared by the next. An index itself is
built inside its directory (`generations.py`).
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import BinaryIO

from seal_ir.errors import UsageError
from seal_ir.formats.io.outputs import make_parents
from seal_ir.index.manifest import MANIFEST


@contextmanager
def working_folder(directory: Path) -> Iterator[Path]:
    """A new folder beside the index directory; it is gone afterwards, unless it was moved.

    Raises:
        UsageError: `directory` holds something that is not an index, or another build of it is running.
        OSError: it cannot be written.
    """
    working = directory.with_name(f".{directory.name}.building")
    lock = directory.with_name(f".{directory.name}.lock")
    make_parents(directory)
    with lock.open("wb") as file:
        if not locked(file, lock):
            raise UsageError(f"{directory}: another process is building this index; wait for it")
        try:
            shutil.rmtree(working, ignore_errors=True)
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
            if locked(file, lock):
                shutil.rmtree(working, ignore_errors=True)
                lock.unlink(missing_ok=True)


def locked(file: BinaryIO, path: Path) -> bool:
    """Take the lock, unless a process has it or has just thrown its file away; it dies with this process."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(file.fileno()).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False


def _check_target(directory: Path) -> None:
    if not directory.exists():
        return
    if not directory.is_dir():
        raise UsageError(f"{directory}: is a file; give a directory for the index")
    if any(directory.iterdir()) and not (directory / MANIFEST).is_file():
        raise UsageError(f"{directory}: holds files that are not an index; choose an empty or new directory")
