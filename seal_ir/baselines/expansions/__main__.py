"""`python -m seal_ir.baselines.expansions`: expanded questions for GAR, written by a model for SEAL."""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from seal_ir.baselines.expansions.texts import KINDS, SENTENCES, TITLES, ExpansionConfig
from seal_ir.baselines.run_command import read_named_topics
from seal_ir.command import CommandParser, Progress, add_batch_size, add_threads, check_options, run
from seal_ir.decode.prompts import CutQueries
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import atomic_writer, utf8
from seal_ir.formats.io.outputs import check_several
from seal_ir.lm.device import use_threads
from seal_ir.records import Query
from seal_ir.structured import json_file
from seal_ir.text.pretrained import WRITING_MODEL


def _parser() -> argparse.ArgumentParser:
    defaults = ExpansionConfig()
    parser = CommandParser(
        prog="python -m seal_ir.baselines.expansions",
        description="Let a model write a sentence and titles for each topic, without an index, and write"
        " OUTPUT.sentences.tsv and OUTPUT.titles.tsv for python -m seal_ir.baselines.gar --expansions.",
    )
    add = parser.add_argument
    add("--topics", required=True, help="file, or a name such as nq-test or demo")
    add("--output", required=True, metavar="PREFIX", help="what the names of the files begin with")
    add("--model", default=WRITING_MODEL, help="folder, hub name or packaged name (%(default)s)")
    add("--device", help="cpu, cuda, cuda:1...; default: CUDA where there is one")
    add("--dtype", help="float32 (default), bfloat16, float16 or auto")
    add_batch_size(parser, defaults.batch_size, "topics written together")
    add_threads(parser, "of torch")
    return parser


def main(arguments: list[str]) -> int:
    """Write the expansions; 0 when all files are written."""
    args = _parser().parse_args(arguments)
    check_options(args, threads=1)
    config = ExpansionConfig(batch_size=args.batch_size)
    if args.output.endswith("/"):
        raise UsageError(f"{args.output}: is a folder; --output is what the names of the files begin with")
    check_several(Path(args.output))
    topics = read_named_topics(args.topics)
    started = time.monotonic()
    cut, runs = _write(args, topics, config)
    about = {"model": args.model, **runs, **asdict(config)}
    about |= {"topics": args.topics, "n_topics": len(topics)}
    about["seconds"] = round(time.monotonic() - started, 1)
    with atomic_writer(Path(f"{args.output}.config.json")) as file:
        file.write(json_file(about))
    if cut.sentence():
        sys.stderr.write(f"{cut.sentence()}\n")
    sys.stdout.writelines(f"{utf8(_path(args, kind))}\n" for kind in KINDS)
    return 0


def _write(
    args: argparse.Namespace, topics: list[Query], config: ExpansionConfig
) -> tuple[CutQueries, dict[str, str]]:
    """Write a line for each topic into each file as they come.

    Returns:
        Which topics were cut, and where the model ran.
    """
    use_threads(args.threads)
    from seal_ir.baselines.expansions.writing import expand
    from seal_ir.baselines.generating import load_writer

    cut = CutQueries()
    with ExitStack() as stack:
        files = {kind: stack.enter_context(atomic_writer(_path(args, kind))) for kind in KINDS}
        writer = load_writer(args.model, args.device, args.dtype)
        progress = Progress(len(topics), "topics")
        for expanded in expand(writer, topics, config):
            for kind, text in ((SENTENCES, expanded.sentence), (TITLES, expanded.titles)):
                line = " ".join(f"{expanded.topic.text} {text}".split())
                files[kind].write(f"{expanded.topic.id}\t{line}\n")
            cut.add([expanded.topic.id], expanded.cut)
            progress.advance(1)
        progress.close()
    return cut, {"device": writer.generator.device, "dtype": writer.generator.dtype}


def _path(args: argparse.Namespace, kind: str) -> Path:
    return Path(f"{args.output}.{kind}.tsv")


if __name__ == "__main__":
    run(main)
