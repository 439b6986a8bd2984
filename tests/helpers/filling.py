"""A real disk that is full: a program that fills a small one and changes an index there.

`python -m tests.helpers.filling KIND ENGINE LIMIT` mounts a disk in memory of its own, lets one page or file
more fit each time until the change does, and prints how often it did not, and all that was said then. It runs
in a namespace, see `command`, so that nothing is seen of the mount outside.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from seal_ir.errors import IndexDirError
from seal_ir.index.engine import EngineSpec
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.indexes import content

PAGE, N_PAGES, N_FILES = 4096, 512, 200
NEW = [Document("d8", "Sea", "the sea " * 300), Document("d9", "", "a river")]
BLOCKS, FILES = "blocks", "files"  # what a disk can run out of


def _append(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.add(NEW)


def _update(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.update([tiny.DOCUMENTS[0]._replace(text="the sea " * 300)])


def _delete(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.delete(["d2", "d5"])


def _merge(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.merge()


def _build(directory: Path) -> None:
    tiny.build(directory, NEW, engine=_engine_of(directory))


CHANGES: dict[str, Callable[[Path], None]] = {
    "append": _append,
    "update": _update,
    "delete": _delete,
    "merge": _merge,
    "build": _build,
}


def command(*arguments: str) -> list[str]:
    """The program with these arguments, in a namespace where it may mount."""
    program = [sys.executable, "-m", "tests.helpers.filling", *arguments]
    return ["unshare", "--user", "--map-root-user", "--mount", *program]


def can_mount() -> bool:
    """Whether this system lets a process mount a disk in memory for itself."""
    try:
        done = subprocess.run(command(), capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


def _engine_of(directory: Path) -> EngineSpec:
    return EngineSpec(Index(directory).manifest.segments[0].engine)


def _held(directory: Path) -> list[Document]:
    index = Index(directory)
    return index.documents(range(index.n_documents))


def _settled(directory: Path) -> dict[str, bytes]:
    """The files of an index, without what the next writer clears."""
    return {name: data for name, data in content(directory).items() if not name.startswith((".b", ".lock"))}


def _fill(disk: Path, limit: str, left: int) -> list[Path]:
    """Leave room for so many pages, or files; returns what took the rest."""
    if limit == BLOCKS:
        n = os.statvfs(disk).f_bfree - left
        path = disk / "full"
        with path.open("wb") as file:
            if n > 0:
                os.posix_fallocate(file.fileno(), 0, n * PAGE)
        return [path]
    paths = [disk / f"full{i}" for i in range(os.statvfs(disk).f_ffree - left)]
    for path in paths:
        path.touch()
    return paths


def _tried(kind: str, limit: str, disk: Path, old: Path) -> dict[str, Any]:
    """Every amount of room up to what suffices; the index is whole each time, and then changes after all."""
    change, said, n_failed = CHANGES[kind], set[str](), 0
    directory = disk / "index"
    shutil.copytree(old, directory)
    change(directory)
    new = _held(directory)
    for left in range(N_PAGES):
        shutil.rmtree(directory)
        shutil.copytree(old, directory)
        before, documents = _settled(directory), _held(directory)
        ballast = _fill(disk, limit, left)
        try:
            change(directory)
        except IndexDirError as error:
            said.add(str(error).replace(str(disk), "DISK"))
            n_failed += 1
        else:
            return {"failed": n_failed, "said": sorted(said)}
        finally:
            for path in ballast:
                path.unlink()
        if _held(directory) != new:  # what a commit merges of itself comes after it
            assert _settled(directory) == before
            assert _held(directory) == documents
            change(directory)
        assert _held(directory) == new
    raise AssertionError(f"{kind} never fitted")


def _main(arguments: list[str]) -> None:
    disk = Path(tempfile.mkdtemp())
    options = f"size={N_PAGES * PAGE},nr_inodes={N_FILES}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)], check=True)
    if not arguments:
        return
    kind, engine, limit = arguments
    with tempfile.TemporaryDirectory() as folder, patch.object(os, "fsync", lambda handle: None):
        old = Path(folder, "index")
        tiny.build(old, tiny.DOCUMENTS[:4], engine=EngineSpec(engine), store_raw=True)
        with SealIndexer(old) as writer:
            writer.add(tiny.DOCUMENTS[4:])
            writer.delete(["d6"])
        print(json.dumps(_tried(kind, limit, disk, old)))


if __name__ == "__main__":
    _main(sys.argv[1:])
