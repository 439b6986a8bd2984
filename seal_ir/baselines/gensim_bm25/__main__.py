"""`python -m seal_ir.baselines.gensim_bm25`: a run by gensim's BM25, made in memory."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from seal_ir.baselines.gensim_bm25.okapi import GensimConfig, build, check_gensim, search
from seal_ir.baselines.run_command import collection_of, read_named_topics, run_parser, source_of, write_run
from seal_ir.command import run
from seal_ir.errors import UsageError


def _parser() -> argparse.ArgumentParser:
    parser = run_parser("gensim-bm25", "Search topics with gensim's BM25, in memory, and write a run file.")
    parser.add_argument("--k1", type=float, default=1.5, help="BM25's k1 (%(default)s)")
    parser.add_argument("--b", type=float, default=0.75, help="BM25's b (%(default)s)")
    return parser


def main(arguments: list[str]) -> int:
    """Read the collection, and search; 0 when the run is written."""
    args = _parser().parse_args(arguments)
    config = GensimConfig(k1=args.k1, b=args.b, hits=args.hits)
    if args.input is None:
        raise UsageError("--input is missing: name the documents to search")
    check_gensim()
    topics = read_named_topics(args.topics)
    collection = collection_of(args)
    index = build(collection, config)
    print(collection.counts, file=sys.stderr)
    about = {"system": "gensim-bm25", **asdict(config), **asdict(source_of(args))}
    write_run(args, search(index, topics, config.hits), len(topics), about)
    return 0


if __name__ == "__main__":
    run(main)
