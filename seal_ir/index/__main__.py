"""`python -m seal_ir.index`: build an index, in the spelling of Pyserini's indexer."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.command import run
from seal_ir.formats.collections import Collection, ReadOptions, collection_kinds, read_ids
from seal_ir.index.builder import BuildOptions, Progress, build_index
from seal_ir.index.engine import utf8
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer

_REPORT_SECONDS = 10


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m seal_ir.index", description="Build a SEAL index.")
    parser.add_argument("--collection", default="JsonCollection", help=", ".join(collection_kinds()))
    parser.add_argument(
        "--input", type=Path, required=True, help="file or folder of documents; for HFDataset also its name"
    )
    parser.add_argument("--index", type=Path, required=True, help="directory to write")
    parser.add_argument(
        "--model", default=DEFAULT_MODEL, help="whose tokenizer to use: folder, hub name or %(default)s"
    )
    parser.add_argument("--include-ids", type=Path, help="index only the ids in this file, one per line")
    parser.add_argument(
        "--duplicates", default="error", choices=("error", "first", "last"), help="which of equal ids to keep"
    )
    parser.add_argument(
        "--malformed", default="error", choices=("error", "skip"), help="what to do with bad records"
    )
    parser.add_argument("--list-empty", action="store_true", help="print the ids of empty documents")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="tokenizer threads")
    return parser


def main(arguments: list[str]) -> int:
    """Build an index; 0 when it is there."""
    args = _parser().parse_args(arguments)
    # Read by the tokenizer's thread pool when it starts, in this process only.
    os.environ.setdefault("RAYON_NUM_THREADS", str(max(1, args.threads)))
    include = read_ids(args.include_ids) if args.include_ids else None
    options = ReadOptions(duplicates=args.duplicates, malformed=args.malformed, include_ids=include)
    collection = Collection(args.collection, args.input, options)
    tokenizer = load_tokenizer(find_model(args.model))
    started = time.monotonic()

    def about() -> Mapping[str, Any]:
        return {
            "model": utf8(Path(args.model).resolve() if Path(args.model).is_dir() else args.model),
            "collection": {"kind": args.collection, "counts": str(collection.counts)},
        }

    manifest = build_index(collection, args.index, tokenizer, about, BuildOptions(), _reporter())
    seconds = time.monotonic() - started
    print(collection.counts)
    for fault in collection.faults:
        print(f"skipped: {fault}", file=sys.stderr)
    if collection.missing_ids:
        print(
            f"{collection.missing_ids} ids of {args.include_ids} are not in the collection", file=sys.stderr
        )
    if args.list_empty:
        for docid in collection.empty_ids:
            print(f"empty: {docid}")
    size = sum(int(entry["size"]) for entry in manifest.files.values())
    print(
        f"{args.index}: {manifest.n_documents:,} documents, {manifest.n_tokens:,} tokens, "
        f"{size:,} bytes, {seconds:.1f} s"
    )
    return 0


def _reporter() -> Progress:
    """Tells of the build's phases on stderr: of each new one, and then every ten seconds."""
    started = shown = time.monotonic()
    current = ""

    def report(phase: str, done: int) -> None:
        nonlocal shown, current
        now = time.monotonic()
        if phase != current or now - shown >= _REPORT_SECONDS:
            current, shown = phase, now
            print(f"{phase}: {done:,} documents, {now - started:.0f} s", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    run(main)
