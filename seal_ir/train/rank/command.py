"""`python -m seal_ir.train rank`: train a model further, so that what it writes ranks."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from seal_ir.command import CommandParser, add_threads, check_options, settings_of
from seal_ir.config import DEFAULT_PRESET, PRESETS
from seal_ir.errors import UsageError
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.outputs import check_parents
from seal_ir.formats.io.resolve import Places, resolve_answers, resolve_topics
from seal_ir.lm.device import use_threads
from seal_ir.search.options import configured
from seal_ir.text.pretrained import WRITING_MODEL
from seal_ir.train.data.command import add_exclude, add_judged, judged_files
from seal_ir.train.fit.command import add_dev_retrieval, add_updates, check_installed, dev_source
from seal_ir.train.fit.options import FitOptions
from seal_ir.train.rank.options import LOSSES, RankOptions
from seal_ir.train.rank.questions import QuestionSources

_DEFAULTS = FitOptions(steps=700, learning_rate=3e-4, warmup=50, clip=1.0, save_steps=100)


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.train rank",
        description="Train a model further, so that what it writes ranks the right documents.",
    )
    add = parser.add_argument
    add("--index", type=Path, required=True, help="index of the collection that is ranked")
    add("--output", type=Path, required=True, help="folder for the model, its checkpoints and its report")
    add("--model", default=WRITING_MODEL, help="folder, hub name or name to start from (%(default)s)")
    add(
        "--preset",
        default=DEFAULT_PRESET,
        choices=[*PRESETS],
        help="how keys are written and ranked (%(default)s)",
    )
    add("--config", type=Path, help="TOML file of settings over the preset's")
    add("--beam", type=int, help="hypotheses kept per step; default: the preset's")
    add("--resume", action="store_true", help="go on from the last checkpoint in --output")
    add("--max-minutes", type=float, help="end after so many minutes and the round, with a checkpoint")
    add_threads(parser, "of torch")
    _add_questions(parser)
    _add_ranking(parser)
    add_updates(parser.add_argument_group("training"), _DEFAULTS)
    add_dev_retrieval(parser.add_argument_group("measuring on the way"))
    return parser


def _add_questions(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("questions")
    add = group.add_argument
    add("--pairs", type=Path, nargs="+", default=[], help='JSON lines {"question", "positive_ids"}')
    add_judged(group, "questions and judged passages, files or names; may come several times")
    add_exclude(group)
    add(
        "--answers",
        nargs="+",
        default=[],
        help='JSON lines {"question", "answers"}, files or names: what holds an answer is no negative',
    )
    add(
        "--negatives",
        nargs=2,
        action="append",
        default=[],
        metavar=("TOPICS", "RUN"),
        help="hard negatives: a run for topics, such as BM25's; may come several times",
    )


def _add_ranking(parser: argparse.ArgumentParser) -> None:
    defaults = RankOptions()
    add = parser.add_argument_group("ranking").add_argument
    add("--questions", type=int, default=defaults.questions, help="of a step (%(default)s)")
    add("--refresh", type=int, default=defaults.refresh, help="steps until keys are made anew (%(default)s)")
    add("--hits", type=int, default=defaults.hits, help="candidates of its own ranking (%(default)s)")
    add("--run-hits", type=int, default=defaults.run_hits, help="candidates of --negatives (%(default)s)")
    add("--positives", type=int, default=defaults.positives, help="of a question at most (%(default)s)")
    add("--keys", type=int, default=defaults.keys, help="n-grams of a question to be trained (%(default)s)")
    add("--first-step", action="store_true", help="train the first step's distribution alone")
    add(
        "--small-share",
        type=float,
        default=defaults.small_share,
        help="share of steps within a few documents of the collection (%(default)s)",
    )
    add("--loss", choices=LOSSES, default=defaults.loss, help="(%(default)s)")
    add("--temperature", type=float, default=defaults.temperature, help="points of a unit (%(default)s)")
    add("--margin", type=float, default=defaults.margin, help="of --loss margin, in units (%(default)s)")
    add("--generation", type=float, default=defaults.generation, help="share of text's loss (%(default)s)")
    add("--seed", type=int, default=defaults.seed, help="of all that is random (%(default)s)")


def main(arguments: list[str]) -> int:
    """Train; 0 when the model is written."""
    args = _parser().parse_args(arguments)
    if not (args.pairs or args.judged):
        raise UsageError("no questions; give --pairs or --judged")
    dev = dev_source(args)
    check_options(args, threads=1, dev_steps=1)
    check_installed(["matplotlib"] + (["peft"] if args.lora else []))
    check_parents(args.output)
    options = settings_of(args, FitOptions)
    ranking = settings_of(args, RankOptions)
    config = configured(args.preset, args.config, beam=args.beam)
    places = Places.from_environment()
    sources = QuestionSources(
        args.pairs,
        [judged_files(names, places) for names in args.judged],
        [resolve_topics(name, places) for name in args.exclude],
        [_answers(name, places) for name in args.answers],
        [(resolve_topics(topics, places), Path(run)) for topics, run in args.negatives],
    )
    use_threads(args.threads)
    from seal_ir.lm.load import quiet_transformers
    from seal_ir.train.rank.run import RankPlan, train

    plan = RankPlan(args.model, args.index, sources, config, args.output, options, ranking, dev)
    with quiet_transformers():
        done = train(plan, resume=args.resume)
    if int(os.environ.get("RANK", "0")) == 0:  # under torchrun, one process speaks for all
        if done.step < options.steps:
            sys.stderr.write(f"stopped at step {done.step} of {options.steps}; go on with --resume\n")
        sys.stdout.write(f"{utf8(args.output)}\n")
    return 0


def _answers(name: str, places: Places) -> Path:
    path = resolve_answers(name, places)
    if path is None:
        raise UsageError(f"--answers {name!r}: no such file, and none belong to topics of that name")
    return path
