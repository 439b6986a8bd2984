"""Text files: lines with their numbers, ids of records, a writer that leaves a whole file or none."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO, TypeVar

from seal_ir.errors import InputError, UsageError
from seal_ir.errors import shown as shown  # most messages of this layer and above are about files
from seal_ir.formats.io.disk import disk_fault, unwritable
from seal_ir.formats.io.inputs import is_special, open_bytes
from seal_ir.formats.io.outputs import (
    STDOUT,
    check_several,
    is_stream,
    make_parents,
    open_stdout,
    open_temporary,
    put_in_place,
)

BOM = b"\xef\xbb\xbf"
BOM_TEXT = "\ufeff"
Value = TypeVar("Value")


def listed(names: Iterable[str], limit: int = 10) -> str:
    """Names as they stand in a one-line message: the first few, then three dots."""
    few = list(islice(names, limit + 1))
    return ", ".join([*few[:limit], *(["..."] if len(few) > limit else [])])


def is_file(path: Path) -> bool:
    """Whether something is there that can be read as a file, a pipe or a device included.

    False also where the system refuses to look (name too long, no permission).
    """
    try:
        return path.is_file() or is_special(path)
    except (OSError, ValueError):
        return False


def utf8(path: str | Path) -> str:
    """A path for what encodes names as UTF-8 itself: under LC_ALL=C Python's own str holds escaped bytes."""
    try:
        return os.fsencode(path).decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a name out of a file, which the locale has no bytes for
        return os.fspath(path)


def on_disk(name: str) -> str:
    """A path that a file of ours holds, as Python opens it in this locale; `utf8` the other way round."""
    return os.fsdecode(name.encode("utf-8", "surrogateescape"))


def named(path: str | Path) -> str:
    """A path as text for people, the same in every locale; bytes that are no UTF-8 are escaped."""
    return utf8(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def open_text(path: Path) -> TextIO:
    """Text stream of a plain or compressed UTF-8 file without byte order mark; only a line feed ends a line.

    Reading raises UnicodeDecodeError on invalid UTF-8; `iter_lines` names the line.
    """
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", errors="strict", newline="\n")


def iter_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers from 1 and lines, without LF or CR LF, of a plain or compressed UTF-8 file.

    Raises:
        InputError: the file cannot be read, a line is not UTF-8, or one but the first has the mark.
    """
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            if number == 1:
                raw = raw.removeprefix(BOM)
            elif raw.startswith(BOM):
                raise InputError(
                    f"{path}:{number}: begins with a byte order mark, as where files were put together;"
                    " remove it"
                )
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            try:
                yield number, raw.decode("utf-8")
            except UnicodeDecodeError as error:
                seen = f"byte 0x{raw[error.start]:02x} at position {error.start + 1}"
                raise InputError(f"{path}:{number}: not UTF-8 ({seen}); save the file as UTF-8") from error


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """`iter_lines` without the lines that are blank, which count in the numbering."""
    return ((number, line) for number, line in iter_lines(path) if line and not line.isspace())


def first_line(path: Path) -> str:
    """The first line that is not blank, "" where there is none: it often tells what a file is.

    Raises:
        InputError: as `iter_lines`.
    """
    return next((line for _, line in filled_lines(path)), "")


def id_fault(value: str) -> str:
    """What is wrong with an id, as the end of a sentence; `""` when it can be written to a run."""
    if not value:
        return "is empty; every record needs an id"
    if BOM_TEXT in value:
        return f"has a byte order mark (seen {shown(value)}), as where files were put together; remove it"
    if value.split() != [value]:
        return f"has white space (seen {shown(value)}); a run file cannot carry it, choose another id"
    return "" if is_text(value) else f"has half a surrogate pair (seen {shown(value)}); mend the \\u escape"


def is_text(value: str) -> bool:
    """Whether the string can be written as UTF-8: JSON escapes may hide half a surrogate pair."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def by_topic(path: Path, records: Iterable[tuple[int, str, Value]]) -> dict[str, Value]:
    """Values by topic id, in the order of the records of line number, topic id and value.

    Raises:
        InputError: a topic comes twice.
    """
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for number, qid, value in records:
        if qid in lines:
            raise InputError(
                f"{path}:{number}: topic {shown(qid)} comes twice, first at {path}:{lines[qid]};"
                " make ids unique"
            )
        lines[qid], values[qid] = number, value
    return values


@contextmanager
def atomic_writer(path: Path) -> Iterator[TextIO]:
    """Text stream whose content appears at `path` in one step when the block ends without an exception.

    It is on disk to stay then. Missing parent folders are made, see `make_parents`. A link is followed. `-`
    is stdout; that and what is no regular file (/dev/stdout, a pipe) is written directly.

    Raises:
        UsageError: the path is a folder or cannot be written, or the disk is full.
    """
    path = Path(path)
    try:
        target, temporary, stream = _opened(path)
    except OSError as error:
        raise UsageError(unwritable(path, error.strerror)) from error
    try:
        yield stream
        stream.flush()
        if temporary:
            _put(temporary, target, path)  # while it is locked
        stream.close()
    except BaseException as error:
        with suppress(OSError):
            stream.close()
        if temporary:
            temporary.unlink(missing_ok=True)
        # Writing to a full disk names no file; an error with a name is about another file.
        if isinstance(error, OSError) and error.filename is None and disk_fault(error):
            raise UsageError(unwritable(path, error.strerror)) from error
        raise


def write_bytes(path: Path, content: bytes) -> None:
    """Put bytes at a path, in one step; see `atomic_writer`.

    Raises:
        UsageError: it cannot be written.
    """
    with atomic_writer(path) as file:
        file.buffer.write(content)


def _put(temporary: Path, target: Path, path: Path) -> None:
    """Renames a finished file; that this fails is a fault of the place, though the error names both files."""
    try:
        put_in_place(temporary, target)
    except OSError as error:
        raise UsageError(unwritable(path, error.strerror)) from error


class AtomicFile:
    """A file that a subclass writes piece by piece, inside a `with` block; see `atomic_writer`.

    Raises:
        UsageError: as `atomic_writer`, when the block begins.
    """

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._file: AbstractContextManager[TextIO] = atomic_writer(path)
        self._stream: TextIO | None = None

    def __enter__(self) -> Self:
        self._stream = self._file.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._stream = None
        return self._file.__exit__(kind, error, trace)

    @property
    def stream(self) -> TextIO:
        """Where to write.

        Raises:
            ValueError: the block has not begun, or has ended.
        """
        if self._stream is None:
            raise ValueError(f"a {type(self).__name__} writes only inside its with block")
        return self._stream


def _opened(path: Path) -> tuple[Path, Path | None, TextIO]:
    """File to write in the end, the hidden one to write first (None for streams), and what is open."""
    if path.is_dir():
        raise UsageError(f"{path}: is a folder; name a file to write")
    if path == STDOUT:
        return path, None, open_stdout()
    if is_stream(path):
        return path, None, path.open("w", encoding="utf-8", newline="\n")
    check_several(path)
    target = Path(os.path.realpath(path))
    make_parents(target)
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target, *open_temporary(target)
