"""Places to write to: stdout and pipes, folders that are missing, and what is written before it is renamed.

A file or folder in the making lies beside its place under a hidden name. Its writer holds a lock on it, which
dies with the process: what nobody holds was left by one that was killed, and the next writer in the same
folder removes it.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TextIO

from seal_ir.errors import UsageError
from seal_ir.formats.io.disk import writing
from seal_ir.formats.io.inputs import is_special

STDOUT = Path("-")
_MARK = ".seal-ir.tmp"
# The second form is that of conversions of models in earlier versions, which leave 180 MB.
_TEMPORARY = re.compile(rf"\..*\.[0-9a-f]{{8}}{re.escape(_MARK)}|\.(.*\.)?converting-.*", re.DOTALL)
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}  # of file systems that do not sync folders
_MAX_STEM_BYTES = 200  # with what is added, a name that every file system takes


def is_stream(path: Path) -> bool:
    """Whether writing goes to stdout, a pipe or a device: there is nothing beside it, and nothing to replace.

    `-` is stdout. /dev/stdout and the like count wherever they lead; /dev/shm holds ordinary files.
    """
    device = path.parts[:2] in (("/", "dev"), ("/", "proc")) and path.parts[2:3] != ("shm",)
    return path == STDOUT or device or is_special(path)


def open_stdout() -> TextIO:
    """Text stream in UTF-8 that ends up on stdout, behind what is printed; closing it leaves stdout open.

    Raises:
        UsageError: stdout is closed.
        OSError: what was printed cannot be written.
    """
    if sys.stdout is None:
        raise UsageError("-: stdout is closed; name a file to write")
    sys.stdout.flush()
    own = sys.__stdout__
    if own is not None and sys.stdout is own:
        return io.TextIOWrapper(os.fdopen(os.dup(own.fileno()), "wb"), encoding="utf-8", newline="\n")
    # A notebook's, or one that catches what is printed.
    buffer = getattr(sys.stdout, "buffer", None)
    return _Collected(sys.stdout) if buffer is None else _Borrowed(buffer, encoding="utf-8", newline="\n")


class _Borrowed(io.TextIOWrapper):
    """A stream over somebody's buffer, which stays open."""

    _is_open = True

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self.detach()


class _Collected(io.StringIO):
    """Text that goes where only text may, when it is complete."""

    def __init__(self, target: TextIO) -> None:
        super().__init__(newline="\n")
        self._target = target

    def close(self) -> None:
        if not self.closed:
            self._target.write(self.getvalue())
        super().close()


def check_several(path: Path) -> None:
    """Refuse stdout where several files are to be written.

    Raises:
        UsageError: it is meant.
    """
    if path.parts[:1] == STDOUT.parts:
        raise UsageError(f"{path}: stdout takes one file, and several are written here; give another name")


def check_parents(path: Path) -> Path:
    """The folder that a file or folder is to lie in, which may be missing, but not its first part.

    A path from the root whose first folder is not there is a slip, or a disk that is not mounted.

    Raises:
        UsageError: that folder is missing, or the path is stdout.
    """
    check_several(path)
    parent = Path(os.path.abspath(path)).parent  # noqa: PTH100 - links stay what they are
    first = Path(*parent.parts[:2])
    if not first.exists():
        raise UsageError(f"{path}: there is no folder {first}; make it, or write to another place")
    return parent


def make_parents(path: Path) -> None:
    """Make the folders that a file or folder is to lie in.

    Raises:
        UsageError: as `check_parents`; nothing is made.
        OSError: a folder cannot be made.
    """
    check_parents(path).mkdir(parents=True, exist_ok=True)


