"""What a user may see go wrong. Everything else is a bug and keeps its traceback."""

from __future__ import annotations


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


def check_least(settings: object, **least: float) -> None:
    """Refuse settings with numbers that mean nothing, not a number among them.

    Args:
        settings: an object with them as attributes.
        **least: the least value of each, by its name; looked at in this order.

    Raises:
        UsageError: one is below its least.
    """
    for name, smallest in least.items():
        value = getattr(settings, name)
        if not value >= smallest:
            raise UsageError(f"{name} is {value}; it must be at least {smallest}")
