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


class ClusterError(SealError):
    """A Ray cluster cannot be reached, or has lost what an index needs of it."""


class UsageError(SealError):
    """A command was called with options that do not go together; commands exit with 2."""


class ArgumentError(UsageError, ValueError):
    """A public function was given what it cannot mean; names the argument and, of several, the position."""


class MissingPackageError(UsageError, ImportError):
    """An optional package is not installed; names the extra that has it."""


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