def open_temporary(target: Path) -> tuple[Path, TextIO]:
    """A new hidden file beside the target, open for text and locked; what killed writers left there is gone.

    Raises:
        OSError: it cannot be made.
    """
    clear_left(target.parent)
    while True:
        path = _hidden(target)
        stream = path.open("x", encoding="utf-8", newline="\n")
        if _is_ours(stream.fileno(), path):
            return path, stream
        stream.close()


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """A new hidden folder beside the target, for what is to be moved there; it is gone afterwards.

    Raises:
        UsageError: as `make_parents`.
        OSError: it cannot be made.
    """
    make_parents(target)
    clear_left(target.parent)
    while True:
        path = _hidden(target)
        path.mkdir()
        with suppress(FileNotFoundError):  # cleared before it was locked
            handle = os.open(path, os.O_RDONLY)
            if _is_ours(handle, path):
                break
            os.close(handle)
    try:
        yield path
    finally:
        os.close(handle)
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path` that takes its place when the block ends without an exception, or is gone.

    Raises:
        UsageError: something is there already, or it cannot be written.
    """
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path}: exists already; give another --output, or remove it")
    target = path.absolute()
    with ExitStack() as stack:
        with writing(path):
            made = stack.enter_context(scratch_folder(target))
        yield made
        with writing(path):
            made.chmod(0o755)
            put_in_place(made, target)  # which fails if somebody was quicker


@contextmanager
def alone_in(folder: Path, doing: str) -> Iterator[None]:
    """A folder, made where it is missing, for this process alone; gone afterwards if nothing is in it.

    On file systems without locks nobody is kept out.

    Args:
        folder: where all that use this work.
        doing: what another process may be doing there, for the message.

    Raises:
        UsageError: another process is at it, or the folder cannot be made.
    """
    with ExitStack() as stack:
        with writing(folder):
            make_parents(folder)
            is_new = not folder.exists()
            folder.mkdir(exist_ok=True)
            handle = stack.enter_context(handle_of(folder.resolve()))
        if not _is_ours(handle, folder):
            raise UsageError(
                f"{folder}: another process is {doing} there; wait until it is done, or name another --output"
            )
        try:
            yield
        finally:
            if is_new:
                with suppress(OSError):  # where something is in it
                    folder.rmdir()


def put_in_place(made: Path, target: Path) -> None:
    """Rename a finished file or folder; on disk to stay, when this returns.

    Raises:
        OSError: it cannot be written, or a folder with something in it is there.
    """
    sync([*made.rglob("*"), made])
    made.replace(target)
    sync([target.parent])


def sync(paths: Iterable[Path]) -> None:
    """Have the system write files and folders to the disk.

    Raises:
        OSError: it cannot.
    """
    for path in paths:
        with handle_of(path) as handle:
            try:
                os.fsync(handle)
            except OSError as error:
                if error.errno not in _NO_SYNC:
                    raise


def clear_left(folder: Path, names: re.Pattern[str] = _TEMPORARY) -> None:
    """Remove hidden files and folders that killed writers left in a folder; whose writer lives stay."""
    with suppress(OSError), os.scandir(folder) as entries:
        left = [Path(entry.path) for entry in entries if names.fullmatch(entry.name)]
        for path in left:
            with suppress(OSError), handle_of(path) as handle:
                if locked(handle, path):
                    remove(path)


def remove(path: Path) -> None:
    """Remove a file, a folder or a link, not what that leads to; what cannot go stays for the next writer."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


@contextmanager
def handle_of(path: Path) -> Iterator[int]:
    """Handle of a file or folder; a link is none.

    Raises:
        OSError: it cannot be opened.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        yield handle
    finally:
        os.close(handle)


def locked(handle: int, path: Path) -> bool:
    """Lock what is open at a path until it is closed; False if another has it, or has just removed it.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(handle).st_ino == path.stat().st_ino
    except (BlockingIOError, FileNotFoundError):
        return False


def _is_ours(handle: int, path: Path) -> bool:
    """Whether we have locked what we have just made; where nothing is locked, nothing is cleared either."""
    try:
        return locked(handle, path)
    except OSError:
        return True


def _hidden(target: Path) -> Path:
    stem = os.fsdecode(os.fsencode(target.name)[:_MAX_STEM_BYTES])
    return target.with_name(f".{stem}.{secrets.token_hex(4)}{_MARK}")
