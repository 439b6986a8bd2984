"""What --ray, --shards and --decoders of search and encode mean; Ray is imported only for these."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seal_ir.command import check_options
from seal_ir.errors import UsageError
from seal_ir.index.reader import Index
from seal_ir.records import Query

if TYPE_CHECKING:
    from seal_ir.search.decoders import Decoders
    from seal_ir.search.pipeline import QueryPipeline


def opened_of(args: argparse.Namespace, directory: Path) -> Path | Index:
    """The index as the options want it: its directory, or open in the actors of a Ray cluster.

    Raises:
        UsageError: options do not go together.
        SealError: as `open_sharded`.
    """
    check_options(args, shards=1, decoders=1)
    if args.ray is None:
        for name in ("shards", "decoders"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} needs --ray: the address of a Ray cluster, or local")
        return directory
    if "published" in args.preset:
        raise UsageError("--preset published is a baseline of one machine; leave out --ray")
    from seal_ir.distributed.cluster import open_sharded

    index = open_sharded(directory, args.ray, args.shards)
    fewer = "" if index.n_shards >= (args.shards or 1) else ", one for each segment of the index"
    sys.stderr.write(f"ray: {index.n_shards} shards{fewer}\n")
    return index


def decoders_of(args: argparse.Namespace, pipeline: QueryPipeline, topics: Sequence[Query]) -> Decoders:
    """The decoders that --decoders asks for, with their models loaded; to be closed.

    Raises:
        SealError: as `Decoders`.
    """
    from seal_ir.distributed.cluster import Cluster
    from seal_ir.search.decoders import Decoders, DecoderSettings

    folder = Path(pipeline.model)
    settings = DecoderSettings(
        str(folder.absolute()) if folder.is_dir() else pipeline.model,  # actors have other working folders
        pipeline.config,
        args.device,
        args.dtype,
        args.threads,
        args.yes,
    )
    return Decoders(pipeline, topics, Cluster(args.ray), args.decoders, settings)
