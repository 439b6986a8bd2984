"""Text files that are written plain or as gzip, by their names."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from seal_ir.errors import UsageError
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.inputs import READ_SUFFIXES, REFUSED_SUFFIXES

_GZIP = ".gz"
_LEVEL = 6


def check_packed(path: Path) -> None:
    """Refuse a name that promises a compression that is not written.

    Raises:
        UsageError: it does.
    """
    if path.suffix.lower() in {*READ_SUFFIXES, *REFUSED_SUFFIXES} - {_GZIP}:
        raise UsageError(f"{path}: this is written plain or as gzip; name it .jsonl or .jsonl.gz")


@contextmanager
def packed_writer(path: Path) -> Iterator[TextIO]:
    """A text stream into a file that appears whole or not at all; a name in .gz is compressed.

    Without name or time in it: equal text makes equal bytes.

    Raises:
        UsageError: see `atomic_writer`.
    """
    with atomic_writer(path) as plain:
        if path.suffix.lower() != _GZIP:
            yield plain
            return
        with (
            gzip.GzipFile("", "wb", _LEVEL, plain.buffer, mtime=0) as packed,
            io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as stream,
        ):
            yield stream
