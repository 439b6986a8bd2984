"""What a reader owes a hostile file: values, or one SealError of one line that names it, soon."""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Literal, NoReturn

from seal_ir.errors import SealError
from tests.fuzz.reader import Reader

Outcome = Literal["read", "refused"]
SECONDS = 10.0  # a file of a few KB is read in milliseconds
MORE_BYTES = 2 << 30  # of address space, over what the process has when a reader is called
_LONGEST = 2000  # characters of a message, without the path


class HangError(BaseException):
    """A reader took longer than `SECONDS`; no reader may catch this."""


class BrokenContractError(AssertionError):
    """A reader did something else with a file than it may."""


def check(reader: Reader, folder: Path, name: str, content: bytes) -> Outcome:
    """Read the reader's folder with the content in one of its files, which is put back afterwards.

    Raises:
        BrokenContractError: any other exception came, a message of several lines or without the file's name;
            or it took too long or too much memory.
    """
    path = folder / name
    whole = path.read_bytes()
    _put(path, content)
    try:
        with _silent(), _in_time(), _in_bounds():
            refused = reader.read(path if reader.alone else folder)
        for error in refused if isinstance(refused, list) else ():
            _check_message(str(error), folder)
    except SealError as error:
        _check_message(str(error), folder)
        return "refused"
    except HangError as error:
        raise BrokenContractError(f"{reader.name}: {name} was not read in {SECONDS} s") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception
        raise BrokenContractError(f"{reader.name}: {name}: {type(error).__name__}: {error}") from error
    finally:
        _put(path, whole)
    return "read"


def _check_message(message: str, folder: Path) -> None:
    short = message.replace(str(folder), "")
    if len(message.splitlines()) != 1 or "\n" in message:
        raise BrokenContractError(f"not one line: {short!r}"[:500])
    if short == message:
        raise BrokenContractError(f"does not name the file: {message!r}"[:500])
    if len(short) > _LONGEST:
        raise BrokenContractError(f"{len(short):,} characters: {short!r}"[:500])


def _put(path: Path, content: bytes) -> None:
    """Anew, as an index may have the old file mapped."""
    other = path.with_name(".other")
    other.write_bytes(content)
    other.replace(path)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """No output, and Python's own warnings are faults: a user could not act on them."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("error")
        yield


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    def late(signum: int, frame: FrameType | None) -> NoReturn:
        raise HangError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def _in_bounds() -> Iterator[None]:
    """Where the system says how much the process has mapped."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * os.sysconf("SC_PAGE_SIZE") + MORE_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
