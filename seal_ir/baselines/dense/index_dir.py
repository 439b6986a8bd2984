"""A Faiss index in Pyserini's layout: `index` and `docid`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.baselines.built_from import check_built_from
from seal_ir.errors import UsageError

INDEX, DOCIDS = "index", "docid"  # Pyserini's names; one docid a line, in the order of the vectors


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


def check_about(directory: Path, wanted: Mapping[str, Any]) -> None:
    """Refuse an index that was built from something else; see `check_built_from`."""
    check_built_from(directory, wanted, "name another --faiss, or leave the option out")
