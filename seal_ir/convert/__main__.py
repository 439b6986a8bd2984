"""`python -m seal_ir.convert`: files of ours out of published data and out of other systems' runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import CommandParser, run
from seal_ir.convert.nq320k import convert
from seal_ir.convert.overlap import read_overlap, write_splits
from seal_ir.convert.runs import NEED_TOPICS, convert_run
from seal_ir.errors import UsageError
from seal_ir.formats.collections.collection import collection_kinds
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.outputs import check_several
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS
from seal_ir.formats.runs.trec import OUTPUT_FORMATS
from seal_ir.formats.topics.answers import answers_of_topics
from seal_ir.formats.topics.reading import TOPICS_FORMATS, datapoint_inputs, read_topics
from seal_ir.records import Query


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.convert",
        description="Make files of ours out of published data, or out of runs.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    nq320k = commands.add_parser(
        "nq320k", help="a collection, topics, judgements, pairs of Natural Questions"
    )
    nq320k.set_defaults(command=_nq320k)
    for split in ("train", "dev"):
        nq320k.add_argument(
            f"--{split}", type=Path, required=True, help="examples: .jsonl or .jsonl.gz, or a folder of them"
        )
    nq320k.add_argument("--output", type=Path, required=True, help="folder that SEAL_IR_DATA names")
    nq320k.add_argument(
        "--long-answers", action="store_true", help="only questions with a long answer (default: all)"
    )
    overlap = commands.add_parser("overlap", help="ids of the topics that overlap with training questions")
    overlap.set_defaults(command=_overlap)
    overlap.add_argument("--input", type=Path, required=True, help="annotations: nq-annotations.jsonl")
    overlap.add_argument(
        "--output",
        type=Path,
        required=True,
        help="what PREFIX.question-overlap.ids.txt and the like begin with",
    )
    _add_run(commands.add_parser("run", help="a run of any system, in another format"))
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    run.set_defaults(command=_run)
    add = run.add_argument
    add("--run", type=Path, required=True, help="TREC's, KILT's, DPR's or another of docs/formats.md")
    add("--output", type=Path, required=True, help="file to write, or -")
    formats = (*OUTPUT_FORMATS, *PASSAGE_FORMATS)
    add("--output-format", default="trec", choices=formats, help="(%(default)s)")
    add("--topics", help="file or name; default: those of the run, where the format holds no questions")
    add("--topics-format", default="auto", choices=TOPICS_FORMATS, help="auto looks into the file")
    told = "with --input: where texts are read that the run brings none of"
    add("--collection", default="JsonCollection", help=f"{told}: {', '.join(collection_kinds())}")
    add("--input", type=Path, help="the collection: file or folder")
    add("--tag", default="converted", help="sixth column of a TREC run (%(default)s)")


def main(arguments: list[str]) -> int:
    """Make the files; 0 when they are there."""
    args = _parser().parse_args(arguments)
    args.command(args)
    return 0


def _nq320k(args: argparse.Namespace) -> None:
    found = convert(args.train, args.dev, args.output, long_answers=args.long_answers, tell=_tell)
    for split, counts in found.items():
        _tell(f"{split}: {counts}")


def _overlap(args: argparse.Namespace) -> None:
    annotations = read_overlap(args.input)
    check_several(args.output)
    counts = write_splits(annotations, args.output)
    told = ", ".join(f"{label.replace('_', ' ')} {count:,}" for label, count in counts.items())
    _tell(f"{len(annotations):,} questions: {told}")


def _run(args: argparse.Namespace) -> None:
    if args.topics is None and args.output_format in NEED_TOPICS:
        raise UsageError(f"--output-format {args.output_format} holds the questions; give --topics")
    topics, answers = None, {}
    if args.topics is not None:
        places = Places.from_environment()
        path = resolve_topics(args.topics, places)
        topics = read_topics(path, args.topics_format)
        if args.output_format == "kilt":  # which repeats inputs with their marks
            inputs = datapoint_inputs(path, topics, args.topics_format)
            topics = [Query(query.id, inputs[query.id]) for query in topics]
        if args.output_format in PASSAGE_FORMATS:
            answers = answers_of_topics(args.topics, path, args.topics_format, places)
    texts = None if args.input is None else (args.collection, rereadable(args.input))
    done = convert_run(
        args.run, args.output, args.output_format, topics, texts, answers=answers, tag=args.tag
    )
    _tell(
        f"{done.topics:,} topics, {done.without:,} of them without results;"
        f" {done.unknown:,} topics of the run are left out"
    )


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    run(main)
