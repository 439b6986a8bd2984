"""The options of `python -m seal_ir.search`, those that other commands share, and what they mean.

`seal_ir.config` and `load_generator` say what those of decoding mean.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from seal_ir.command import (
    CommandParser,
    add_batch_size,
    add_ignored,
    add_ray,
    add_refused,
    add_threads,
    check_options,
)
from seal_ir.config import DEFAULT_BATCH_SIZE, DEFAULT_PRESET, PRESETS, SearchConfig, preset
from seal_ir.config_files import from_toml, tables_of, updated
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import read_ids
from seal_ir.formats.io.files import is_file, shown, utf8
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS
from seal_ir.formats.runs.trec import OUTPUT_FORMATS
from seal_ir.formats.topics.reading import TOPICS_FORMATS
from seal_ir.index.conditions import FORM, condition, is_condition
from seal_ir.index.filters import Filter, made_filter
from seal_ir.index.making import asked_index, asked_index_for
from seal_ir.index.reader import Index
from seal_ir.index.registry import find_index, is_directory
from seal_ir.index.view import Counts
from seal_ir.lm.device import told_place, use_threads
from seal_ir.models.weights import ensure_weights
from seal_ir.search.fusion import METHODS, Fusion
from seal_ir.search.hybrid import BM25, is_searched, name_of
from seal_ir.search.pyserini_options import IGNORED, REFUSED
from seal_ir.text.pretrained import lacks_weights

if TYPE_CHECKING:
    from seal_ir.lm.protocols import Generator
    from seal_ir.search.pipeline import QueryPipeline


def parser() -> argparse.ArgumentParser:
    """All options with their defaults, the most used first."""
    made = CommandParser(
        prog="python -m seal_ir.search", description="Search topics with SEAL and write a run file."
    )
    add = made.add_argument
    add("--topics", required=True, help="file, or a name such as nq-test or demo")
    add_index(made)
    add(
        "--output",
        type=Path,
        required=True,
        help="run file, or -; with several presets, run.PRESET.trec each",
    )
    add("--hits", type=int, default=100, help="documents per topic (%(default)s)")
    presets = f"one or more of {', '.join(PRESETS)}; published is a slow baseline for benchmarks only"
    add("--preset", nargs="+", default=[DEFAULT_PRESET], help=presets)
    add("--model", help="folder, hub name or packaged name; default: the one the index was built for")
    _add_filtering(made.add_argument_group("within some documents"))
    _add_fusing(made.add_argument_group("fusion with another ranking"))
    _add_writing(made.add_argument_group("topics, and the run that is written"))
    decoding = made.add_argument_group("decoding")
    add_decoding(decoding, threads="of torch, and of ranking")
    keys = "keys of python -m seal_ir.encode, folder or file, instead of a model's"
    decoding.add_argument("--keys", type=Path, help=keys)
    add_ray(made.add_argument_group("on a Ray cluster"))
    add_ignored(made, IGNORED)
    add_refused(made, REFUSED)
    return made


def _add_filtering(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--filter", help=f"search within these documents: a file of ids, one a line, or {FORM}")
    told = "whose counts weigh keys: the whole collection's (default), or those within the filter"
    add("--filter-counts", choices=get_args(Counts), help=told)


def _add_fusing(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    fuse = "fuse with bm25, run files or a Lucene index; SEAL's own run goes to run.seal.trec"
    add("--fuse", nargs="+", help=fuse)
    add("--fusion", choices=METHODS, help="of ranks, with k = 60 (rrf, default), or of normalised scores")
    add("--alpha", type=float, help="SEAL's share in an interpolation (0.5)")


def _add_writing(group: argparse._ArgumentGroup) -> None:
    add_topics_format(group)
    add = group.add_argument
    add("--tag", help="sixth column of the run (default: seal-PRESET, seal-PRESET+bm25 when fused)")
    formats = (*OUTPUT_FORMATS, *PASSAGE_FORMATS)
    told = "a run (%(default)s), or passages with texts and keys for readers and RAG toolkits"
    add("--output-format", default="trec", choices=formats, help=told)
    add("--remove-duplicates", action="store_true", help="keep the first hit of each docid only")
    add("--max-passage", action="store_true", help="write pages: the first passage of each, under its id")
    add("--max-passage-hits", type=int, default=100, help="pages per topic (%(default)s)")
    add("--max-passage-delimiter", default="#", help="what ends the page in a docid (%(default)s)")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, each one possible by itself.

    Raises:
        UsageError: a number is too small, or the delimiter is empty.
    """
    args = parser().parse_args(arguments)
    check_options(args, hits=1, batch_size=1, threads=1, max_passage_hits=1)
    if not args.max_passage_delimiter:
        raise UsageError("--max-passage-delimiter is empty; give one or more characters, such as '#'")
    return args


