"""Numbers of documents in a file: numpy's format 1.0 for int64 [n], mapped into memory."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.index.directory import damaged


def write_numbers(path: Path, numbers: Ints) -> None:
    """Write a file of numbers.

    Raises:
        OSError: it cannot be written.
    """
    with path.open("wb") as file:
        file.write(numbers_bytes(numbers))


def numbers_bytes(numbers: Ints) -> bytes:
    """The content of a file of numbers."""
    return _header(len(numbers)) + numbers.astype("<i8").tobytes()


def open_numbers(path: Path, n: int) -> Ints:
    """The numbers of a file that holds n of them, int64 [n], mapped; what they are is not looked at.

    Raises:
        IndexDirError: it is another file, or cannot be read.
    """
    expected = _header(n)
    try:
        with path.open("rb") as file:  # once: by its name it may be another one, or none, in a moment
            seen, size = file.read(len(expected)), os.fstat(file.fileno()).st_size
            if seen != expected or size != len(expected) + 8 * n:
                raise damaged(path, f"not int64 [{n}]")
            return np.memmap(file, np.dtype("<i8"), "r", len(expected), (n,))
    except OSError as error:
        raise damaged(path, error.strerror) from error


def _header(n: int) -> bytes:
    """The 128 bytes of numpy's format 1.0 for int64 [n], spelled out: numpy's parser need not be trusted."""
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({n},), }}"
    return b"\x93NUMPY\x01\x00\x76\x00" + text.encode().ljust(117) + b"\n"
