"""What commands share: how they end, how far they are, and what their options have in common.

Results go to stdout, progress and a user's fault in one line to stderr, and the exit code has a meaning.
Options are --version, defaults in the help, numbers within bounds, and those of Pyserini's that do not apply.
"""

from __future__ import annotations

import argparse
import codecs
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from seal_ir.arguments import check_range
from seal_ir.errors import SealError, UsageError, redacted
from seal_ir.processes import default_threads, most_threads, wait_passively

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Settings = TypeVar("Settings", bound="DataclassInstance")
Foreign = Mapping[str, tuple[int | str, str]]  # how many values an option takes, and a sentence
MOST_QUERIES = 1024  # that a model reads together; memory grows with it, and no device gains by more

_MOST_OF_A_PATH = 300  # characters that a message quotes
NAMES = "seal_ir.names"  # an error handler of codecs


def _names_as_they_are(error: UnicodeError) -> tuple[bytes, int]:
    """Writes what is no text: names of files in their own bytes, so that others find them; the rest escaped.

    Under LC_ALL=C Python holds every byte of a name beyond ASCII as half a surrogate pair.
    """
    if not isinstance(error, UnicodeEncodeError):
        raise error
    odd = error.object[error.start : error.end]
    kept = (
        half.encode("utf-8", "surrogateescape" if "\udc80" <= half <= "\udcff" else "backslashreplace")
        for half in odd
    )
    return b"".join(kept), error.end


codecs.register_error(NAMES, _names_as_they_are)


def run(main: Callable[[list[str]], int]) -> NoReturn:
    """Run a command on `sys.argv` and exit: 0 done, 1 failed, 2 bad usage, 130 interrupted."""
    wait_passively()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed by the caller
            stream.reconfigure(encoding="utf-8", errors=NAMES)  # type: ignore[union-attr]
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
    except OSError as error:
        if error.filename is None:
            raise
        code = _fault(_unreachable(error), 1)
    sys.exit(code)


def _unreachable(error: OSError) -> str:
    """Of a path at which the system will not even look: too long a name, or a folder that is closed to us."""
    path = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename)
    place = path if len(path) <= _MOST_OF_A_PATH else f"{path[:_MOST_OF_A_PATH]}..."
    return f"{place}: {error.strerror}; check the path and its permissions"


class RedactingFormatter(logging.Formatter):
    """Leaves passwords, keys and tokens out of what is logged, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record."""
        return redacted(super().format(record))


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Shows our warnings as plain lines; the import of Pyserini would put a time and a name before them."""
    logger, handler = logging.getLogger(__package__), logging.StreamHandler()
    handler.setFormatter(RedactingFormatter())
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


def confirm(question: str, without: str, refused: str, fault: type[SealError] = UsageError) -> None:
    """Ask at the terminal whether to go on.

    Args:
        question: what is asked.
        without: what to tell where there is no terminal.
        refused: what to tell where the answer is not yes.
        fault: the kind of error where there is no terminal.

    Raises:
        SealError: of that kind, without a terminal.
        UsageError: the answer is not yes.
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty()):
        raise fault(without)
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError(refused)


