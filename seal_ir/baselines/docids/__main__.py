"""`python -m seal_ir.baselines.docids`: a collection with the identifiers of DSI as a further field."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from seal_ir.baselines.dense.index_dir import check_faiss
from seal_ir.baselines.docids.clustering import Paths, TreeConfig, tree_paths
from seal_ir.baselines.docids.vectors import read_rows, read_vectors
from seal_ir.baselines.rewriting import write_again
from seal_ir.baselines.run_command import add_collection_options, collection_of
from seal_ir.command import CommandParser, run
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.packed import check_packed
from seal_ir.records import Document

FIELD = "docid"


def _parser() -> argparse.ArgumentParser:
    defaults = TreeConfig()
    parser = CommandParser(
        prog="python -m seal_ir.baselines.docids",
        description="Cluster a dense index's vectors, clusters again, and write the collection with each"
        f' document\'s way down as the field "{FIELD}", the identifier of DSI.',
    )
    add = parser.add_argument
    add(
        "--faiss",
        type=Path,
        required=True,
        help="Faiss index, as python -m seal_ir.baselines.dense builds it",
    )
    add("--output", type=Path, required=True, help="collection to write: .jsonl or .jsonl.gz")
    add_collection_options(parser, "only the ids in this file, one per line", required=True)
    add("--branches", type=int, default=defaults.branches, help="clusters of a cluster (%(default)s)")
    add("--leaf", type=int, default=defaults.leaf, help="documents not split any more (%(default)s)")
    add("--seed", type=int, default=defaults.seed, help="of the clustering (%(default)s)")
    return parser


def main(arguments: list[str]) -> int:
    """Cluster, and write the collection again; 0 when it is written."""
    args = _parser().parse_args(arguments)
    config = TreeConfig(args.branches, args.leaf, args.seed)
    check_packed(args.output)
    check_faiss("clusters need")
    rows = read_rows(args.faiss)
    collection = collection_of(args, keep_raw=True)
    docids = [document.id for document in collection]
    sys.stderr.write(f"{collection.counts}\n")
    if not docids:
        raise UsageError(f"{args.input}: no documents to name ({collection.counts})")
    started = time.monotonic()
    paths = tree_paths(read_vectors(args.faiss, rows, docids), config)
    sys.stderr.write(f"{_summary(paths)}, {time.monotonic() - started:.1f} s\n")
    named = dict(zip(docids, (" ".join(map(str, path)) for path in paths), strict=True))

    def identifier(document: Document, _: object) -> str:
        if document.id not in named:
            raise UsageError(f"{document.id}: the collection has changed while it was read; start again")
        return named[document.id]

    write_again(collection, args.output, FIELD, identifier)
    if not is_stream(args.output):
        sys.stdout.write(f"{utf8(args.output)}\n")
    return 0


def _summary(paths: Paths) -> str:
    lengths = [len(path) for path in paths]
    n_leaves = len({path[:-1] for path in paths})
    mean = sum(lengths) / len(lengths)
    return (
        f"{len(paths):,} documents in {n_leaves:,} leaves; identifiers of {min(lengths)} to {max(lengths)}"
        f" numbers, {mean:.1f} on average"
    )


if __name__ == "__main__":
    run(main)
