"""The modes of `python -m seal_ir.index` that change an index."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions, read_ids
from seal_ir.formats.collections.kinds import names_source
from seal_ir.index.builder import BuildOptions
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import Manifest, read_manifest
from seal_ir.index.memory import parse_size
from seal_ir.index.segmenting import PhaseReport
from seal_ir.text.pretrained import DEFAULT_MODEL

_READING = ("input", "include_ids", "duplicates", "malformed", "list_empty")
_USUAL: dict[str, Any] = {
    "input": None,
    "import_seal": None,
    "include_ids": None,
    "store_raw": False,
    "fields": [],
    "store": [],
    "duplicates": "error",
    "malformed": "error",
    "list_empty": False,
    "split": None,
    "engine": BuildOptions().engine.name,
    "layout": BuildOptions().engine.layout,
    "collection": "JsonCollection",
}


def changed(args: argparse.Namespace, progress: PhaseReport) -> tuple[Collection | None, Manifest]:
    """Change an index as the arguments say; what was read, if anything, and what the index holds now.

    Raises:
        UsageError: options do not go together.
        SealError: as `SealIndexer` and `Collection` raise.
    """
    mode = next(name for name in ("append", "update", "merge", "delete") if getattr(args, name))
    kept = ("import_seal", "store_raw", "fields", "store", "engine", "layout")
    usual(args, kept, f"--{mode}: an index keeps its own")
    if mode in ("append", "update"):
        if args.input is None and not names_source(args.collection):
            raise UsageError(f"--input is missing: name the documents to {mode}")
    else:
        usual(args, (*_READING, "collection", "split"), f"--{mode}, which reads no documents")
    if mode == "update" and args.duplicates == "first":
        raise UsageError(
            "--duplicates first does not go with --update; --append --duplicates first keeps documents"
        )
    base = read_manifest(args.index)
    os.environ.setdefault("RAYON_NUM_THREADS", str(args.threads))
    options = BuildOptions(
        max_segment_tokens=args.max_segment_tokens,
        memory=parse_size(args.memory) if args.memory else None,
        threads=args.threads,
        split=args.split,
    )
    model = None if args.model == DEFAULT_MODEL else args.model
    collection = _collection(args, base) if mode in ("append", "update") else None
    with SealIndexer(args.index, model, options=options, progress=progress) as writer:
        if collection is not None and mode == "append":
            writer.add(collection, args.duplicates)
        elif collection is not None:
            writer.update(collection)
        elif mode == "delete":
            path = Path("/dev/stdin") if str(args.delete) == "-" else args.delete
            writer.delete(sorted(read_ids(path)), args.missing or "error")
        else:
            writer.merge(args.max_segments or 1)
    return collection, writer.manifest


def usual(args: argparse.Namespace, names: Sequence[str], what: str) -> None:
    """Refuse options that say something else than usual.

    Raises:
        UsageError: one does; it does not go with `what`.
    """
    for name in names:
        if getattr(args, name) != _USUAL[name]:
            option = "storeRaw" if name == "store_raw" else name.replace("_", "-")
            raise UsageError(f"--{option} does not go with {what}")


def _collection(args: argparse.Namespace, base: Manifest) -> Collection:
    include = read_ids(args.include_ids) if args.include_ids else None
    reading = ReadOptions(
        duplicates=args.duplicates,
        malformed=args.malformed,
        include_ids=include,
        keep_raw=base.has_raw,
        fields=base.further_fields,
        stored=base.record_fields,
        will_split=base.split is not None,
    )
    return Collection(args.collection, args.input, reading)
