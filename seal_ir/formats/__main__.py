"""`python -m seal_ir.formats`: `overlap` makes lists of topics of published annotations."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import run
from seal_ir.formats.overlap import read_overlap, write_splits


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m seal_ir.formats", description="Make files of ours out of published data."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
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


def _overlap(args: argparse.Namespace) -> None:
    annotations = read_overlap(args.input)
    counts = write_splits(annotations, args.output)
    told = ", ".join(f"{label.replace('_', ' ')} {count:,}" for label, count in counts.items())
    print(f"{len(annotations):,} questions: {told}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
