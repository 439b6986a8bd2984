"""What lies on the disk: the cache, the user's data, indexes and models."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from seal_ir.doctor.findings import ABSENT, BROKEN, OK, Finding
from seal_ir.errors import InputError, SealError, one_line
from seal_ir.formats.io.resolve import Places
from seal_ir.index.manifest import read_manifest
from seal_ir.index.registry import IndexEntry, how_to_make, registered
from seal_ir.models.weights import SIZE
from seal_ir.text.pretrained import BASE_MODEL, DEFAULT_MODEL, FETCH_BASE, PACKAGED, find_model, has_weights
from seal_ir.text.registered import AbsentModelError, registered_models


def cache() -> Iterator[Finding]:
    """The cache and its size, and the folder of data."""
    try:
        places = Places.from_environment()
        folder = places.cache
    except InputError as error:
        told, _, mend = str(error).rpartition("; ")
        yield Finding("files", "cache", BROKEN, told or str(error), mend)
        return
    there = next(above for above in (folder, *folder.parents) if above.exists())
    size = f"{folder}: {size_of(folder) / 1e6:,.1f} MB" if folder.exists() else f"{folder}, not made yet"
    free = f"{shutil.disk_usage(there).free / 1e9:,.1f} GB free"
    if os.access(there, os.W_OK) and there.is_dir():
        yield Finding("files", "cache", OK, f"{size}; {free}")
    else:
        mend = "set SEAL_IR_CACHE to a folder that can be written"
        yield Finding("files", "cache", BROKEN, f"{folder}: {there} cannot be written", mend)
    if places.data is None:
        yield Finding("files", "SEAL_IR_DATA", ABSENT, "not set; only needed for data of your own by name")
    else:
        yield Finding("files", "SEAL_IR_DATA", OK, str(places.data))


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder; what cannot be looked at counts nothing, and links are not followed."""
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(Path(above, name)).st_size
    return total


def indexes() -> Iterator[Finding]:
    """The registered indexes."""
    for entry in registered(Places.from_environment()):
        yield _index(entry)


def _index(entry: IndexEntry) -> Finding:
    if not entry.present:
        size = f", about {entry.n_bytes / 1e6:,.1f} MB" if entry.n_bytes else ""
        when = "; built when it is first asked for" if entry.bundled else ""
        return Finding("indexes", entry.name, ABSENT, f"{entry.description}{size}{when}", how_to_make(entry))
    try:
        manifest = read_manifest(entry.directory)
    except SealError as error:
        return Finding("indexes", entry.name, BROKEN, one_line(error), how_to_make(entry))
    size = f"{size_of(entry.directory) / 1e6:,.1f} MB"
    told = f"{manifest.n_documents:,} documents, {size}, for {manifest.model}"
    return Finding("indexes", entry.name, OK, told)


def models() -> Iterator[Finding]:
    """The packaged models, the weights that they build on, and those that are published."""
    for path in sorted(PACKAGED.glob("*/seal.json")):
        told = f"comes with seal-ir, builds on {BASE_MODEL}"
        default = ", the default" if path.parent.name == DEFAULT_MODEL else ""
        yield Finding("models", path.parent.name, OK, told + default)
    if has_weights():
        files = find_model(BASE_MODEL)
        yield Finding("models", BASE_MODEL, OK, str(files.gguf or files.source))
    else:
        yield Finding("models", BASE_MODEL, ABSENT, f"the weights are not here ({SIZE})", FETCH_BASE)
    for entry in registered_models(Places.from_environment()):
        if entry.download is not None:
            yield _published(entry.name)


def _published(name: str) -> Finding:
    try:
        return Finding("models", name, OK, find_model(name).source)
    except AbsentModelError as error:
        told, mend = f"not downloaded ({error.published.size})", error.published.command
        return Finding("models", name, ABSENT, told, mend)


def hub() -> Iterator[Finding]:
    """Whether names of other models may be looked up in the hub; nobody is asked."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    off = [name for name in names if os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")]
    if off:
        yield Finding("models", "hub", ABSENT, f"{off[0]} forbids asking it", f"unset {off[0]}")
    else:
        yield Finding("models", "hub", OK, "asked for models that are not here; not tried now")
