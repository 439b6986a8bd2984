"""`python -m seal_ir.eval`: one table of measures for several runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from seal_ir.arguments import check_range
from seal_ir.command import CommandParser, run
from seal_ir.errors import UsageError
from seal_ir.eval.answers import REGEX, TOKENS
from seal_ir.eval.comparisons import find_result, with_statistics, write_deltas
from seal_ir.eval.evaluation import EvalOptions, evaluate
from seal_ir.eval.measures import (
    ANSWER_DEFAULTS,
    PREDICTION_DEFAULTS,
    QRELS_DEFAULTS,
    Column,
    need_answers,
    need_passages,
    parse_measures,
)
from seal_ir.eval.per_topic import check_rows_path, write_per_topic
from seal_ir.eval.questions import Sources, find_sources, load_questions
from seal_ir.eval.sentinel import LEAST_JUDGED
from seal_ir.eval.significance import Resampling
from seal_ir.eval.subsets import AVERAGES, averaged, with_overlap
from seal_ir.eval.table_formats import FORMATS, as_json
from seal_ir.eval.tables import Table
from seal_ir.eval.texts import collection_texts, searched_passages
from seal_ir.eval.training import with_training
from seal_ir.formats.collections.collection import collection_kinds
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.outputs import STDOUT
from seal_ir.formats.io.resolve import Places
from seal_ir.formats.runs.others import has_texts


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.eval", description="Measure runs and written answers over all topics."
    )
    add = parser.add_argument
    add("--run", nargs="+", type=Path, help="one or more runs, whosever they are; one row each")
    add(
        "--predictions",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="answers that the systems wrote: one file a run, in the runs' order, or files without runs",
    )
    add("--topics", help="file or name, such as nq-test or demo; what is measured on")
    add("--qrels", help="judgements: file or name of topics; default: those that belong to --topics")
    add("--answers", help="answers: file or name of topics; default: those that belong to --topics")
    add(
        "--measures",
        nargs="+",
        help="ir_measures' names (Success@1 Rprec nDCG@10), trec_eval's (map ndcg_cut.10), AnswerAccuracy@k,"
        " KILT's (KiltRprec KiltEM), of written answers EM F1 RougeL AC;"
        f" default: {' '.join(ANSWER_DEFAULTS)} with answers, {' '.join(QRELS_DEFAULTS)} with judgements,"
        f" {' '.join(PREDICTION_DEFAULTS)} with --predictions",
    )
    add = parser.add_argument_group("where passages are, for answers").add_argument
    add("--index", help="index that was searched, ours (directory or name) or Lucene's, for AnswerAccuracy@k")
    add("--collection", default="JsonCollection", help=f"of --input: {', '.join(collection_kinds())}")
    add("--input", type=Path, help="collection that was searched, instead of --index: file or folder")
    add = parser.add_argument_group("how to measure").add_argument
    add("--regex", action="store_true", help="answers are regular expressions")
    add("--max-passage", action="store_true", help="fold passages into pages, then measure")
    add("--max-passage-delimiter", default="#", help="what ends the page in a passage's id (%(default)s)")
    add("--overlap", type=Path, help="also measure by overlap with training questions: their annotations")
    _add_doubtful(parser)
    _add_comparing(parser)
    add = parser.add_argument_group("writing").add_argument
    add("--format", default="text", choices=tuple(FORMATS), help="of the table on stdout (%(default)s)")
    add("--output", type=Path, help="also write the figures as JSON, unrounded; - for stdout")
    return parser


def _add_doubtful(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("what makes figures doubtful").add_argument
    add("--strict", action="store_true", help="refuse what is else a warning: exit 1, and write nothing")
    add("--training", nargs="+", type=Path, metavar="FILE", help="warn of --topics that are questions here")
    add(
        "--min-judged",
        type=float,
        metavar="SHARE",
        help="warn of a top k of which a smaller share is judged, 0 to 1; default:"
        f" {LEAST_JUDGED} where judgements say as often what is not relevant, else 0",
    )


def _add_comparing(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("comparing runs").add_argument
    add("--baseline", help="also compare the other runs with this one: its name in the table, or its path")
    add("--deltas", type=Path, help="with --baseline: write each topic's differences, as .tsv or .jsonl")
    add(
        *("-q", "--per-topic"),
        type=Path,
        metavar="FILE",
        help="write each topic's figures, as .tsv or .jsonl; topics without results have zeros",
    )
    add(
        "--average",
        default=AVERAGES[0],
        choices=AVERAGES,
        help="figures are over all topics, or leave out those without answers (judged), or also those that"
        " the run lacks (in-run, as trec_eval without -c) (%(default)s)",
    )
    add("--permutations", type=int, default=10_000, help="of the randomisation test (%(default)s)")
    add("--seed", type=int, default=0, help="of all that is drawn (%(default)s)")


def main(arguments: list[str]) -> int:
    """Measure; 0 when the table is printed."""
    args = _parser().parse_args(arguments)
    _check_options(args)
    args.run = args.run and list(map(rereadable, args.run))  # texts are looked for before it is read
    resampling = Resampling(permutations=args.permutations, seed=args.seed)
    requested = parse_measures(args.measures) if args.measures else None
    places = Places.from_environment()
    can_look = _can_look(args)
    sources = find_sources(
        args.topics,
        args.answers,
        args.qrels,
        places,
        need_answers=can_look or bool(args.predictions) if requested is None else need_answers(requested),
    )
    columns = requested or _default_columns(args, sources, can_look)
    table = _measured(args, sources, columns, places)
    per_topic = table
    table = averaged(table, args.average)
    if args.overlap is not None:
        table = with_overlap(table, args.overlap)
    table = _with_statistics(table, args, resampling)
    if args.per_topic is not None:
        write_per_topic(args.per_topic, per_topic)
    _tell(table)
    if requested is None and args.run and not can_look and not args.max_passage:
        print(
            "AnswerAccuracy@k is left out: no --index and no --input to read passages from", file=sys.stderr
        )
    if args.output:
        with atomic_writer(args.output) as file:
            file.write(as_json(table))
    # Figures and a table on one stream would be neither.
    (sys.stderr if args.output == STDOUT else sys.stdout).write(FORMATS[args.format](table))
    return 0


def _measured(args: argparse.Namespace, sources: Sources, columns: Sequence[Column], places: Places) -> Table:
    """The runs on all topics."""
    delimiter = args.max_passage_delimiter if args.max_passage else None
    needs_texts = need_passages(columns)
    if needs_texts and not _can_look(args) and delimiter is None and sources.answers is not None:
        raise UsageError(
            "AnswerAccuracy@k needs the passages; name them with --index, or with --collection and --input"
        )
    matching = REGEX if args.regex else TOKENS
    questions = load_questions(sources, columns, delimiter, matching)
    if args.training is not None and sources.topics is not None:
        questions = with_training(questions, sources.topics, args.training)
    passages = searched_passages(args.index, places) if args.index is not None else None
    texts, known = (passages.texts, passages.known) if passages is not None else (None, None)
    if args.input is not None and needs_texts:
        texts = collection_texts(args.collection, args.input)
    options = EvalOptions(matching, delimiter, args.strict, args.min_judged)
    runs = args.run or args.predictions
    return evaluate(runs, questions, columns, texts, options, args.predictions, known)


def _check_options(args: argparse.Namespace) -> None:
    if args.run is None and args.predictions is None:
        raise UsageError("nothing to measure; name one or more files with --run, --predictions or both")
    if args.run and args.predictions and len(args.run) != len(args.predictions):
        raise UsageError(
            f"--predictions names {len(args.predictions)} files and --run {len(args.run)}; give one a run, in"
            " the same order"
        )
    if args.topics is None and args.qrels is None and args.answers is None:
        raise UsageError("nothing to measure against; give --topics, --qrels or --answers")
    if args.index is not None and args.input is not None:
        raise UsageError("give --index or --input, not both: passages come from one of them")
    if not args.max_passage_delimiter:
        raise UsageError("--max-passage-delimiter is empty; give one or more characters, such as '#'")
    if args.training is not None and args.topics is None:
        raise UsageError("--training compares questions; name those of the runs with --topics")
    if args.min_judged is not None:
        check_range("--min-judged", args.min_judged, 0)
        if args.min_judged > 1:
            raise UsageError(f"--min-judged is {args.min_judged:g}; it is a share, at most 1")
    if args.deltas is not None and args.baseline is None:
        raise UsageError("--deltas are differences from a run; name it with --baseline")
    for option, path in (("--deltas", args.deltas), ("--per-topic", args.per_topic)):
        if path is not None:
            check_rows_path(path, option)


def _default_columns(args: argparse.Namespace, sources: Sources, can_look: bool) -> list[Column]:
    """Accuracy where answers and passages are at hand, hits and R-precision where judgements are.

    Exact match and F1 where answers were written.
    """
    names: list[str] = []
    written = args.predictions is not None and sources.answers is not None
    asked = can_look or (args.answers is not None and not written)
    if args.run and sources.answers is not None and not args.max_passage and asked:
        names += ANSWER_DEFAULTS
    if args.run and sources.qrels is not None:
        names += QRELS_DEFAULTS
    if written:
        names += PREDICTION_DEFAULTS
    if not names:
        raise UsageError(
            "nothing to measure: these topics have no judgements, and no answers with passages to look in;"
            " give --qrels, or --answers with --index"
        )
    return parse_measures(names)


def _can_look(args: argparse.Namespace) -> bool:
    """Whether passages can be looked into: they are named, or all runs bring their texts."""
    return (
        args.index is not None or args.input is not None or (bool(args.run) and all(map(has_texts, args.run)))
    )


def _with_statistics(table: Table, args: argparse.Namespace, options: Resampling) -> Table:
    """The table with intervals and comparisons, if it is to show any; differences by topic are written."""
    shown = args.output is not None or args.format == "json" or args.predictions is not None
    if args.baseline is None and not shown:
        return table
    if args.baseline is None:
        return with_statistics(table, options)
    baseline = find_result(table, args.baseline)
    others = [result for result in table.results if result is not baseline]
    if not others:
        raise UsageError("--baseline needs other runs to compare it with; name them with --run")
    table = with_statistics(table, options, baseline, others)
    if args.deltas is not None:
        write_deltas(args.deltas, table, baseline, others)
    return table


def _tell(table: Table) -> None:
    """Says on stderr which topics each run has."""
    for result in table.results:
        print(f"{result.system}: {result.coverage}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
