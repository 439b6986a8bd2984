"""`python -m seal_ir.baselines.bm25`: a run by BM25, with a Lucene index built where there is none."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from seal_ir.baselines.run_command import (
    add_bm25_options,
    prepare_lucene,
    read_named_topics,
    run_parser,
    write_run,
)
from seal_ir.command import run
from seal_ir.pyserini_plugin import check_installed
from seal_ir.search.bm25 import Bm25Config, search


def _parser() -> argparse.ArgumentParser:
    parser = run_parser("bm25", "Search topics with BM25 (Lucene, through Pyserini) and write a run file.")
    add_bm25_options(parser)
    return parser


def main(arguments: list[str]) -> int:
    """Build the index where there is none, and search; 0 when the run is written."""
    args = _parser().parse_args(arguments)
    config = Bm25Config(k1=args.k1, b=args.b, hits=args.hits, threads=args.threads)
    check_installed()
    topics = read_named_topics(args.topics)
    prepare_lucene(args)
    about = {"system": "bm25", **asdict(config), "index": str(args.lucene)}
    write_run(args, search(args.lucene, topics, config), len(topics), about)
    return 0


if __name__ == "__main__":
    run(main)
