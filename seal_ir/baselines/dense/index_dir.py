"""A Faiss index in Pyserini's layout: `index` and `docid`, and beside them what it was made from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.formats.io.files import shown

INDEX, DOCIDS = "index", "docid"  # Pyserini's names; one docid a line, in the order of the vectors
ABOUT = "seal-ir.json"  # ours; Pyserini passes over it


def check_faiss(needing: str) -> None:
    """Refuse to go on without Faiss; the message begins with what is `needing` it.

    Raises:
        UsageError: it is missing; says what to install.
    """
    try:
        import faiss  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"{needing} Faiss ({error}); pip install 'seal-ir[pyserini]', which has it"
        ) from error


def is_faiss_index(directory: Path) -> bool:
    """Whether a directory holds a finished index."""
    return all((directory / name).is_file() for name in (INDEX, DOCIDS))


def read_about(directory: Path) -> dict[str, Any]:
    """What an index was made from; {} for one that we did not build.

    Raises:
        IndexDirError: the file is damaged.
    """
    path = directory / ABOUT
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise IndexDirError(f"{path}: damaged ({error}); remove the index and build it again") from error


def check_about(directory: Path, wanted: Mapping[str, Any]) -> None:
    """Refuse an index that was made from something else; one that we did not build passes.

    Raises:
        IndexDirError: see `read_about`.
        UsageError: it was made from another collection, by another encoder, or in another way.
    """
    built = read_about(directory)
    for name, value in wanted.items() if built else ():
        if built.get(name) != value:
            raise UsageError(
                f"{directory}: built with {name} {shown(built.get(name))}, not {shown(value)}; "
                "name another --faiss, or leave the option out"
            )
