"""The options of search and encode for a Ray cluster, and what they mean; Ray is imported only for these."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import check_options
from seal_ir.errors import UsageError
from seal_ir.index.reader import Index


def add_ray(parser: argparse._ActionsContainer) -> None:
    """Where the index's segments are; see docs/distributed.md."""
    add = parser.add_argument
    add(
        "--ray",
        metavar="ADDRESS",
        help="keep the index's segments in actors of this Ray cluster; local starts one here"
        " (docs/distributed.md)",
    )
    add("--shards", type=int, metavar="N", help="with --ray: how many actors")


def opened_of(args: argparse.Namespace, directory: Path) -> Path | Index:
    """The index as the options want it: its directory, or open in the actors of a Ray cluster.

    Raises:
        UsageError: options do not go together.
        SealError: as `open_sharded`.
    """
    check_options(args, shards=1)
    if args.ray is None:
        if args.shards is not None:
            raise UsageError("--shards needs --ray: the address of a Ray cluster, or local")
        return directory
    if "published" in args.preset:
        raise UsageError("--preset published is a baseline of one machine; leave out --ray")
    from seal_ir.distributed.cluster import open_sharded

    index = open_sharded(directory, args.ray, args.shards)
    fewer = "" if index.n_shards >= (args.shards or 1) else ", one for each segment of the index"
    sys.stderr.write(f"ray: {index.n_shards} shards{fewer}\n")
    return index
