"""What a user may see go wrong. Everything else is a bug and keeps its traceback."""

from __future__ import annotations

import re

# What a text may hold that others must not read: the user of an address, a value of its query that opens
# something, a header with a key, a token of the hub.
_SECRETS = (
    (re.compile(r"(://)[^/\s]+@"), r"\1...@"),
    (
        re.compile(
            r"([?&][\w.-]*(?:key|token|sig|signature|secret|password|credential)=)[^&\s'\")]+", re.IGNORECASE
        ),
        r"\1...",
    ),
    (re.compile(r"(\bauthorization\W+\w+\s+|\bx-api-key\W+)[^\s'\",]{8,}", re.IGNORECASE), r"\1..."),
    (re.compile(r"(\bBearer\s+)[^\s'\",]{8,}"), r"\1..."),
    (re.compile(r"\bhf_[A-Za-z0-9]{8,}"), "hf_..."),
)


def redacted(text: str) -> str:
    """The text without the passwords, keys and tokens in it, for messages and logs."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


class SealError(Exception):
    """A fault on the user's side, told in one line: what, where, the value seen, what to do next.

    What it quotes of others, such as the address that did not answer, is told without keys and passwords.
    """

    def __str__(self) -> str:
        """The message."""
        return redacted(super().__str__())


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


def one_line(error: object, limit: int | None = None) -> str:
    """What an error says, or else its kind, for a one-line message: `limit` characters of it."""
    return (" ".join(str(error).split()) or type(error).__name__)[:limit]
