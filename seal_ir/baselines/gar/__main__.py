"""`python -m seal_ir.baselines.gar`: a run by BM25 over expanded questions, fused by reciprocal rank."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path

from seal_ir.baselines.gar.expanded import named_expansions, read_expanded
from seal_ir.baselines.gar.searching import GarConfig, search_expanded
from seal_ir.baselines.run_command import (
    add_bm25_options,
    prepare_lucene,
    read_named_topics,
    run_parser,
    write_run,
)
from seal_ir.command import check_options, run
from seal_ir.formats.io.resolve import Places
from seal_ir.pyserini_plugin import check_installed
from seal_ir.search.bm25 import Bm25Config

_EXPANSIONS = """files of expanded questions, `id, tab, question and expansion` a line; each is searched
and the runs are fused. Default: those of GAR-T5 for named topics, in gar/ below SEAL_IR_DATA"""


def _parser() -> argparse.ArgumentParser:
    parser = run_parser(
        "gar", "Search expanded questions with BM25 (Lucene, through Pyserini), fuse, and write a run."
    )
    add_bm25_options(parser)
    parser.add_argument("--expansions", type=Path, nargs="+", help=_EXPANSIONS)
    parser.add_argument(
        "--depth", type=int, default=100, help="documents of each run that are fused (%(default)s)"
    )
    return parser


def main(arguments: list[str]) -> int:
    """Build the index where there is none, search and fuse; 0 when the run is written."""
    args = _parser().parse_args(arguments)
    check_options(args, depth=1)
    bm25 = Bm25Config(k1=args.k1, b=args.b, hits=args.depth, threads=args.threads)
    config = GarConfig(bm25, hits=args.hits)
    check_installed()
    topics = read_named_topics(args.topics)
    paths = args.expansions or named_expansions(args.topics, Places.from_environment())
    expansions = [read_expanded(path, topics) for path in paths]
    prepare_lucene(args)
    about = {"system": "gar", **asdict(bm25), "depth": args.depth, "hits": args.hits, "rrf_k": config.rrf_k}
    about |= {"index": str(args.lucene), "expansions": [str(path) for path in paths]}
    write_run(args, search_expanded(args.lucene, topics, expansions, config), len(topics), about)
    return 0


if __name__ == "__main__":
    run(main)
