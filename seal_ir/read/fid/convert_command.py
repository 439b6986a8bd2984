"""`python -m seal_ir.read convert`: a reader's folder out of a published Fusion-in-Decoder checkpoint."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seal_ir.command import CommandParser, add_threads, check_options, settings_of
from seal_ir.formats.io.files import utf8
from seal_ir.lm.device import use_threads
from seal_ir.read.fid.description import FidDescription

_T5 = "google-t5/t5-base"


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.read convert",
        description="Make a reader's folder of a Fusion-in-Decoder checkpoint in the layout of the published"
        " ones. Nothing that the checkpoint names is run.",
    )
    defaults = FidDescription()
    add = parser.add_argument
    add("--checkpoint", type=Path, required=True, help="folder with config.json and pytorch_model.bin")
    add("--output", type=Path, required=True, help="folder to make")
    add("--tokenizer", default=_T5, help="the model's: folder or hub name")
    add("--contexts", type=int, default=defaults.contexts, help="passages that it was trained with")
    add("--passage-tokens", type=int, default=defaults.passage_tokens, help="of a question with a passage")
    add("--answer-tokens", type=int, default=defaults.answer_tokens, help="of an answer")
    add_threads(parser, "of torch")
    return parser


def main(arguments: list[str]) -> int:
    """Convert; 0 when the folder is there."""
    args = _parser().parse_args(arguments)
    check_options(args, threads=1)
    description = settings_of(args, FidDescription)
    use_threads(args.threads)
    from seal_ir.lm.load import quiet_transformers
    from seal_ir.read.fid.converting import FidConversion, convert

    with quiet_transformers():
        n_parameters = convert(FidConversion(args.checkpoint, args.output, args.tokenizer, description))
    sys.stderr.write(f"{n_parameters:,} parameters\n")
    sys.stdout.write(f"{utf8(args.output)}\n")
    return 0
