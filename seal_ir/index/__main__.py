"""`python -m seal_ir.index`: build an index, in the spelling of Pyserini's indexer; look at one."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.command import CommandParser, add_ignored, add_refused, add_threads, check_options, run
from seal_ir.convert.published_index import PublishedCollection
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions, collection_kinds, read_ids
from seal_ir.formats.collections.kinds import names_source
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.outputs import check_several
from seal_ir.index.builder import BuildOptions, Segmenting, build_index, segmented
from seal_ir.index.changing import changed, usual
from seal_ir.index.engine import ENGINES, SAMPLE_RATES, EngineSpec
from seal_ir.index.manifest import Manifest
from seal_ir.index.memory import MAX_SEGMENT_TOKENS, parse_size
from seal_ir.index.progress import BuildProgress
from seal_ir.index.pyserini_options import IGNORED, REFUSED
from seal_ir.index.reader import Index
from seal_ir.index.stats import as_table, statistics
from seal_ir.index.verify import SAMPLE, verify_index
from seal_ir.structured import json_file
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer

_MEMORY_HELP = """most memory that the build may take, as 2G or 1500M. It is estimated from counts before
each segment's engine is built, and counts all processes: the one that reads, with its tokenizer and ids, and
of each segment in the making its tokens (4 bytes each) and the engine's tables (8 to 22 bytes a token).
Segments are cut so that the estimate fits, or the build is refused. Files that the system caches do not
count."""


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.index",
        description="Build a SEAL index; change one that is there (--append, --update, --delete, --merge); or"
        " look at one (--stats, --verify).",
    )
    parser.add_argument("--index", type=Path, required=True, help="directory of the index")
    parser.add_argument("--input", type=Path, help="file or folder of documents, or a name of such")
    _add_reading(parser.add_argument_group("what to read"))
    building = parser.add_argument_group("how to build")
    _add_building(building)
    _add_ray(building)
    mode = parser.add_argument_group(
        "instead of building: an index that is there"
    ).add_mutually_exclusive_group()
    _add_changing(mode, parser)
    _add_looking(mode, parser)
    add_ignored(parser, IGNORED)
    add_refused(parser, REFUSED)
    return parser


def _add_reading(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--collection", default="JsonCollection", help=", ".join(collection_kinds()))
    group.add_argument(
        "--import-seal",
        type=Path,
        metavar="PREFIX",
        help="instead of --input: an index of the published system, PREFIX.fmi and PREFIX.oth, to be indexed"
        " anew; --model must be the one that it was made for",
    )
    group.add_argument(
        "--model", default=DEFAULT_MODEL, help="whose tokenizer to use: folder, hub name or %(default)s"
    )
    group.add_argument(
        "--fields",
        nargs="+",
        default=[],
        metavar="NAME",
        help="further fields of JSON records, a string or a list of strings each, that models may write whole"
        " as they write titles; see docs/fields.md",
    )
    group.add_argument(
        "--store",
        nargs="+",
        default=[],
        metavar="NAME[:TYPE]",
        help="fields of JSON records to store for filters; TYPE is string (default), int, float or bool; see"
        " docs/filters.md",
    )
    group.add_argument("--include-ids", type=Path, help="index only the ids in this file, one per line")
    group.add_argument(
        "--duplicates", default="error", choices=("error", "first", "last"), help="which of equal ids to keep"
    )
    group.add_argument(
        "--malformed", default="error", choices=("error", "skip"), help="what to do with bad records"
    )
    group.add_argument("--list-empty", action="store_true", help="print the ids of empty documents")
    group.add_argument(
        "--storeRaw",
        dest="store_raw",
        action="store_true",
        help="keep each JSON record as it was read, extra fields included, for doc().raw(); with --split a"
        " passage's has its own id and text, and all else of its document's",
    )


def _add_building(group: argparse._ArgumentGroup) -> None:
    default = BuildOptions().engine
    group.add_argument(
        "--split",
        metavar="words:N[:OVERLAP]",
        help="index passages of N words of each document instead of the whole one, which begin with the last"
        " OVERLAP words of the one before; a document's passages get the ids ID#0, ID#1, ...",
    )
    group.add_argument("--engine", default=default.name, choices=ENGINES, help="default %(default)s")
    group.add_argument(
        "--layout",
        default=default.layout,
        choices=tuple(SAMPLE_RATES),
        help="of native: small is smaller and locates more slowly, fast is larger and locates at once",
    )
    group.add_argument("--memory", metavar="SIZE", help=_MEMORY_HELP)
    add_threads(
        group,
        "of the tokenizer, and processes that build segments where there are several;"
        " the index does not depend on it",
    )
    group.add_argument(
        "--max-segment-tokens",
        type=int,
        default=MAX_SEGMENT_TOKENS,
        help="most tokens of a segment; default %(default)s, which one segment holds with most collections",
    )


def _add_ray(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="build in tasks of this Ray cluster, whose nodes all find --index under its path; local starts"
        " one here; --memory is then that of each task (docs/distributed.md)",
    )
    group.add_argument(
        "--shards", type=int, metavar="N", help="with --ray: segments to make; default: one for each core"
    )


def _add_changing(mode: argparse._MutuallyExclusiveGroup, parser: argparse.ArgumentParser) -> None:
    mode.add_argument(
        "--append",
        action="store_true",
        help="add the documents of --input; --duplicates decides on known ids",
    )
    mode.add_argument(
        "--update",
        action="store_true",
        help="put the documents of --input in the place of those with their ids",
    )
    mode.add_argument(
        "--delete",
        type=Path,
        metavar="IDS",
        help="delete the documents whose ids are in this file, one per line; - is stdin",
    )
    mode.add_argument(
        "--merge", action="store_true", help="rewrite segments as fewer ones, without deleted documents"
    )
    group = parser.add_argument_group("how to change it")
    group.add_argument("--max-segments", type=int, metavar="N", help="with --merge: how many may be left; 1")
    group.add_argument(
        "--missing",
        choices=("error", "skip"),
        help="with --delete: what to do with ids that are not there; default error",
    )


def _add_looking(mode: argparse._MutuallyExclusiveGroup, parser: argparse.ArgumentParser) -> None:
    mode.add_argument("--stats", action="store_true", help="print what it holds and where its bytes go")
    mode.add_argument(
        "--verify",
        action="store_true",
        help=f"check every checksum, and {SAMPLE:,} random documents there and back; exit 1 on a difference",
    )
    group = parser.add_argument_group("how to look at it")
    group.add_argument("--json", action="store_true", help="with --stats: as a JSON object")
    group.add_argument("--all", action="store_true", help="with --verify: all documents")


def main(arguments: list[str]) -> int:
    """Build, change or look at an index; 0 when that is done."""
    args = _parser().parse_args(arguments)
    options = (("json", "stats"), ("all", "verify"), ("max_segments", "merge"), ("missing", "delete"))
    for option, mode in options:
        if getattr(args, option) and not getattr(args, mode):
            raise UsageError(f"--{option.replace('_', '-')} goes with --{mode}")
    check_options(args, threads=1, shards=1, **({} if args.max_segments is None else {"max_segments": 1}))
    if args.shards is not None and args.ray is None:
        raise UsageError("--shards needs --ray: the address of a Ray cluster, or local")
    looked = args.stats or args.verify
    if args.ray is not None and (
        looked or args.append or args.update or args.delete is not None or args.merge
    ):
        raise UsageError("--ray builds an index; leave it out to change one, or to look at one")
    if args.append or args.update or args.delete is not None or args.merge:
        return _change(args)
    if not (args.stats or args.verify):
        if args.import_seal is not None:
            _check_import(args)
        elif args.input is None and not names_source(args.collection):
            raise UsageError("--input is missing: name the documents to index (or give --stats or --verify)")
        return _build(args)
    if args.input is not None or args.import_seal is not None:
        raise UsageError("--stats and --verify look at an index that is there; leave out --input")
    if args.verify:
        verify_index(args.index, lambda line: print(line, flush=True), None if args.all else SAMPLE)
    else:
        values = statistics(Index(args.index))
        sys.stdout.write(json_file(values) if args.json else f"{as_table(values)}\n")
    return 0


def _change(args: argparse.Namespace) -> int:
    started = time.monotonic()
    with BuildProgress() as progress:
        collection, manifest = changed(args, progress)
    if collection is not None:
        _print_counts(args, collection)
    _print_size(args, manifest, time.monotonic() - started)
    return 0


def _build(args: argparse.Namespace) -> int:
    check_several(args.index)
    # Read by the tokenizer's thread pool when it starts, in this process only.
    os.environ.setdefault("RAYON_NUM_THREADS", str(args.threads))
    building = BuildOptions(
        engine=EngineSpec(args.engine, args.layout),
        max_segment_tokens=args.max_segment_tokens,
        store_raw=args.store_raw,
        memory=parse_size(args.memory) if args.memory else None,
        threads=args.threads,
        fields=tuple(args.fields),
        store=tuple(args.store),
        split=args.split,
    )
    if args.import_seal is None:
        collection = _collection(args, building)
        tokenizer = load_tokenizer(find_model(args.model))
    else:
        tokenizer = load_tokenizer(find_model(args.model))
        collection = PublishedCollection(args.import_seal, tokenizer)
    started = time.monotonic()

    def about() -> Mapping[str, Any]:
        return {
            "model": utf8(Path(args.model).resolve() if Path(args.model).is_dir() else args.model),
            "collection": {"kind": collection.kind, "counts": str(collection.counts)},
        }

    making = segmented if args.ray is None else _on_ray(args)
    fraction = collection.fraction_read if isinstance(collection, Collection) else lambda: None
    with BuildProgress(fraction) as progress:
        manifest = build_index(collection, args.index, tokenizer, about, building, progress, making)
    _print_counts(args, collection)
    _print_size(args, manifest, time.monotonic() - started)
    return 0


def _on_ray(args: argparse.Namespace) -> Segmenting:
    from seal_ir.distributed.building import RaySegments
    from seal_ir.distributed.cluster import Cluster, n_cores

    cluster = Cluster(args.ray)
    return RaySegments(cluster, args.shards or n_cores(cluster))


def _collection(args: argparse.Namespace, building: BuildOptions) -> Collection | PublishedCollection:
    include = read_ids(args.include_ids) if args.include_ids else None
    reading = ReadOptions(
        args.duplicates,
        args.malformed,
        include,
        building.store_raw,
        building.fields,
        building.stored,
        building.split is not None,
    )
    return Collection(args.collection, args.input, reading)


def _check_import(args: argparse.Namespace) -> None:
    """Refuse what says how to read files of records: a published index is taken as a whole."""
    names = ("input", "include_ids", "store_raw", "fields", "store", "duplicates", "malformed", "split")
    usual(args, names, "--import-seal, which takes an index as a whole")


def _print_counts(args: argparse.Namespace, collection: Collection | PublishedCollection) -> None:
    """What became of the records that were read."""
    if collection.note:
        print(collection.note, file=sys.stderr)
    print(collection.counts)
    for fault in collection.faults:
        print(f"skipped: {fault}", file=sys.stderr)
    if collection.missing_ids:
        print(
            f"{collection.missing_ids} ids of {args.include_ids} are not in the collection", file=sys.stderr
        )
    if args.list_empty:
        for docid in collection.empty_ids:
            print(f"empty: {docid}")


def _print_size(args: argparse.Namespace, manifest: Manifest, seconds: float) -> None:
    """What the index holds now."""
    what = "documents" if manifest.split is None else f"passages ({manifest.split})"
    print(
        f"{args.index}: {manifest.n_documents:,} {what}, {manifest.n_tokens:,} tokens, "
        f"{manifest.n_bytes:,} bytes, {seconds:.1f} s"
    )


if __name__ == "__main__":
    run(main)
