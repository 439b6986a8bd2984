"""What tests of index directories share: an index of two segments to spoil, and reading all its files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index.manifest import MANIFEST, manifest_checksum
from seal_ir.index.reader import Index
from seal_ir.records import Document

NEW = [Document("new", "New", "Another text.")]


def content(directory: Path) -> dict[str, bytes]:
    """Every file below a folder, by path."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in paths}


def part(directory: Path, name: str) -> Path:
    """A file of an index by its `plain` name."""
    files = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))["files"]
    return directory / {plain(path): path for path in files}[name]


def plain(path: str) -> str:
    """The path of a file without what tells one content from another."""
    return re.sub(r"(?<=segment-\d{6})-[0-9a-f]{12}|(?<=tokenizer)\.[0-9a-f]{8}", "", path)


def edit(directory: Path, **values: Any) -> None:
    """Change the manifest by hand and make its checksum agree, or every change would be found by that."""
    path = directory / MANIFEST
    known = json.loads(path.read_text(encoding="utf-8")) | values
    del known["checksum"]
    path.write_text(json.dumps(known | {"checksum": manifest_checksum(known)}), encoding="utf-8")


def refused(directory: Path) -> str:
    """The one line with which an index is not opened."""
    with pytest.raises(IndexDirError) as error:
        Index(directory, check="bytes")
    assert "\n" not in str(error.value)
    assert "python -m seal_ir.index" in str(error.value)
    return str(error.value)


def ids(directory: Path) -> list[str]:
    index = Index(directory)
    return [index.docid(number) for number in range(index.n_documents)]
