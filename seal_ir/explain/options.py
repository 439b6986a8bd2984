"""The options of `python -m seal_ir.explain`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from seal_ir.command import CommandParser, check_options
from seal_ir.config import DEFAULT_PRESET, PRESETS
from seal_ir.errors import UsageError
from seal_ir.index.conditions import FORM
from seal_ir.index.view import Counts
from seal_ir.search.fusion import METHODS
from seal_ir.search.options import add_decoding, add_index


def parser() -> argparse.ArgumentParser:
    """All options with their defaults, the most used first."""
    told = "Show which keys made a query's hits, or why a document is none of them."
    made = CommandParser(prog="python -m seal_ir.explain", description=told)
    add = made.add_argument
    add("--query", required=True, help="text of the query")
    add_index(made)
    add("--docid", help="explain this document, ranked or not, instead of the hits")
    add("--hits", type=int, default=10, help="documents of the ranking (%(default)s)")
    add(
        "--preset",
        default=DEFAULT_PRESET,
        choices=[name for name in PRESETS if name != "published"],
        help="how keys are written and ranked (%(default)s)",
    )
    add("--model", help="folder, hub name or smollm2-135m-seal; default: the one the index was built for")
    add("--full", action="store_true", help="whole texts, not snippets")
    add("--decoding", action="store_true", help="show how the model wrote the keys, too")
    output = made.add_argument_group("output, instead of text").add_mutually_exclusive_group()
    output.add_argument("--html", type=Path, help="write a page")
    output.add_argument("--json", action="store_true", help="write JSON; docs/explain.md has its names")
    within = made.add_argument_group("within some documents")
    within.add_argument("--filter", help=f"a file of ids, one a line, or {FORM}")
    within.add_argument("--filter-counts", choices=get_args(Counts), help="whose counts weigh keys")
    fusing = made.add_argument_group("fusion with another ranking")
    fusing.add_argument("--fuse", nargs="+", help="with bm25, run files (topic id: 1) or a Lucene index")
    fusing.add_argument("--fusion", choices=METHODS, help="of ranks (rrf, default) or of normalised scores")
    fusing.add_argument("--alpha", type=float, help="SEAL's share in an interpolation (0.5)")
    add_decoding(made.add_argument_group("decoding"), threads="of torch")
    made.set_defaults(keys=None)  # what filters of a search do not go with
    return made


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, each one possible by itself.

    Raises:
        UsageError: a number is too small, or options do not go together.
    """
    args = parser().parse_args(arguments)
    check_options(args, hits=1, batch_size=1, threads=1)
    if args.docid is not None and args.fuse is not None:
        raise UsageError("--docid explains SEAL's own ranking; leave --fuse out, or --docid")
    if args.html is not None and not args.html.name:
        raise UsageError(f"{args.html}: is a folder; name a file to write")
    return args
