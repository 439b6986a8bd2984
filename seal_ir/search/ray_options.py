"""What --ray and --shards of search and encode mean; Ray is imported only for these."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import check_options
from seal_ir.errors import UsageError
from seal_ir.index.reader import Index


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
