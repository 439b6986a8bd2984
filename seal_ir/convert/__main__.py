"""`python -m seal_ir.convert`: `nq320k` and `overlap` make files of ours out of published data."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import CommandParser, run
from seal_ir.convert.nq320k import convert
from seal_ir.convert.overlap import read_overlap, write_splits
from seal_ir.formats.io.outputs import check_several


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.convert", description="Make files of ours out of published data."
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
    return parser


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


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    run(main)
