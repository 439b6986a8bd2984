"""Files that know how far they have been read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path, PosixPath
from typing import Any

from seal_ir.formats.io.inputs import KeptPipe

_AHEAD_BYTES = 1 << 16  # that are read before they are asked for


class WatchedPath(PosixPath):
    """The path of a file, with how much of it was read by who opened it last.

    Attributes:
        n_read: bytes, packed as they are in the file; a little ahead of what has come out.
    """

    n_read: int = 0

    def open(self, mode: str = "r", *args: Any, **options: Any) -> Any:
        """A file as `Path.open` gives it; watched where its bytes are read."""
        if mode != "rb":
            return super().open(mode, *args, **options)
        self.n_read = 0
        return io.BufferedReader(_Watched(self), _AHEAD_BYTES)


class _Watched(io.FileIO):
    def __init__(self, path: WatchedPath) -> None:
        super().__init__(path, "rb")
        self._path = path

    def readinto(self, buffer: Any) -> int:
        n_bytes = super().readinto(buffer) or 0
        self._path.n_read += n_bytes
        return n_bytes


def watched(paths: Sequence[Path]) -> list[Path]:
    """The paths, those of regular files watched."""
    return [
        WatchedPath(path) if not isinstance(path, KeptPipe) and _is_file(path) else path for path in paths
    ]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, say: whoever opens it tells
        return False


def fraction_read(paths: Sequence[Path]) -> float | None:
    """How much of all files has been read, from 0 to 1; None where a size is not known."""
    if not all(isinstance(path, WatchedPath) for path in paths):
        return None
    n_bytes = sum(path.stat().st_size for path in paths)
    n_read = sum(path.n_read for path in paths if isinstance(path, WatchedPath))
    return min(1.0, n_read / n_bytes) if n_bytes else None
