"""What tests of index directories share: an index of two segments to spoil, and reading all its files."""

from __future__ import annotations

import json
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
