"""`python -m seal_ir.train convert`: a model folder out of a checkpoint of the published system."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import CommandParser, add_threads, check_options
from seal_ir.formats.io.files import utf8
from seal_ir.lm.device import use_threads

_BART = "facebook/bart-large"


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.train convert",
        description="Make a model folder of a checkpoint that fairseq trained, as the published system's"
        " are. Nothing that the checkpoint names is run.",
    )
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True, help="fairseq's file, as model.pt or SEAL.NQ.pt")
    add("--output", type=Path, required=True, help="folder to make")
    add("--tokenizer", default=_BART, help="BART's tokenizer: folder or hub name (%(default)s)")
    add(
        "--dict",
        type=Path,
        dest="dictionary",
        help="fairseq's dict.txt of the checkpoint; default: tokens are numbered as the tokenizer's, which is"
        " so for BART large",
    )
    add_threads(parser, "of torch")
    return parser


def main(arguments: list[str]) -> int:
    """Convert; 0 when the folder is there."""
    args = _parser().parse_args(arguments)
    check_options(args, threads=1)
    use_threads(args.threads)
    from seal_ir.convert.fairseq import Conversion, convert
    from seal_ir.lm.load import quiet_transformers

    with quiet_transformers():
        n_parameters = convert(Conversion(args.checkpoint, args.output, args.tokenizer, args.dictionary))
    sys.stderr.write(f"{n_parameters:,} parameters\n")
    sys.stdout.write(f"{utf8(args.output)}\n")
    return 0
