"""`python -m seal_ir.train fit`: train a model on a training set."""

from __future__ import annotations

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from seal_ir.command import CommandParser, add_threads, check_options, settings_of
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.outputs import check_parents
from seal_ir.lm.device import use_threads
from seal_ir.train.fit.batches import BatchOptions
from seal_ir.train.fit.dev_source import DevSource
from seal_ir.train.fit.options import FitOptions

if TYPE_CHECKING:
    from seal_ir.train.fit.completing import Done


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.train fit",
        description="Train a model on a set made by `python -m seal_ir.train data`.",
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="training set: folder made by `data`")
    add("--output", type=Path, required=True, help="folder for the model, its checkpoints and its report")
    add("--model", default="smollm2-135m", help="folder, hub name or name to start from (%(default)s)")
    add("--resume", action="store_true", help="go on from the last checkpoint in --output")
    add("--max-minutes", type=float, help="end cleanly after so many minutes, with a checkpoint")
    add_threads(parser, "of torch")
    _add_training(parser)
    _add_batches(parser)
    _add_dev(parser)
    return parser


def _add_training(parser: argparse.ArgumentParser) -> None:
    defaults = FitOptions()
    group = parser.add_argument_group("training")
    add_updates(group, defaults)
    add = group.add_argument
    add("--accumulate", type=int, default=defaults.accumulate, help="batches an update (%(default)s)")
    add("--seed", type=int, default=defaults.seed, help="of all that is random (%(default)s)")


def add_updates(group: argparse._ArgumentGroup, defaults: FitOptions) -> None:
    """Options of all that trains: how many updates, how large, of what."""
    add = group.add_argument
    add("--steps", type=int, default=defaults.steps, help="updates (%(default)s)")
    add("--lr", type=float, dest="learning_rate", default=defaults.learning_rate, help="(%(default)s)")
    add("--warmup", type=int, default=defaults.warmup, help="steps, at most half of all (%(default)s)")
    add(
        "--lora",
        type=int,
        nargs="?",
        const=16,
        default=0,
        metavar="RANK",
        help="train an adapter on all linear layers instead of all weights (rank 16 unless given)",
    )
    add("--bf16", action="store_true", help="compute in bfloat16; frozen weights are kept in it")
    add("--clip", type=float, default=defaults.clip, help="largest norm of the gradient (%(default)s)")
    add("--save-steps", type=int, default=defaults.save_steps, help="between checkpoints (%(default)s)")
    add("--log-steps", type=int, default=defaults.log_steps, help="between lines of progress (%(default)s)")


def _add_batches(parser: argparse.ArgumentParser) -> None:
    defaults = BatchOptions()
    add = parser.add_argument_group("batches").add_argument
    add("--tokens", type=int, default=defaults.tokens, help="of a batch, padding included (%(default)s)")
    add(
        "--targets",
        type=int,
        default=defaults.targets,
        help="sampled from each pair or document and pass; 0 for all (%(default)s)",
    )
    add("--unsupervised-share", type=float, help="of a pass's groups; default: all documents once")
    add("--max-tokens", type=int, default=defaults.max_tokens, help="of an example (%(default)s)")


def _add_dev(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("measuring on the way")
    add = group.add_argument
    add("--dev-data", type=Path, help="training set for the dev loss; default: 256 pairs held out of --data")
    add("--eval-steps", type=int, default=FitOptions().eval_steps, help="between dev losses (%(default)s)")
    add(
        "--patience",
        type=int,
        help="end after so many dev losses in a row that are no better than the best one, and write "
        "that one's weights (paper: 5); default: train all steps and write the last weights",
    )
    add_dev_retrieval(group)


def add_dev_retrieval(group: argparse._ArgumentGroup) -> None:
    """Options of the dev retrieval metric."""
    add = group.add_argument
    add("--dev-index", type=Path, help="index to search for the dev retrieval metric")
    add("--dev-topics", help="its questions: file or name")
    add("--dev-qrels", help="their relevant passages: file or name, for dev_retrieval_hits@k")
    add("--dev-answers", help="their answers: file or name, for dev_retrieval_answer_accuracy@k")
    add("--dev-queries", type=int, default=100, help="how many of them (%(default)s)")
    add("--dev-steps", type=int, help="between retrievals; default: only before and after training")


def main(arguments: list[str]) -> int:
    """Train; 0 when the model is written."""
    args = _parser().parse_args(arguments)
    dev = dev_source(args)
    check_options(args, threads=1, dev_steps=1)
    check_installed(["datasets", "matplotlib"] + (["peft"] if args.lora else []))
    check_parents(args.output)
    options, batches = settings_of(args, FitOptions), settings_of(args, BatchOptions)
    use_threads(args.threads)
    from seal_ir.lm.load import quiet_transformers
    from seal_ir.train.fit.run import FitPlan, fit

    plan = FitPlan(args.model, args.data, args.output, options, batches, dev, args.dev_data)
    with quiet_transformers():
        done = fit(plan, resume=args.resume)
    tell_done(done, options, args.output)
    return 0


def tell_done(done: Done, options: FitOptions, output: Path) -> None:
    """Say how a run ended and where its model is; under torchrun, one process speaks for all."""
    if int(os.environ.get("RANK", "0")) != 0:
        return
    if done.cut:
        sys.stderr.write(f"{done.cut}\n")
    if done.step < options.steps:
        why = f"no gain in {options.patience} evaluations" if done.spent else "go on with --resume"
        sys.stderr.write(f"stopped at step {done.step} of {options.steps}; {why}\n")
    if done.best_step is not None:
        sys.stderr.write(f"the model is that of step {done.best_step}, which has the lowest dev loss\n")
    sys.stdout.write(f"{utf8(output)}\n")


def check_installed(names: list[str]) -> None:
    """Refuse to begin without packages that are needed later.

    Raises:
        UsageError: one is not installed.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise UsageError(f"{', '.join(missing)} must be installed for this: pip install 'seal-ir[train]'")


def dev_source(args: argparse.Namespace) -> DevSource | None:
    """Where the dev retrieval metric is measured; None where it is not asked for.

    Raises:
        UsageError: an option goes without another one that is not there.
    """
    if args.dev_index is None and (args.dev_topics or args.dev_qrels or args.dev_answers):
        raise UsageError(
            "--dev-topics, --dev-qrels and --dev-answers need an index to search; give --dev-index"
        )
    if args.dev_index is not None and args.dev_topics is None:
        raise UsageError("--dev-index needs questions to search for; give --dev-topics")
    if args.dev_index is None:
        return None
    return DevSource(
        args.dev_index, args.dev_topics, args.dev_qrels, args.dev_answers, args.dev_queries, args.dev_steps
    )
