"""`python -m seal_ir.baselines.bm25`: a run by BM25, with a Lucene index built where there is none."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from seal_ir.baselines.bm25 import Bm25Config, Source, build, check_source, is_lucene_index, search
from seal_ir.command import run
from seal_ir.errors import UsageError
from seal_ir.formats.collections import Collection, ReadOptions, collection_kinds, read_ids
from seal_ir.formats.files import atomic_writer
from seal_ir.formats.named import Places, resolve_topics
from seal_ir.formats.topics import read_topics
from seal_ir.formats.trec import RunWriter
from seal_ir.progress import Progress
from seal_ir.pyserini_plugin import check_installed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seal_ir.baselines.bm25",
        description="Search topics with BM25 (Lucene, through Pyserini) and write a run file.",
    )
    add = parser.add_argument
    add("--lucene", type=Path, required=True, help="Lucene index; built from --input where there is none")
    add("--topics", required=True, help="file, or a name such as nq-test or demo")
    add("--output", type=Path, required=True, help="run file")
    add("--input", type=Path, help="file or folder of documents")
    add("--collection", default="JsonCollection", help=", ".join(collection_kinds()))
    add("--include-ids", type=Path, help="index only the ids in this file, one per line")
    add("--duplicates", default="error", choices=("error", "first", "last"), help="which of equal ids")
    add("--malformed", default="error", choices=("error", "skip"), help="what to do with bad records")
    add("--hits", type=int, default=100, help="documents per topic (%(default)s)")
    add("--k1", type=float, default=0.9, help="BM25's k1 (%(default)s)")
    add("--b", type=float, default=0.4, help="BM25's b (%(default)s)")
    add("--threads", type=int, default=os.cpu_count() or 1, help="Lucene's threads")
    add("--tag", default="bm25", help="sixth column of the run (%(default)s)")
    return parser


def main(arguments: list[str]) -> int:
    """Build the index where there is none, and search; 0 when the run is written."""
    args = _parser().parse_args(arguments)
    config = Bm25Config(k1=args.k1, b=args.b, hits=args.hits, threads=args.threads)
    check_installed()
    topics = read_topics(resolve_topics(args.topics, Places.from_environment()))
    _prepare(args)
    started = time.monotonic()
    progress = Progress(len(topics), "queries")
    n_empty = 0
    with RunWriter(args.output, tag=args.tag) as writer:
        for topic, hits in search(args.lucene, topics, config):
            writer.write(topic.id, hits)
            n_empty += not hits
            progress.advance(1)
    progress.close()
    seconds = round(time.monotonic() - started, 1)
    about = {"system": "bm25", **asdict(config), "topics": args.topics, "index": str(args.lucene)}
    with atomic_writer(args.output.with_name(f"{args.output.name}.config.json")) as file:
        json.dump({**about, "n_topics": len(topics), "seconds": seconds}, file, indent=2, ensure_ascii=False)
        file.write("\n")
    print(args.output)
    if n_empty:
        print(f"{n_empty} of {len(topics)} topics have no hits", file=sys.stderr)
    return 0


def _prepare(args: argparse.Namespace) -> None:
    """Build the index, or check that the one there is of the collection named."""
    if args.input is None:
        if not is_lucene_index(args.lucene):
            raise UsageError(f"{args.lucene}: no Lucene index; give --input to build it")
        return
    source = Source(
        args.collection,
        str(args.input.resolve() if args.input.exists() else args.input),  # a hub name stays one
        str(args.include_ids.resolve()) if args.include_ids else None,
        args.duplicates,
        args.malformed,
    )
    if is_lucene_index(args.lucene):
        check_source(args.lucene, source)
        return
    include = read_ids(args.include_ids) if args.include_ids else None
    options = ReadOptions(duplicates=args.duplicates, malformed=args.malformed, include_ids=include)
    collection = Collection(args.collection, args.input, options)
    started = time.monotonic()
    n_documents = build(collection, source, args.lucene, args.threads)
    print(collection.counts, file=sys.stderr)
    seconds = time.monotonic() - started
    print(f"{args.lucene}: {n_documents:,} documents, {seconds:.1f} s", file=sys.stderr)


if __name__ == "__main__":
    run(main)
