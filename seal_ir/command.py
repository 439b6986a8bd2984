"""What commands share: settings from options, and how they end.

Results go to stdout, a user's fault in one line to stderr, and the exit code has a meaning.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, NoReturn, TypeVar

from seal_ir.errors import SealError, UsageError, check_range
from seal_ir.threads import wait_passively

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Run a command on `sys.argv` and exit: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    wait_passively()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the caller
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    try:
        with _warnings_on_stderr():
            code = main(sys.argv[1:])
        if sys.stdout is not None:
            sys.stdout.flush()
    except UsageError as error:
        code = _fault(error, 2)
    except SealError as error:
        code = _fault(error, 1)
    except KeyboardInterrupt:
        code = _fault("interrupted", 130)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`); keep the interpreter from complaining about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)


def check_options(options: object, **least: float) -> None:
    """Refuse options with numbers that mean nothing; those that were not given and have no default pass.

    Args:
        options: as parsed.
        **least: the least value of each, by its name there; looked at in this order.

    Raises:
        UsageError: one is below its least, or too large.
    """
    for name, smallest in least.items():
        value = getattr(options, name)
        if value is not None:
            check_range(f"--{name.replace('_', '-')}", value, smallest)


def settings_of(options: object, kind: type[Settings]) -> Settings:
    """Settings of a dataclass, those with an option of the same name from there, the others by default.

    Raises:
        UsageError: the settings refuse a value.
    """
    names = [field.name for field in fields(kind) if hasattr(options, field.name)]
    return kind(**{name: getattr(options, name) for name in names})


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Shows our warnings as plain lines; the import of Pyserini would put a time and a name before them."""
    logger, handler = logging.getLogger(__package__), logging.StreamHandler()
    propagate = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _fault(error: object, code: int) -> int:
    text = " ".join(str(error).split())  # one line, whatever the message quotes
    if sys.stderr is not None:
        sys.stderr.write(f"error: {text}\n")
    return code
