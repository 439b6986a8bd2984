"""What the commands of this folder share: options for documents and topics, and a run with its settings."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from seal_ir.baselines.lucene_index import Source, build, check_source
from seal_ir.command import CommandParser, Progress, add_threads
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions, collection_kinds, read_ids
from seal_ir.formats.collections.kinds import kind_named
from seal_ir.formats.io.files import atomic_writer, utf8
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.runs.trec import RunWriter
from seal_ir.formats.topics.reading import read_topics
from seal_ir.pyserini_plugin import is_lucene_index
from seal_ir.records import Hit, Query
from seal_ir.structured import json_file


def run_parser(system: str, description: str) -> argparse.ArgumentParser:
    """A parser with topics, run and the documents to read, which every system needs.

    Args:
        system: its name, the run's default tag; the module is called the same, with underscores.
        description: what the command does.
    """
    parser = CommandParser(
        prog=f"python -m seal_ir.baselines.{system.replace('-', '_')}", description=description
    )
    add = parser.add_argument
    add("--topics", required=True, help="file, or a name such as nq-test or demo")
    add("--output", type=Path, required=True, help="run file, or - for stdout")
    add_collection_options(parser, "index only the ids in this file, one per line")
    add("--hits", type=int, default=100, help="documents per topic (%(default)s)")
    add("--tag", default=system, help="sixth column of the run (%(default)s)")
    return parser


def add_collection_options(
    parser: argparse.ArgumentParser, include_ids: str, *, required: bool = False
) -> None:
    """The documents to read.

    Args:
        parser: gets the options.
        include_ids: what the ids in that file are for.
        required: whether nothing can be done without documents.
    """
    add = parser.add_argument_group("documents to read").add_argument
    add("--input", type=Path, required=required, help="file or folder of documents")
    add("--collection", default="JsonCollection", help=", ".join(collection_kinds()))
    add("--include-ids", type=Path, help=include_ids)
    add("--duplicates", default="error", choices=("error", "first", "last"), help="which of equal ids")
    add("--malformed", default="error", choices=("error", "skip"), help="what to do with bad records")


def add_bm25_options(parser: argparse.ArgumentParser) -> None:
    """The Lucene index and BM25's parameters."""
    group = parser.add_argument_group("Lucene's index and BM25")
    add = group.add_argument
    add("--lucene", type=Path, required=True, help="Lucene index; built from --input where there is none")
    add("--k1", type=float, default=0.9, help="BM25's k1 (%(default)s)")
    add("--b", type=float, default=0.4, help="BM25's b (%(default)s)")
    add_threads(group, "of Lucene")


def read_named_topics(name: str) -> list[Query]:
    """The topics of a name or file; see `resolve_topics` and `read_topics`."""
    return read_topics(resolve_topics(name, Places.from_environment()))


def source_of(args: argparse.Namespace) -> Source:
    """What `--input` and the options beside it say, for comparison with an index that is there."""
    return Source(
        kind_named(args.collection),
        str(args.input.resolve() if args.input.exists() else args.input),  # a hub name stays one
        str(args.include_ids.resolve()) if args.include_ids else None,
        args.duplicates,
        args.malformed,
    )


def collection_of(args: argparse.Namespace, **changes: Any) -> Collection:
    """The documents that `--input` and the options beside it name; `changes` are `ReadOptions` to differ in.

    Raises:
        InputError: nothing is there, or the ids to include cannot be read.
        UsageError: no such kind of collection.
    """
    include = read_ids(args.include_ids) if args.include_ids else None
    options = ReadOptions(duplicates=args.duplicates, malformed=args.malformed, include_ids=include)
    collection = Collection(args.collection, args.input, replace(options, **changes))
    if collection.note:
        sys.stderr.write(f"{collection.note}\n")
    return collection


def prepare_lucene(args: argparse.Namespace) -> None:
    """Build the Lucene index where there is none, or check that the one there is of the collection named.

    Raises:
        UsageError: there is none and no `--input`, or it was built from something else.
        SealError: see `build`.
    """
    if args.input is None:
        if not is_lucene_index(args.lucene):
            raise UsageError(f"{args.lucene}: no Lucene index; give --input to build it")
        return
    source = source_of(args)
    if is_lucene_index(args.lucene):
        check_source(args.lucene, source)
        return
    collection = collection_of(args)
    tell_build(collection, args.lucene, lambda: build(collection, source, args.lucene, args.threads))


def tell_build(collection: Collection, directory: Path, build: Callable[[], int]) -> None:
    """Build an index, and say on stderr where the documents went and how long it took.

    Args:
        collection: what `build` reads.
        directory: where it builds.
        build: returns the number of documents in the index.
    """
    started = time.monotonic()
    n_documents = build()
    seconds = time.monotonic() - started
    sys.stderr.write(f"{collection.counts}\n{directory}: {n_documents:,} documents, {seconds:.1f} s\n")


def write_run(
    args: argparse.Namespace,
    ranked: Iterable[tuple[Query, list[Hit]]],
    n_topics: int,
    about: Mapping[str, Any],
) -> None:
    """Write the run as topics come, and its settings to `RUN.config.json`; its name goes to stdout.

    Beside a run that goes to stdout, a pipe or a device nothing is written.

    Args:
        args: with `output`, `tag` and `topics`.
        ranked: each topic with its hits, best first; ranking is timed as this is read.
        n_topics: how many there will be.
        about: settings to keep.

    Raises:
        UsageError: the run cannot be written.
    """
    started, cpu_started = time.monotonic(), time.process_time()
    progress = Progress(n_topics, "queries")
    n_empty = 0
    with RunWriter(args.output, tag=args.tag) as writer:
        for topic, hits in ranked:
            writer.write(topic.id, hits)
            n_empty += not hits
            progress.advance(1)
    progress.close()
    about = {
        **about,
        "topics": args.topics,
        "n_topics": n_topics,
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": round(time.process_time() - cpu_started, 2),  # of all threads, Java's too
    }
    if not is_stream(args.output):  # which has nothing beside it
        _save_settings(args, about)
    if n_empty:
        sys.stderr.write(f"{n_empty} of {n_topics} topics have no hits\n")


def _save_settings(args: argparse.Namespace, record: Mapping[str, Any]) -> None:
    with atomic_writer(args.output.with_name(f"{args.output.name}.config.json")) as file:
        file.write(json_file(record))
    sys.stdout.write(f"{utf8(args.output)}\n")