def fusion_of(args: argparse.Namespace, settings: Path | None = None) -> Fusion | None:
    """How to fuse, by the options over the `[fusion]` table of the settings; None where nothing is fused.

    Raises:
        UsageError: an option goes without another one that is not there, or the table says what is none.
    """
    if args.fuse is None:
        for name in ("fusion", "alpha"):
            if getattr(args, name) is not None:
                raise UsageError(f"--{name} needs --fuse: with bm25, a run file or a Lucene index")
        if settings is not None and tables_of(settings).get("fusion"):
            fusion_from_toml(settings)
            sys.stderr.write(f"{settings}: [fusion] counts with --fuse only\n")
        return None
    fusion = Fusion() if settings is None else fusion_from_toml(settings)
    if args.fusion is not None:
        fusion = replace(fusion, method=args.fusion)
    if args.alpha is not None:
        if fusion.method != "interpolation":
            raise UsageError("--alpha goes with --fusion interpolation; ranks are fused without weights")
        fusion = replace(fusion, alpha=args.alpha, weights=())
    if sum(map(is_searched, args.fuse)) > 1:
        raise UsageError(
            "--fuse names two of bm25 and Lucene indexes; name one, and give the others as run files"
        )
    return fusion


def fusion_from_toml(path: Path) -> Fusion:
    """The `[fusion]` table of a TOML file; without one the default fusion.

    Raises:
        UsageError: the file cannot be read, or names a setting that does not exist.
    """
    table = tables_of(path).get("fusion", {})
    try:
        return updated(Fusion(), table)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def filter_of(args: argparse.Namespace, index: Index) -> Filter | None:
    """The documents to search within; None for all.

    Raises:
        UsageError: --filter is neither a file nor a condition on stored fields of the index, or goes with
            keys from a file.
        InputError: the file cannot be read, or names a document that is not there.
    """
    if args.filter is None:
        if args.filter_counts is not None:
            raise UsageError("--filter-counts needs --filter")
        return None
    if args.keys is not None:
        raise UsageError(
            "--filter does not go with --keys: they were written for all documents; leave one out"
        )
    counts: Counts = args.filter_counts or "collection"
    path = Path(args.filter)
    if is_file(path):
        return made_filter(index, read_ids(path), counts)
    if is_condition(args.filter):
        return made_filter(index, condition(args.filter, index.manifest.stored), counts)
    raise UsageError(
        f"--filter {shown(args.filter)}: no such file; give a file of ids, one a line, or {FORM}"
    )


def outputs_of(args: argparse.Namespace, configs: list[SearchConfig]) -> list[tuple[Path, str]]:
    """Files to write and their tags: the run of each preset, then what those are fused from.

    Raises:
        UsageError: --output names no file, or one stream for several runs; --fuse names a file to write.
    """
    path: Path = args.output
    if not path.name:
        raise UsageError(f"{path}: is a folder; name a file to write")
    if len(configs) > 1 and is_stream(path):
        raise UsageError(f"--output {path}: takes one run, and there are {len(configs)} presets; name a file")
    runs = [path if len(configs) == 1 else _beside(path, config.preset) for config in configs]
    tags = [f"seal-{config.preset}" for config in configs]
    if args.tag is not None:
        named = [utf8(args.tag)] * len(runs)
    else:
        others = "".join(f"+{name_of(source)}" for source in args.fuse or ())
        named = [f"{tag}{others}" for tag in tags]
    outputs = list(zip(runs, named, strict=True))
    if args.fuse is not None and not is_stream(path):
        outputs += [(_beside(run, "seal"), tag) for run, tag in zip(runs, tags, strict=True)]
        outputs += [(_beside(path, BM25), BM25)] if any(map(is_searched, args.fuse)) else []
        written = [output.resolve() for output, _ in outputs]
        lost = next((source for source in args.fuse if Path(source).resolve() in written), None)
        if lost is not None:
            raise UsageError(f"--fuse {lost}: would be written over; give another --output")
    return outputs


