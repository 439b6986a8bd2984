"""Places to read from: files, compressed or not, and what can be read only once, such as a pipe.

What a file is, is told by its first bytes; its name must not disagree. Readers look at the beginning of a
file to know its kind, and some read a file twice. Of a pipe the second look would find nothing, so all that
comes out of it is kept, in a temporary file without a name.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import os
import shutil
import stat
import tempfile
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path, PosixPath
from typing import Any, BinaryIO

import zstandard

from seal_ir.errors import InputError

CHUNK_BYTES = 1 << 20
_HEAD_BYTES = 512  # enough for a tar header, whose mark stands at byte 257

MAGIC = {
    "gzip": (b"\x1f\x8b",),
    "bzip2": tuple(
        b"BZh%d" % level + block for level in range(1, 10) for block in (b"1AY&SY", b"\x17rE8P\x90")
    ),
    "xz": (b"\xfd7zXZ\x00",),
    "zstd": (b"\x28\xb5\x2f\xfd",),
    "zip": (b"PK\x03\x04", b"PK\x05\x06"),
    "7z": (b"7z\xbc\xaf\x27\x1c",),
    "lz4": (b"\x04\x22\x4d\x18",),
    "compress": (b"\x1f\x9d", b"\x1f\xa0"),
    "Parquet": (b"PAR1",),
    "UTF-16": (b"\xff\xfe", b"\xfe\xff"),
}
READ_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
REFUSED_SUFFIXES = {
    ".zip": "zip",
    ".7z": "7z",
    ".lz4": "lz4",
    ".z": "compress",
    ".lzma": "lzma",
    ".br": "brotli",
    ".rar": "rar",
    ".sz": "snappy",
    ".tar": "tar",
    ".tgz": "tar",
}
DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)


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
    path = path if isinstance(path, Path) else Path(path)  # a watched one stays what it is
    if not is_special(path):
        return path
    found = KeptPipe(path)
    try:
        source = _opened(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    with source:
        try:
            with tempfile.TemporaryFile() as file:
                shutil.copyfileobj(source, file, CHUNK_BYTES)
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
        return io.BufferedReader(_Content(path, path.kept), CHUNK_BYTES)
    return path.open("rb")


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"{path}: cannot be read ({error.strerror}); check the name and its permissions")


class _ZstdFile(io.RawIOBase):
    """Frame after frame of a zstd file; unlike the package's own reader it notices a file cut short."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._frame: zstandard.ZstdDecompressionObj | None = None
        self._packed = self._plain = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._plain:
            self._packed = self._packed or self._file.read(1 << 16)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the last frame is cut short")
                return 0
            if self._frame is None:
                self._frame = zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()
            try:
                self._plain = self._frame.decompress(self._packed)
            except zstandard.ZstdError as error:
                raise OSError(str(error)) from error
            self._packed = self._frame.unused_data
            if self._frame.eof:
                self._frame = None
        n_bytes = min(len(buffer), len(self._plain))
        buffer[:n_bytes], self._plain = self._plain[:n_bytes], self._plain[n_bytes:]
        return n_bytes


class _Guard(io.RawIOBase):
    """Passes bytes on and turns what a decompressor raises on damaged data into one `InputError`."""

    def __init__(self, path: Path, kind: str, inner: BinaryIO, file: BinaryIO) -> None:
        self._path, self._kind, self._inner, self._file = path, kind, inner, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            chunk = self._inner.read(len(buffer))
        except DAMAGE as error:
            advice = "copy or compress it again" if self._kind else "check the disk"
            what = f"damaged or truncated {self._kind} data" if self._kind else "cannot be read"
            raise InputError(f"{self._path}: {what} ({error}); {advice}") from error
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._inner.close()
        self._file.close()  # decompressors leave a file open that they were given
        super().close()


def detect(head: bytes) -> str:
    """Compression (or other non-text kind) that the first bytes of a file show; `""` for none known."""
    for kind, marks in MAGIC.items():
        if head.startswith(marks):
            return kind
    return "tar" if head[257:262] == b"ustar" else ""


def open_bytes(path: Path) -> io.BufferedReader:
    """Uncompressed bytes of a file that is plain, gzip, bzip2, xz or zstd; a pipe is as good as a file.

    Raises:
        InputError: no such file, an unknown or unreadable compression, a name that promises another
            compression than the content has; while reading, damaged or truncated data.
    """
    try:
        file = open_file(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    stream: io.BufferedReader | None = None
    try:
        kind = _kind(path, file)
        stream = io.BufferedReader(_Guard(path, kind, _opener(path, kind)(file), file), CHUNK_BYTES)
        inner = detect(stream.peek(_HEAD_BYTES)[:_HEAD_BYTES]) if kind else ""
        if inner:
            raise InputError(f"{path}: {inner} data inside {kind}; unpack it first")
    except BaseException:
        (stream or file).close()
        raise
    return stream


def _kind(path: Path, file: BinaryIO) -> str:
    """What the file's content is, or else its name says; the file stands at its start again."""
    try:
        kind = detect(file.read(_HEAD_BYTES))
        file.seek(0)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the disk") from error
    suffix = path.suffix.lower()
    promised = READ_SUFFIXES.get(suffix) or REFUSED_SUFFIXES.get(suffix, "")
    if promised and promised != kind and promised in READ_SUFFIXES.values():
        raise InputError(
            f"{path}: named {suffix} but its content is {kind or 'not ' + promised}; rename it or compress it"
        )
    return kind or promised


def _opener(path: Path, kind: str) -> Callable[[BinaryIO], BinaryIO]:
    """Function that unpacks a file of this kind, or an `InputError` that says what to do instead."""
    openers: dict[str, Callable[[BinaryIO], Any]] = {
        "": lambda file: file,
        "gzip": gzip.open,
        "bzip2": bz2.open,
        "xz": lzma.open,
        "zstd": lambda file: io.BufferedReader(_ZstdFile(file), CHUNK_BYTES),
    }
    if kind in openers:
        return openers[kind]
    if kind == "UTF-16":
        raise InputError(f"{path}: is UTF-16, UTF-8 is needed; convert it with iconv -f UTF-16 -t UTF-8")
    if kind == "Parquet":
        raise InputError(f"{path}: is a Parquet file; documents are read from it with --collection HFDataset")
    raise InputError(f"{path}: {kind} files are not read; unpack it, or compress with gzip")
