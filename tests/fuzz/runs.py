"""Readers on hostile files: one after the other, for a number of examples or for minutes."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.contract import BrokenContractError, check
from tests.fuzz.reader import Reader
from tests.fuzz.readers import READERS
from tests.helpers.commands import ROOT

REGRESSIONS = ROOT / "tests" / "golden" / "fuzz"  # READER/CHECKSUM/NAME, `+` for `/` in the name


class Prepared(NamedTuple):
    """A reader and the folder with its valid files; `names` are those that may be changed."""

    reader: Reader
    folder: Path
    names: list[str]


class Found(NamedTuple):
    """A file that broke the contract."""

    reader: str
    name: str
    content: bytes
    why: str


@contextmanager
def prepared(reader: Reader, folder: Path) -> Iterator[Prepared]:
    """The reader's valid files in an empty folder, each read once; closes the reader at the end."""
    try:
        yield _prepared(reader, folder)
    finally:
        reader.close(folder)


def _prepared(reader: Reader, folder: Path) -> Prepared:
    for name, content in (reader.make(folder) or {}).items():
        (folder / name).write_bytes(content)
    paths = sorted(path for path in folder.glob(reader.changed) if path.is_file())
    names = [path.relative_to(folder).as_posix() for path in paths if path.name != ".lock"]
    assert names, reader.name
    for name in names:
        reader.read(folder / name if reader.alone else folder)  # imports what it needs, at its leisure
        assert check(reader, folder, name, (folder / name).read_bytes()) == "read", (reader.name, name)
    return Prepared(reader, folder, names)


def changed(of: Prepared, chance: Random) -> tuple[str, bytes]:
    """One of the files, and what it is changed to; now and then what another of them holds."""
    name = chance.choice(of.names)
    content = (of.folder / (name if chance.random() < 0.97 else chance.choice(of.names))).read_bytes()
    return name, of.reader.change(content, chance)


def faults(of: Prepared, seconds: float, chance: Random, counts: Counter[str]) -> Iterator[Found]:
    """Faults that come up in a time, each kind once: the kind is the message without what changes."""
    end, known = time.monotonic() + seconds, set()
    while time.monotonic() < end:
        name, content = changed(of, chance)
        try:
            counts[check(of.reader, of.folder, name, content)] += 1
        except BrokenContractError as error:
            counts["broken"] += 1
            cause = error.__cause__
            kind = (type(cause).__name__, str(error)[:60] if cause is None else str(cause)[:20])
            if kind not in known:
                known.add(kind)
                yield Found(of.reader.name, name, content, str(error))


def save(found: Found) -> Path:
    """Where the file is kept from now on, for the test that reads all of these again."""
    folder = REGRESSIONS / found.reader / hashlib.sha256(found.content).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / found.name.replace("/", "+")
    path.write_bytes(found.content)
    return path


def regressions() -> list[tuple[str, Path]]:
    """The reader's name and the path of each file that once broke the contract."""
    return [(path.parent.parent.name, path) for path in sorted(REGRESSIONS.glob("*/*/*"))]


def named(name: str) -> Reader:
    return next(reader for reader in READERS if reader.name == name)