def _beside(path: Path, word: str) -> Path:
    return path.with_name(f"{path.stem}.{word}{path.suffix}")


# What other commands have in common with search


def configured(
    name: str, settings: Path | None = None, *, beam: int | None = None, rescore: bool = False
) -> SearchConfig:
    """A preset, changed by a TOML file, and that by the options of a command.

    Raises:
        UsageError: as `preset` and `from_toml`, or the beam is less than 1.
    """
    config = preset(name)
    if settings:
        config = from_toml(settings, config)
    if beam is not None:
        config = replace(config, decode=replace(config.decode, beam=beam))
    if rescore:
        config = replace(config, decode=replace(config.decode, rescore=True))
    return config


def add_topics_format(parser: argparse._ActionsContainer) -> None:
    """How the topics are written."""
    parser.add_argument(
        "--topics-format", default="auto", choices=TOPICS_FORMATS, help="auto looks into the file"
    )


def add_index(parser: argparse._ActionsContainer) -> None:
    """The index whose n-grams are written, and whether it may be made."""
    parser.add_argument(
        "--index", help="directory or registered name; default: the best one built for these topics"
    )
    add_yes(parser)


def add_yes(parser: argparse._ActionsContainer) -> None:
    """The option --yes."""
    missing = "a registered index or the default model's weights"
    parser.add_argument("--yes", action="store_true", help=f"make what is missing without asking: {missing}")


def add_decoding(parser: argparse._ActionsContainer, threads: str) -> None:
    """Settings over the preset's, how the model decodes, and on what; `threads` says what those are of."""
    parser.add_argument(
        "--config", type=Path, help="TOML file with [decode], [rank] and [fusion] settings over the preset's"
    )
    add_batch_size(parser, DEFAULT_BATCH_SIZE, "queries decoded together")
    add_threads(parser, threads)
    add = parser.add_argument
    add("--device", help="cpu, cuda, cuda:1; default: CUDA where there is one")
    add("--dtype", help="float32 (default), bfloat16, float16, or auto: what the device does fastest")
    add("--beam", type=int, help="hypotheses kept per step (15)")
    add(
        "--rescore",
        action="store_true",
        help="read all keys in a second pass of the model; changes only time",
    )


def index_of(name: str | None, topics: str, places: Places, yes: bool = False) -> Path:
    """The directory that --index names; without it the best index for the topics, which stderr is told.

    A registered index that is not there is made; see `seal_ir.index.making`.

    Raises:
        UsageError: there is no such index, or none is built and nobody agreed to build it.
        SealError: it cannot be made.
    """
    if name is not None:
        return find_index(name, places) if is_directory(name) else asked_index(name, places, yes)
    entry = asked_index_for(topics, places, yes)
    sys.stderr.write(f"index: {entry.name} ({entry.directory})\n")
    return entry.directory


def loaded_model(pipeline: QueryPipeline, threads: int, yes: bool = False) -> Generator:
    """The model, loaded now on so many threads of torch; stderr is told where it runs.

    A command calls this before it opens an output, so that a model that cannot be loaded leaves none.

    Args:
        pipeline: has the model.
        threads: of torch.
        yes: fetch the weights that a packaged model builds on without asking.

    Raises:
        ModelError: it cannot be loaded, or has another tokenizer than the index.
        UsageError: its weights are not there, and the user does not want them fetched.
    """
    if lacks_weights(pipeline.model):
        ensure_weights(pipeline.model, yes)
    use_threads(threads)
    generator = pipeline.generator
    sys.stderr.write(f"model: {pipeline.model} {told_place(generator)}\n")
    return generator
