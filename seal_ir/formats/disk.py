"""Faults of the disk in one line, and working folders that do not outlive a killed process for long."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from seal_ir.errors import SealError, UsageError

try:
    import fcntl
except ImportError:  # Windows: what killed processes leave stays
    fcntl = None  # type: ignore[assignment]

_FAULTS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG),
}
_NUMBERED = re.compile(r"\(os error (\d+)\)")  # safetensors puts the number into its message
# torch's writer of archives has no number: a write that was cut short shows as a wrong position.
_TORCH = re.compile(r"inline_container|PytorchStreamWriter|Parent directory .* does not exist")


def disk_fault(error: BaseException) -> str:
    """Why something could not be written, in the system's words; "" for an error of another kind."""
    number = error.errno if isinstance(error, OSError) else None
    named = _NUMBERED.search(str(error))
    if number is None and named:
        number = int(named[1])
    if number in _FAULTS:
        return os.strerror(number)
    return "the disk is full or does not take it" if _TORCH.search(str(error)) else ""


@contextmanager
def writing(
    path: Path, advice: str = "choose another place or make room", fault: type[SealError] = UsageError
) -> Iterator[None]:
    """Turns a fault of the disk inside the block, whoever writes there, into one line.

    Args:
        path: what is written, for the message.
        advice: what to do then.
        fault: the kind of error.

    Raises:
        SealError: of that kind; any other error passes as it is.
    """
    try:
        yield
    except SealError:
        raise
    except Exception as error:
        reason = disk_fault(error)
        if not reason:
            raise
        raise fault(f"{path}: cannot be written ({reason}); {advice}") from error


@contextmanager
def own_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """A new folder `PREFIX...` in a folder, which is made; it is gone afterwards, unless it was renamed.

    Those that killed processes left there are removed first.

    Raises:
        OSError: it cannot be made.
    """
    parent.mkdir(parents=True, exist_ok=True)
    clear_abandoned(parent, prefix)
    folder, handle = _claimed(parent, prefix)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


def clear_abandoned(parent: Path, prefix: str) -> None:
    """Remove the folders `PREFIX...` of `own_folder` whose process is gone; nothing is said of faults."""
    if fcntl is None:
        return
    with suppress(OSError):
        for folder in [path for path in parent.iterdir() if path.name.startswith(prefix) and path.is_dir()]:
            with suppress(OSError):
                handle = os.open(folder, os.O_RDONLY)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it dies with its process
                    shutil.rmtree(folder, ignore_errors=True)
                finally:
                    os.close(handle)


def _claimed(parent: Path, prefix: str) -> tuple[Path, int]:
    """A new folder, and the handle that locks it. One taken for abandoned before that is made again."""
    while True:
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=prefix))
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:
            continue
        if fcntl is not None:
            with suppress(OSError):  # a file system without locks: nobody takes it for abandoned there
                fcntl.flock(handle, fcntl.LOCK_EX)
        if folder.is_dir():
            return folder, handle
        os.close(handle)
