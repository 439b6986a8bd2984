"""What a reader under test is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

from seal_ir.errors import SealError
from tests.fuzz.mutations import mutated

Make = Callable[[Path], Mapping[str, bytes] | None]


def _nothing(folder: Path) -> None: ...


class Reader(NamedTuple):
    """A reader under test.

    Attributes:
        name: of the folder of its regression files.
        make: writes valid files into an empty folder, or returns them by name.
        read: reads them all; may return refusals of single readers where others have read.
        changed: which of them are made hostile, as a pattern of names; all by default.
        alone: each file is read by itself, and `read` is given its path rather than the folder's.
        change: makes one hostile.
        close: ends what `read` keeps alive for a folder.
    """

    name: str
    make: Make
    read: Callable[[Path], object]
    changed: str = "*"
    alone: bool = False
    change: Callable[[bytes, Random], bytes] = mutated
    close: Callable[[Path], object] = _nothing


def all_of(calls: list[Callable[[], object]]) -> list[SealError]:
    """Calls every one; what those that refuse have to say, or the last of it raised if all do."""
    refused = []
    for call in calls:
        try:
            call()
        except SealError as error:
            refused.append(error)
    if len(refused) == len(calls):
        raise refused[-1]
    return refused


def of(files: Mapping[str, bytes]) -> Make:
    return lambda folder: files
