"""Faults of the disk in one line, whoever writes there."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seal_ir.errors import SealError, UsageError

_FAULTS = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY, errno.ENAMETOOLONG),
}
_NUMBERED = re.compile(r"\(os error (\d+)\)")  # safetensors puts the number into its message
# torch's writer of archives has no number: a write that was cut short shows as a wrong position.
_TORCH = re.compile(r"inline_container|PytorchStreamWriter|Parent directory .* does not exist")

ADVICE = "choose another place or make room"


def unwritable(path: Path, reason: str | None, advice: str = ADVICE) -> str:
    """What to tell of a path that cannot be written."""
    return f"{path}: cannot be written ({reason}); {advice}"


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
def writing(path: Path, advice: str = ADVICE, fault: type[SealError] = UsageError) -> Iterator[None]:
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
        raise fault(unwritable(path, reason, advice)) from error
