"""`python -m seal_ir.read fit`: train a Fusion-in-Decoder reader on a run."""

from __future__ import annotations

import argparse
from pathlib import Path

from seal_ir.command import CommandParser, add_threads, check_options, settings_of
from seal_ir.errors import UsageError
from seal_ir.formats.io.outputs import check_parents
from seal_ir.formats.io.resolve import Places, resolve_answers, resolve_topics
from seal_ir.index.registry import find_index
from seal_ir.lm.device import use_threads
from seal_ir.read.fid.options import ReadFitOptions
from seal_ir.read.fid.questions import FitSources
from seal_ir.train.fit.command import add_updates, check_installed, tell_done
from seal_ir.train.fit.options import FitOptions

_DEFAULTS = FitOptions(learning_rate=1e-4, warmup=1000, clip=1.0, accumulate=64)  # the paper's


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.read fit",
        description="Train a Fusion-in-Decoder reader on a run: T5, BART or another encoder-decoder model.",
    )
    add = parser.add_argument
    add("--run", type=Path, required=True, help="run of the topics, TREC's format or KILT's")
    add("--topics", required=True, help="questions: file or name")
    add("--answers", help="their answers: file or name (those of --topics)")
    add("--index", required=True, help="index of the run's collection: directory or name")
    add("--model", required=True, help="folder or hub name to start from, such as google-t5/t5-base")
    add("--output", type=Path, required=True, help="folder for the model, its checkpoints and its report")
    add("--resume", action="store_true", help="go on from the last checkpoint in --output")
    add("--max-minutes", type=float, help="end cleanly after so many minutes, with a checkpoint")
    add_threads(parser, "of torch")
    _add_reading(parser)
    group = parser.add_argument_group("training")
    add_updates(group, _DEFAULTS)
    add = group.add_argument
    add("--accumulate", type=int, default=_DEFAULTS.accumulate, help="batches an update (%(default)s)")
    add("--seed", type=int, default=_DEFAULTS.seed, help="of all that is random (%(default)s)")
    add("--smoothing", type=float, default=0.0, help="of the labels (%(default)s)")
    group = parser.add_argument_group("measuring on the way")
    add = group.add_argument
    add("--eval-steps", type=int, default=_DEFAULTS.eval_steps, help="between dev losses (%(default)s)")
    add(
        "--patience",
        type=int,
        help="end after so many dev losses in a row that are no better than the best one, and write that"
        " one's weights; default: train all steps and write the last weights",
    )
    return parser


def _add_reading(parser: argparse.ArgumentParser) -> None:
    defaults = ReadFitOptions()
    add = parser.add_argument_group("questions and passages").add_argument
    add("--contexts", type=int, default=defaults.contexts, help="passages of a question (%(default)s)")
    add("--questions", type=int, default=defaults.questions, help="of a batch (%(default)s)")
    add("--passage-tokens", type=int, help="of a question with one passage; default: the model's, else 250")
    add("--answer-tokens", type=int, help="of an answer; default: the model's, else 50")
    add(
        "--recompute",
        action="store_true",
        help="keep less in memory and compute it again for the gradient, a third slower",
    )


def main(arguments: list[str]) -> int:
    """Train; 0 when the model is written."""
    args = _parser().parse_args(arguments)
    check_options(args, threads=1)
    check_installed(["matplotlib"] + (["peft"] if args.lora else []))
    check_parents(args.output)
    options, reading = settings_of(args, FitOptions), settings_of(args, ReadFitOptions)
    places = Places.from_environment()
    index = find_index(args.index, places)
    named = args.topics if args.answers is None else args.answers
    answers = resolve_answers(named, places)
    if answers is None:
        raise UsageError(f"--answers {named!r}: no such file, and none belong to topics of that name")
    sources = FitSources(args.run, resolve_topics(args.topics, places), answers)
    use_threads(args.threads)
    from seal_ir.lm.load import quiet_transformers
    from seal_ir.read.fid.run import ReadFitPlan, fit

    with quiet_transformers():
        done = fit(ReadFitPlan(args.model, index, sources, args.output, options, reading), resume=args.resume)
    tell_done(done, options, args.output)
    return 0
