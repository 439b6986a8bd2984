"""Opening one generation of an index as a whole, while builds may replace it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from seal_ir.arrays import Ints
from seal_ir.errors import IndexDirError, UsageError
from seal_ir.extensions import SDSL
from seal_ir.index.deletions import LiveTable, live_numbers, read_deleted
from seal_ir.index.directory import BUILD, REBUILD, damaged
from seal_ir.index.documents import DocumentTable
from seal_ir.index.engine import Engine
from seal_ir.index.engines import open_engine
from seal_ir.index.manifest import MANIFEST, Manifest, SegmentInfo, check_bytes, check_files, read_manifest
from seal_ir.index.segments import ENGINE_FILE
from seal_ir.index.stores import Stores

Check = Literal["bytes", "sizes"]
_ATTEMPTS = 100  # generations that may come and go while one is being opened


@dataclass(frozen=True, slots=True)
class Opened:
    """Everything of one generation, open or in memory: no file of it is looked for again.

    Attributes:
        manifest: what it holds.
        tokenizer: the bytes of the tokenizer's file.
        engines: of the segments, in document order.
        tables: the documents of the segments.
        stores: their tokens, if all segments have them stored.

    Deleted documents are nowhere in there: all is of the live ones, numbered without them.
    """

    manifest: Manifest
    tokenizer: bytes
    engines: list[Engine]
    tables: list[DocumentTable | LiveTable]
    stores: Stores | None


def open_generation(directory: Path, check: Check, manifest: Manifest | None = None) -> Opened:
    """Open the files of a manifest: by default of the one that is in the directory now.

    Where a build has replaced it meanwhile, files may be gone: then those of the new manifest are opened.

    Raises:
        IndexDirError: not an index, damaged, or of another format.
        UsageError: `check` is unknown.
    """
    if check not in get_args(Check):
        raise UsageError(f"check is {check!r}; choose one of {', '.join(get_args(Check))}")
    for _ in range(_ATTEMPTS):
        stamp = _stamp(directory)
        try:
            return _opened(directory, check, manifest or read_manifest(directory))
        except IndexDirError:
            if manifest is not None or _stamp(directory) == stamp:
                raise
    raise IndexDirError(
        f"{directory}: replaced {_ATTEMPTS} times while it was being opened; wait for the builds to end"
        f" ({BUILD})"
    )


def other_tokenizer(path: Path) -> IndexDirError:
    """The error for a tokenizer that is not the manifest's."""
    return IndexDirError(f"{path.parent}: {path.name} is not the index's own; {REBUILD}")


def _stamp(directory: Path) -> tuple[int, ...]:
    """What differs between any two manifests that were put in place."""
    try:
        status = (directory / MANIFEST).stat()
    except OSError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_ctime_ns, status.st_size


def _opened(directory: Path, check: Check, manifest: Manifest) -> Opened:
    # The sdsl engine trusts its file, and reads all of it: that is compared before, whatever is asked for.
    trusted = {f"{segment.name}/{ENGINE_FILE}" for segment in manifest.segments if segment.engine == SDSL}
    if not trusted <= manifest.files.keys():
        raise damaged(directory / MANIFEST, "a segment has no engine")
    check_files(directory, manifest, manifest.files if check == "bytes" else trusted)
    tokenizer = _tokenizer(directory, manifest, check)
    engines: list[Engine] = []
    tables: list[DocumentTable | LiveTable] = []
    lives: list[Ints | None] = []
    for part in manifest.segments:
        folder = directory / part.name
        engine = open_engine(part.engine, folder / ENGINE_FILE)
        table = DocumentTable(
            folder, part.n_documents, with_raw=manifest.has_raw, stored=manifest.stored_fields
        )
        engines.append(_live_engine(directory, part, engine) if part.deleted else engine)
        live = live_numbers(part, read_deleted(directory, part)) if part.deleted else None
        lives.append(live)
        tables.append(table if live is None else LiveTable(table, live))
    stores = Stores(directory, manifest.segments, lives) if manifest.has_stores else None
    return Opened(manifest, tokenizer, engines, tables, stores)


def _live_engine(directory: Path, part: SegmentInfo, engine: Engine) -> Engine:
    """The engine of a segment's live documents."""
    live = engine.without(read_deleted(directory, part))
    if live.n_rows != part.n_live_tokens + 1:
        told = f"{live.n_rows - 1} tokens of {part.name} are live, not {part.n_live_tokens}"
        raise damaged(directory / MANIFEST, told)
    return live


def _tokenizer(directory: Path, manifest: Manifest, check: Check) -> bytes:
    """The bytes of the tokenizer's file, whose checksum is the tokenizer's fingerprint."""
    path = directory / manifest.tokenizer_file
    if manifest.files.get(path.name, {}).get("sha256") != manifest.tokenizer:
        raise other_tokenizer(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise IndexDirError(f"{path}: cannot be read ({error.strerror}); {REBUILD}") from error
    if check == "bytes":
        check_bytes(path, hashlib.sha256(data).hexdigest(), manifest.files[path.name])
    return data
