"""What is opened as an index but is no file of one: refused at once, in one line that names it."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from seal_ir.index.engine import ENGINES

READERS = [*((f"_{engine}", "Engine") for engine in ENGINES), ("_sdsl", "Published"), ("_sdsl", "Baseline")]
KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "absent": (lambda path: None, "cannot be opened: No such file or directory"),
    "folder": (Path.mkdir, "cannot be opened: Is a directory|is not a file"),
    "pipe": (os.mkfifo, "cannot be opened|is not a file"),  # opening one waits for a writer
    "empty": (Path.touch, "is too short|is truncated"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("module", "reader"), READERS)
def test_what_is_no_index_file_is_refused(module: str, reader: str, kind: str, tmp_path: Path) -> None:
    pytest.importorskip(f"seal_ir.{module}")
    path = tmp_path / "fm.bin"
    make, message = KINDS[kind]
    make(path)
    with pytest.raises(RuntimeError, match=message) as refusal:
        getattr(import_module(f"seal_ir.{module}"), reader).open(str(path))
    assert str(refusal.value).startswith(f"{path} ") and "\n" not in str(refusal.value)
