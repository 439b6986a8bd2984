"""Registered indexes that are not there yet: downloaded or built when they are asked for.

What comes with the package is built at once. For all else the user is told what and how large, and asked.
"""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import redirect_stdout
from pathlib import Path

from seal_ir.command import confirm
from seal_ir.errors import UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.index.download import downloaded
from seal_ir.index.registry import (
    IndexEntry,
    absent,
    find_index,
    index_for,
    is_directory,
    registered,
    serving,
)
from seal_ir.models.weights import ensure_weights
from seal_ir.text.pretrained import DEFAULT_MODEL

_COMMAND = ["python", "-m", "seal_ir.index"]
_DATA = "$SEAL_IR_DATA"


def asked_index(name: str, places: Places, yes: bool = False) -> Path:
    """The directory itself, or that of a registered index, which is made if it is not there.

    Args:
        name: a directory, or a registered name.
        places: where files are.
        yes: make it without asking.

    Raises:
        UsageError: no such index, or nobody agreed; says how to make it.
        SealError: it cannot be made.
    """
    if not is_directory(name):
        for entry in registered(places):
            if entry.name == name and not entry.present:
                return _made(entry, places, yes)
    return find_index(name, places)


def asked_index_for(topics: str, places: Places, yes: bool = False) -> IndexEntry:
    """The best index that is there for topics given by name; where none is, the best that can be made.

    Raises:
        UsageError: no index serves these topics, or nobody agreed; says how to make one.
        SealError: it cannot be made.
    """
    suitable = serving(topics, places)
    can = [entry for entry in suitable if entry.download is not None or _words(entry, places)]
    if not any(entry.present for entry in suitable) and can:
        if yes or can[0].bundled or _is_terminal():
            _made(can[0], places, yes)
        else:
            raise UsageError(f"{absent(topics, suitable)}; --yes makes {can[0].name}: {_told(can[0])}")
    return index_for(topics, places)


def _is_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr and sys.stderr.isatty())


def _made(entry: IndexEntry, places: Places, yes: bool) -> Path:
    if entry.download is not None:
        return downloaded(entry, yes)
    words = _words(entry, places)
    by_hand = f"index {entry.name!r} is not built; build it with: {entry.build}"
    if not words:
        needs = _DATA in entry.build and places.data is None
        raise UsageError(by_hand + (" (SEAL_IR_DATA is not set: name the folder there)" if needs else ""))
    sys.stderr.write(f"index {entry.name} is not built: {_told(entry)}, in {entry.directory}\n")
    if not (yes or entry.bundled):
        confirm("build it?", f"{by_hand}, or agree with --yes", f"index {entry.name!r} was not built")
    ensure_weights(_model(words), yes)  # whose tokenizer is needed
    from seal_ir.index.__main__ import main as build

    with redirect_stdout(sys.stderr):
        build(words)
    return entry.directory


def _told(entry: IndexEntry) -> str:
    """What an index is, and how large."""
    n_bytes = entry.n_bytes if entry.download is None else entry.download.n_bytes
    return entry.description + (f", about {n_bytes / 1e6:,.1f} MB" if n_bytes else "")


def _words(entry: IndexEntry, places: Places) -> list[str]:
    """The arguments of our command that builds an index; none where another does, or data are missing."""
    words = shlex.split(entry.build)
    if words[: len(_COMMAND)] != _COMMAND or (_DATA in entry.build and places.data is None):
        return []
    return [word.replace(_DATA, os.fspath(places.data or "")) for word in words[len(_COMMAND) :]]


def _model(words: list[str]) -> str:
    return words[words.index("--model") + 1] if "--model" in words else DEFAULT_MODEL
