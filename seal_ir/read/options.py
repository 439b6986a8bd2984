"""The options of `python -m seal_ir.read`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from seal_ir.command import CommandParser, add_batch_size, add_threads, check_options
from seal_ir.config import DEFAULT_PRESET, PRESETS
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import collection_kinds
from seal_ir.formats.io.outputs import is_stream
from seal_ir.read.readers import DEFAULT_CONTEXTS, FID, PROMPT
from seal_ir.search.options import add_index, add_topics_format

_BATCH = 8
_HITS = 100


def parser() -> argparse.ArgumentParser:
    """All options with their defaults, the most used first."""
    made = CommandParser(
        prog="python -m seal_ir.read",
        description="Answer topics out of the passages of a run; without one, search first. `python -m"
        " seal_ir.read fit` trains a Fusion-in-Decoder reader, `... convert` takes a published one.",
    )
    add = made.add_argument
    add("--topics", required=True, help="file, or a name such as nq-test or demo")
    add_index(made)
    add("--run", type=Path, help="run whose passages are read; default: the index is searched")
    add(
        "--reader",
        default=PROMPT,
        help="prompt (the embedded model), or folder or name of a model: a causal one is prompted, an"
        " encoder-decoder one is a Fusion-in-Decoder (%(default)s)",
    )
    defaults = f"{DEFAULT_CONTEXTS[PROMPT]} in a prompt, {DEFAULT_CONTEXTS[FID]} in Fusion-in-Decoder"
    add("--contexts", type=int, help=f"passages of each question that are read, the best ones ({defaults})")
    add("--quote", action="store_true", help="let a prompt reader only quote the passages")
    add("--output", type=Path, default=Path("predictions.jsonl"), help="answers as JSON lines, or -")
    add("--answers", help="answers to measure EM and F1 by: file or name; default: those of --topics' name")
    add_topics_format(made)
    add = made.add_argument_group("where passages are, if not in the index").add_argument
    add("--collection", default="JsonCollection", help=f"of --input: {', '.join(collection_kinds())}")
    add("--input", type=Path, help="collection that was searched, with --run: file or folder")
    add = made.add_argument_group("searching, without --run").add_argument
    add("--preset", default=DEFAULT_PRESET, choices=list(PRESETS), help="of search")
    add("--hits", type=int, default=_HITS, help="documents per topic; the run is written beside --output")
    group = made.add_argument_group("the reader's model")
    add_batch_size(group, _BATCH, "questions read together")
    add_threads(group, "of torch")
    group.add_argument("--device", help="cpu, cuda, cuda:1; default: CUDA where there is one")
    group.add_argument("--dtype", help="float32 (default), bfloat16, float16, or auto")
    group = made.add_argument_group("measuring")
    group.add_argument("--seed", type=int, default=0, help="of the intervals")
    return made


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, each one possible by itself and with the others.

    Raises:
        UsageError: a number is too small, or options do not go together.
    """
    args = parser().parse_args(arguments)
    check_options(args, contexts=1, hits=1, batch_size=1, threads=1, seed=0)
    if args.input is not None and args.index is not None:
        raise UsageError("give --index or --input, not both: passages come from one of them")
    if args.input is not None and args.run is None:
        raise UsageError("--input has passages of a run; name that with --run, or search an --index")
    if args.run is None and is_stream(args.output):
        raise UsageError("a search writes its run beside --output, which is a stream; give a file, or --run")
    written = [args.output.resolve(), beside(args.output).resolve()]
    if args.run is None and written[0] == written[1]:
        raise UsageError(f"--output {args.output}: the run of the search goes there; name the answers .jsonl")
    if args.run is not None and args.run.resolve() == written[0]:
        raise UsageError(f"--run {args.run}: would be written over; give another --output")
    return args


def beside(output: Path) -> Path:
    """Where the run of a search goes."""
    return output.with_suffix(".trec")
