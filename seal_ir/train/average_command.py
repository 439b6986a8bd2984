"""`python -m seal_ir.train average`: one adapter out of several."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import CommandParser
from seal_ir.formats.io.files import utf8


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.train average",
        description="Make one adapter out of several that began at one model: the average of their weights.",
    )
    add = parser.add_argument
    add("--models", nargs="+", required=True, help="adapters: folders or names")
    add("--weights", type=float, nargs="+", help="of each, adding up to 1; default: equal ones")
    add("--output", type=Path, required=True, help="folder to make")
    return parser


def main(arguments: list[str]) -> int:
    """Average; 0 when the folder is there."""
    args = _parser().parse_args(arguments)
    from seal_ir.train.average import average

    average(args.models, args.weights, args.output)
    sys.stdout.write(f"{utf8(args.output)}\n")
    return 0
