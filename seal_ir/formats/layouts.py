"""Folders in BEIR's layout: `corpus.jsonl`, and beside it `queries.jsonl` or `qrels/`: no documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from seal_ir.formats.compression import READ_SUFFIXES

_PACKED = ("", *READ_SUFFIXES)
_NAMED = 3  # files that a note names


class Documents(NamedTuple):
    """Files to read, and what to tell the user of those that are left out; "" for nothing."""

    paths: list[Path]
    note: str = ""


def without_queries(root: Path, paths: Sequence[Path]) -> Documents:
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
        return Documents(list(paths))
    kept, left = [], []
    for path in paths:
        if laid_out.isdisjoint(path.parents) or (path.parent in laid_out and _is(path, "corpus.jsonl")):
            kept.append(path)
        else:
            left.append(path.relative_to(root).as_posix())
    names = ", ".join(left[:_NAMED]) + (", ..." if len(left) > _NAMED else "")
    return Documents(kept, f"{root}: laid out as BEIR's, only the corpus is read; left out: {names}")


def _is(path: Path, name: str) -> bool:
    return path.name.lower() in {name + packed for packed in _PACKED}
