"""What can be read only once, such as a pipe, made into what can be read as often as a file.

Readers look at the beginning of a file to know its kind, and some read a file twice. Of a pipe the second
look would find nothing, so all that comes out of it is kept, in a temporary file without a name.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path, PosixPath
from typing import Any

from seal_ir.errors import InputError

_CHUNK_BYTES = 1 << 20


class KeptPipe(PosixPath):
    """The path of a pipe or a device, with what came out of it.

    `open_file` gives that, again and again, and so do the reading methods of a path.
    """

    kept: int | None = None  # handle of the temporary file

    def read_bytes(self) -> bytes:
        """All that came out."""
        with open_file(self) as file:
            return file.read()

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        """The same as text, line ends as they are read from files."""
        with io.TextIOWrapper(open_file(self), encoding, errors) as file:
            return file.read()


class _Content(io.RawIOBase):
    """One reading of what is kept, with a place of its own, so that several can go on side by side."""

    def __init__(self, path: KeptPipe, handle: int) -> None:
        self._path = path  # whose handle lasts as long as it does
        self._handle, self._at = handle, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: os.fstat(self._handle).st_size}
        self._at = max(0, starts[whence] + offset)
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        chunk = os.pread(self._handle, len(buffer), self._at)
        buffer[: len(chunk)] = chunk
        self._at += len(chunk)
        return len(chunk)


def is_special(path: Path) -> bool:
    """Whether something is there that is neither a file nor a folder: a pipe, a socket, a device."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def rereadable(path: Path) -> Path:
    """The path itself; of a pipe or a device, which is read to its end here, one that keeps what came out.

    Whoever looks at a file before reading it, or reads it twice, does so through this. The content lies on
    disk (in TMPDIR) as long as the path is in use, and is gone with the process, however that ends.

    Raises:
        InputError: the pipe cannot be read, or there is no room for its content.
    """
    if isinstance(path, KeptPipe) and path.kept is not None:
        return path
    path = Path(path)
    if not is_special(path):
        return path
    found = KeptPipe(path)
    try:
        source = _opened(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); check the name and its permissions"
        ) from error
    with source:
        try:
            with tempfile.TemporaryFile() as file:
                shutil.copyfileobj(source, file, _CHUNK_BYTES)
                file.flush()
                found.kept = os.dup(file.fileno())
        except OSError as error:
            raise InputError(
                f"{path}: its content cannot be kept in a temporary file ({error.strerror}); set TMPDIR to a"
                " folder with room, or give a file"
            ) from error
    weakref.finalize(found, os.close, found.kept)
    return found


def _opened(path: Path) -> io.BufferedReader:
    """A pipe or device, open. A socket, as stdin may be, cannot be opened by its name, but by its number."""
    try:
        return path.open("rb")
    except OSError as error:
        number = "0" if path == Path("/dev/stdin") else path.name
        own = path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")) and number.isdecimal()
        if error.errno != errno.ENXIO or not own:
            raise
        return os.fdopen(os.dup(int(number)), "rb")


def open_file(path: Path) -> io.BufferedReader:
    """The bytes of a file, or of what is kept of a pipe, from their start; they can be sought in.

    Raises:
        InputError: as `rereadable`.
        OSError: the file cannot be opened.
    """
    path = rereadable(path)
    if isinstance(path, KeptPipe) and path.kept is not None:
        return io.BufferedReader(_Content(path, path.kept), _CHUNK_BYTES)
    return path.open("rb")
