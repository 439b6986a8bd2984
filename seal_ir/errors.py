"""What a user may see go wrong. Everything else is a bug and keeps its traceback."""

from __future__ import annotations

import operator

MOST = (1 << 63) - 1  # of any number that says how many; what is sized by it has its own, smaller limits


class SealError(Exception):
    """A fault on the user's side, told in one line: what, where, the value seen, what to do next."""


class InputError(SealError):
    """A file to read is missing, malformed or ambiguous; the message names file and line."""


class IndexDirError(SealError):
    """An index directory is absent, damaged, or of another format version."""


class ModelError(SealError):
    """A language model or tokenizer cannot be found, loaded, or does not fit the index."""


class TrainingError(SealError):
    """A training run cannot go on: what it computes is no number, or its checkpoint is damaged."""


class UsageError(SealError):
    """A command was called with options that do not go together; commands exit with 2."""


class ArgumentError(UsageError, ValueError):
    """A public function was given what it cannot mean; names the argument and, of several, the position."""


def shown(value: object, limit: int = 60) -> str:
    """The value as it stands in a one-line message: its repr, cut short."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python will spell out
        text = f"a {type(value).__name__} too long to show"
    if "\n" in text:  # what numpy and pandas show of their own
        text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def one_line(error: object) -> str:
    """What an error says, for a one-line message; its kind where it says nothing."""
    return " ".join(str(error).split()) or type(error).__name__


def integer(value: object) -> int | None:
    """Python's integer of an integer of any kind, numpy's too; None of all else, truth values among it."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def check_least(settings: object, **least: float) -> None:
    """Refuse settings with numbers that mean nothing, not a number among them.

    Args:
        settings: an object with them as attributes.
        **least: the least value of each, by its name; looked at in this order. Where that is an integer, the
            value must be one, of 64 bits at most.

    Raises:
        UsageError: one is below its least, too large or no such number.
    """
    for name, smallest in least.items():
        value = getattr(settings, name)
        number = value if isinstance(smallest, float) else integer(value)
        if number is None or isinstance(number, bool | str):
            kind = "a number" if isinstance(smallest, float) else "an integer"
            raise UsageError(f"{name} is {shown(value)} ({type(value).__name__}); it must be {kind}")
        check_range(name, number, smallest)


def check_range(name: str, number: float, smallest: float) -> None:
    """Refuse a number below its least, which not a number is too, or an integer of more than 64 bits.

    Raises:
        UsageError: it is one of these.
    """
    if not number >= smallest:
        raise UsageError(f"{name} is {shown(number)}; it must be at least {smallest}")
    if isinstance(number, int) and number > MOST:
        raise UsageError(f"{name} is {shown(number)}; it must be at most {MOST}")
