"""Opens a file that may be compressed: what it is, is told by its first bytes; its name must not disagree."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from seal_ir.errors import InputError
from seal_ir.formats.io.pipes import open_file

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
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); check the name and its permissions"
        ) from error
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