class Progress:
    """Done, rate and time left on stderr: one line on a terminal, elsewhere one every ten seconds."""

    def __init__(self, total: int, unit: str) -> None:
        self._total, self._unit = total, unit
        self._done = 0
        self._started = self._shown = time.monotonic()

    def advance(self, n: int) -> None:
        """Count n more."""
        self._done += n
        now = time.monotonic()
        if sys.stderr.isatty() or now - self._shown >= 10 or self._done == self._total:
            self._shown = now
            rate = self._done / max(now - self._started, 1e-9)
            left = (self._total - self._done) / rate
            line = f"{self._done:,}/{self._total:,} {self._unit}, {rate:.2f}/s, {left:.0f} s left"
            sys.stderr.write(f"\r{line} " if sys.stderr.isatty() else f"{line}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if sys.stderr.isatty():
            sys.stderr.write("\n")


class CommandParser(argparse.ArgumentParser):
    """argparse's, with --version, and with a help that shows every default."""

    def __init__(self, *, raw: bool = False, **options: Any) -> None:
        """Args: raw: the description is laid out already; options: argparse's own."""
        super().__init__(**{"formatter_class": _RawHelp if raw else _Help} | options)
        self.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")


class _Help(argparse.HelpFormatter):
    """Adds the default to the help of an option that has one and does not say it by itself."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        none = action.default in (None, False, argparse.SUPPRESS) or action.default == []
        if none or not action.option_strings or "%(default)" in text:
            return text
        values = action.default if isinstance(action.default, list | tuple) else [action.default]
        shown = " ".join(map(str, values)).replace("%", "%%")
        return f"{text} ({shown})".lstrip()


class _RawHelp(_Help, argparse.RawDescriptionHelpFormatter):
    pass


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *parsed: object) -> NoReturn:
        from importlib.metadata import version

        sys.stdout.write(f"seal-ir {version('seal-ir')}\n")
        parser.exit()


def _capped(option: str, most: int, why: str) -> Callable[[str], int]:
    """What parses a number that is at most `most`; a larger one is told on stderr."""

    def parsed(text: str) -> int:
        number = int(text)
        if number > most:
            sys.stderr.write(f"{option} is {number}; going on with {most}, {why}\n")
        return min(number, most)

    parsed.__name__ = "int"  # as argparse calls it in an error
    return parsed


def add_threads(group: argparse._ActionsContainer, whose: str) -> None:
    """The option --threads; `whose` says what they are of."""
    kind = _capped("--threads", most_threads(), "four for each core that may be used")
    group.add_argument("--threads", type=kind, default=default_threads(), help=whose)


def add_ray(parser: argparse._ActionsContainer) -> None:
    """Where the index's segments are; see docs/distributed.md."""
    add = parser.add_argument
    add(
        "--ray",
        metavar="ADDRESS",
        help="keep the index's segments in actors of this Ray cluster; local starts one here"
        " (docs/distributed.md)",
    )
    add("--shards", type=int, metavar="N", help="with --ray: how many actors")
    decoders = "with --ray: actors that decode, each with the model (default: this process decodes)"
    add("--decoders", type=int, metavar="N", help=decoders)


def add_batch_size(group: argparse._ActionsContainer, default: int, what: str) -> None:
    """The option --batch-size; `what` says what is read together."""
    kind = _capped("--batch-size", MOST_QUERIES, "as larger ones only take memory")
    group.add_argument("--batch-size", type=kind, default=default, help=what)


def add_ignored(parser: argparse._ActionsContainer, options: Foreign) -> None:
    """Options of Pyserini's that change nothing here: taken, and told on stderr why they are ignored."""
    _add_foreign(parser, _Ignored, options)


def add_refused(parser: argparse._ActionsContainer, options: Foreign) -> None:
    """Options of Pyserini's that would mean something else: refused with a sentence that says what to do."""
    _add_foreign(parser, _Refused, options)


def _add_foreign(parser: argparse._ActionsContainer, action: type[argparse.Action], options: Foreign) -> None:
    for option, (n_values, why) in options.items():
        hidden: dict[str, Any] = {"help": argparse.SUPPRESS, "default": argparse.SUPPRESS}
        parser.add_argument(option, action=action, nargs=n_values, const=why, **hidden)


class _Ignored(argparse.Action):
    def __call__(
        self, parser: object, namespace: object, values: object, option_string: str | None = None
    ) -> None:
        sys.stderr.write(f"{option_string} is ignored: {self.const}\n")


class _Refused(argparse.Action):
    def __call__(
        self, parser: object, namespace: object, values: object, option_string: str | None = None
    ) -> NoReturn:
        raise UsageError(f"{option_string} does not apply: {self.const}")


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
