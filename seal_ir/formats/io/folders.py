"""The files of a folder that are to be read: by their names, and of one in BEIR's layout the corpus only.

In that layout `queries.jsonl` and `qrels/` lie beside `corpus.jsonl`; they hold no documents.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.files import is_file
from seal_ir.formats.io.inputs import READ_SUFFIXES, REFUSED_SUFFIXES, rereadable

_PACKED = ("", *READ_SUFFIXES)
_NAMED = 3  # files that a note names


class DocumentFiles(NamedTuple):
    """Files to read, and what to tell the user of those that are left out; "" for nothing."""

    paths: list[Path]
    note: str = ""


def find_documents(path: Path, suffixes: Collection[str]) -> DocumentFiles:
    """The file itself, or the files below a folder with one of the suffixes, sorted by name.

    A suffix also stands for its compressed forms (`.jsonl` for `.jsonl.gz`), those that cannot be read
    included, so that opening reports them instead of leaving them out. Hidden files and folders are
    passed over. Links to folders are followed. Of a folder in BEIR's layout only the corpus is taken.

    Raises:
        InputError: nothing is there, or the folder has no such file.
    """
    if is_file(path):
        return DocumentFiles([rereadable(path)])
    path = Path(path)
    if not os.access(path, os.R_OK) or not path.is_dir():
        raise InputError(f"{path}: no such file or folder, or not readable; check the path")
    endings = tuple(
        suffix + packed for suffix in suffixes for packed in ("", *READ_SUFFIXES, *REFUSED_SUFFIXES)
    )
    names = sorted(_walk(path), key=lambda name: name.relative_to(path).as_posix())
    documents = without_queries(path, names)
    found = [name for name in documents.paths if name.name.lower().endswith(endings)]
    if not found:
        expected = ", ".join(suffixes)
        raise InputError(
            f"{path}: no file to read in this folder, {_seen(names, documents)};"
            f" expected {expected} (or {expected}.gz)"
        )
    return documents._replace(paths=found)


def _seen(names: list[Path], documents: DocumentFiles) -> str:
    """What is in a folder in which nothing is to be read."""
    if not names:
        return "it is empty"
    if documents.note:
        return "it is laid out as BEIR's, whose corpus is a JsonCollection"
    tables = any(".tsv" in name.suffixes for name in names)
    hint = ", some are tables: add --collection TsvCollection" if tables else ""
    return f"its {len(names)} files have other names{hint}"


def _walk(root: Path) -> Iterator[Path]:
    """Files below a folder, not hidden ones; each folder once, however many links lead to it."""

    def refuse(error: OSError) -> None:
        raise InputError(
            f"{error.filename}: cannot be read ({error.strerror}); check its permissions"
        ) from error

    visited: set[str] = set()
    for folder, subfolders, names in os.walk(root, followlinks=True, onerror=refuse):
        real = os.path.realpath(folder)
        if real in visited:
            subfolders.clear()
            continue
        visited.add(real)
        subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
        yield from (Path(folder, name) for name in names if not name.startswith("."))


def without_queries(root: Path, paths: Sequence[Path]) -> DocumentFiles:
    """The files, but of folders in BEIR's layout the corpus only.

    Args:
        root: the folder that they are below.
        paths: all files below it, in order.
    """
    folders = {path.parent for path in paths if _is(path, "corpus.jsonl")}
    beside = {path.parent for path in paths if _is(path, "queries.jsonl")}
    beside |= {path.parent.parent for path in paths if path.parent.name == "qrels"}
    laid_out = folders & beside
    if not laid_out:
        return DocumentFiles(list(paths))
    kept, left = [], []
    for path in paths:
        if laid_out.isdisjoint(path.parents) or (path.parent in laid_out and _is(path, "corpus.jsonl")):
            kept.append(path)
        else:
            left.append(path.relative_to(root).as_posix())
    names = ", ".join(left[:_NAMED]) + (", ..." if len(left) > _NAMED else "")
    return DocumentFiles(kept, f"{root}: laid out as BEIR's, only the corpus is read; left out: {names}")


def _is(path: Path, name: str) -> bool:
    return path.name.lower() in {name + packed for packed in _PACKED}
