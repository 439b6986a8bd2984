"""Where something is built that appears in one step: in `.NAME.building` beside it, for one build at a time.

A build that dies leaves what was there before, and its debris is cleared by the next. An index itself is
built inside its directory (`generations.py`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seal_ir.errors import UsageError
from seal_ir.formats.io.outputs import clear_left, handle_of, locked, make_parents, remove


@contextmanager
def working_folder(directory: Path) -> Iterator[Path]:
    """A new folder beside the directory; it is gone afterwards, unless it was moved.

    Raises:
        UsageError: `directory` holds something, or another build of it is running.
        OSError: it cannot be written.
    """
    make_parents(directory)
    working = directory.with_name(f".{directory.name}.building")
    working.mkdir(exist_ok=True)
    with handle_of(working) as handle:
        if not locked(handle, working):
            raise built_elsewhere(directory)
        try:
            check_empty(directory)
            for path in working.iterdir():
                remove(path)
            yield working
        finally:
            shutil.rmtree(working, ignore_errors=True)


def clear_killed(folder: Path, prefix: str) -> None:
    """Remove what killed builds left of directories in a folder whose names begin with the prefix."""
    clear_left(folder, re.compile(rf"\.{re.escape(prefix)}.*\.building", re.DOTALL))


def check_empty(directory: Path) -> None:
    """Refuse a place for an index that holds something else.

    Raises:
        UsageError: it is a file, or a directory with something in it.
    """
    if not directory.exists():
        return
    if not directory.is_dir():
        raise UsageError(f"{directory}: is a file; give a directory for the index")
    if any(directory.iterdir()):
        raise UsageError(f"{directory}: holds files that are not an index; choose an empty or new directory")


def built_elsewhere(directory: Path) -> UsageError:
    """The error for a directory in which another process is building."""
    return UsageError(f"{directory}: another process is building this index; wait for it")
