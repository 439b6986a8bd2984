"""What an index of another system was built from: kept beside it, and compared with what is wanted now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.io.files import shown
from seal_ir.search.bm25 import ABOUT
from seal_ir.structured import load_json


def read_about(directory: Path) -> dict[str, Any]:
    """What an index was built from; {} for one that we did not build.

    Raises:
        IndexDirError: the file is damaged.
    """
    path = directory / ABOUT
    if not path.is_file():
        return {}
    try:
        return dict(load_json(path))
    except (OSError, ValueError, TypeError) as error:
        raise IndexDirError(f"{path}: damaged ({error}); remove the index and build it again") from error


def check_built_from(directory: Path, wanted: Mapping[str, Any], advice: str) -> None:
    """Refuse an index that was built from something else; one that we did not build passes.

    Args:
        directory: the index.
        wanted: what it has to be built from.
        advice: what to do else, for the message.

    Raises:
        IndexDirError: see `read_about`.
        UsageError: it was built from another collection, by another encoder, or in another way.
    """
    built = read_about(directory)
    for name, value in wanted.items() if built else ():
        if built.get(name) != value:
            raise UsageError(
                f"{directory}: built with {name} {shown(built.get(name))}, not {shown(value)}; {advice}"
            )
