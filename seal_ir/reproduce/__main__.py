"""`python -m seal_ir.reproduce`: make the runs of a table, measure them and print it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

from seal_ir.command import CommandParser, add_threads, check_options, run
from seal_ir.errors import SealError, UsageError
from seal_ir.eval.significance import Resampling
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.outputs import alone_in
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce import explained, plots, recorded, writing
from seal_ir.reproduce.figures import Measured, check_questions, measure, write_topics
from seal_ir.reproduce.layout import lacking
from seal_ir.reproduce.outputs import with_outputs
from seal_ir.reproduce.pages import insert, read_page, write_pages
from seal_ir.reproduce.plan import Plan, check_reached, chosen, imported, make_plan
from seal_ir.reproduce.readers import read_by, with_readers
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from seal_ir.reproduce.steps import perform_steps

# What a table is written as: the format's name, the file's suffix, the writer.
_FORMATS = {
    "text": ("txt", writing.as_text),
    "markdown": ("md", writing.as_markdown),
    "latex": ("tex", writing.as_latex),
    "csv": ("csv", writing.as_csv),
    "json": ("json", writing.as_json),
}
# A table of keys likewise.
_FORMATS_OF_KEYS = {
    "text": ("txt", explained.as_text),
    "markdown": ("md", explained.as_markdown),
    "json": ("json", explained.as_json),
}


def _parser() -> argparse.ArgumentParser:
    parser = CommandParser(
        prog="python -m seal_ir.reproduce", description="Make the runs of a table, measure and print them."
    )
    add = parser.add_argument
    add("--table", type=Path, required=True, help="table file, such as eval/demo.toml")
    add("--systems", nargs="+", help="only these rows: names or patterns such as 'SEAL*'")
    add(
        "--run",
        nargs="+",
        default=[],
        metavar="NAME=FILE",
        help="run files of other systems; NAME=TOPICS:FILE where the table has several sets of topics",
    )
    add(
        "--reader",
        help="read every run with this instead of what the table reads with, and measure exact match (EM): a"
        " reader and options of python -m seal_ir.read, such as 'prompt --dtype bfloat16'",
    )
    add("--output", type=Path, default=Path("runs/eval"), help="folder of runs and results (%(default)s)")
    add("--fresh", action="store_true", help="make runs again that are there already")
    add("--format", default="text", choices=tuple(_FORMATS), help="of the table on stdout (%(default)s)")
    add("--into", type=Path, help="also put the table into this other Markdown page")
    add("--record", action="store_true", help="write what was measured into the table file")
    add_threads(parser, "of each command, unless the table's file says how many")
    add("--plots", action="store_true", help="also draw all OUTPUT/TABLE.*.png and .svg (needs matplotlib)")
    add("--seed", type=int, default=0, help="of intervals and p values (%(default)s)")
    return parser


def main(arguments: list[str]) -> int:
    """Make the runs, measure them, write OUTPUT/TABLE.json, .csv, .md, .tex and .txt; 0 when done.

    Fails after that, with a line for each, where figures differ from those that the table file has recorded.
    """
    args = _parser().parse_args(arguments)
    check_options(args, threads=1)
    if args.plots:
        plots.check_installed()
    if args.record and args.run:
        raise UsageError("--record does not go with --run: figures of other files are not the table's")
    if args.record and args.reader:
        raise UsageError("--record does not go with --reader: what is recorded is of the table's own readers")
    places, options = Places.from_environment(), Resampling(seed=args.seed)
    spec = read_spec(args.table, args.output, places)
    if spec.n_keys and (args.run or args.record or args.plots or args.format not in _FORMATS_OF_KEYS):
        told = "--run, --record and --plots are for figures, and --format is text, markdown or json"
        raise UsageError(f"{args.table}: a table of keys; {told}")
    check_reached(with_readers(spec, places.cache), args.table, places.cache)
    is_part = bool(args.systems or args.run or args.reader)
    for path in [*(page.file for page in spec.pages if not is_part), *filter(None, [args.into])]:
        read_page(path, spec.name)
    spec = chosen(imported(with_outputs(spec), args.run), args.systems or ["*"])
    if args.reader:
        spec = read_by(spec, args.reader)
    spec = with_readers(spec, places.cache)
    plan = make_plan(spec, places.cache)
    with alone_in(spec.folder, "making this table"):
        return _make(args, spec, plan, places, options, is_part=is_part)


def _make(
    args: argparse.Namespace,
    spec: TableSpec,
    plan: Plan,
    places: Places,
    options: Resampling,
    *,
    is_part: bool,
) -> int:
    """Perform the plan, measure and write."""
    for topics in plan.topics:
        write_topics(topics, places)
        check_questions(spec, topics, places)
    timings = perform_steps(spec, plan, fresh=args.fresh, threads=args.threads)
    if spec.n_keys:
        _write_keys(args, spec, plan, places)
        return 0
    measured = measure(spec, plan.topics, places, timings, options)
    if not measured.figures:
        raise _nothing(args, spec, plan)
    _write(args, spec, measured, plan)
    n_drifts = _compare_with_recorded(args, spec, measured)
    for line in write_pages(spec, measured, plan.lacks, is_part=is_part, recording=args.record):
        print(line, file=sys.stderr)
    if n_drifts and not args.record:
        raise SealError(
            f"{args.table}: {n_drifts} of its figures were recorded otherwise, by more than the tolerance;"
            " find out why, or --record the new ones"
        )
    return 0


def _write(args: argparse.Namespace, spec: TableSpec, measured: Measured, plan: Plan) -> None:
    """The table in every form, where it was asked for."""
    for table in measured.tables.values():
        for result in table.results:
            print(f"{result.system}: {result.coverage}", file=sys.stderr)
    forms = _FORMATS.items()
    _put(args, spec, {name: (suffix, write(spec, measured, plan.lacks)) for name, (suffix, write) in forms})
    found = None if args.plots else plots.frontier_plots(spec, measured)  # which are what they are made for
    if found and not plots.is_installed():
        print("the table's frontiers are not drawn: that needs matplotlib", file=sys.stderr)
        found = []
    for path in plots.draw(spec, measured, args.output, found):
        print(path, file=sys.stderr)


def _write_keys(args: argparse.Namespace, spec: TableSpec, plan: Plan, places: Places) -> None:
    """A table of keys in every form that it has, where it was asked for."""
    found = explained.explain(spec, plan.topics, places) if plan.topics else []
    if not found:
        raise _nothing(args, spec, plan)
    forms = _FORMATS_OF_KEYS.items()
    _put(args, spec, {name: (suffix, write(spec, found, plan.lacks)) for name, (suffix, write) in forms})


def _put(args: argparse.Namespace, spec: TableSpec, texts: Mapping[str, tuple[str, str]]) -> None:
    """Suffix and text of each format: all as files, Markdown into the page, and then one on stdout."""
    for suffix, text in texts.values():
        with atomic_writer(args.output / f"{spec.name}.{suffix}") as file:
            file.write(text)
    if args.into is not None:
        insert(args.into, spec.name, texts["markdown"][1])
    sys.stdout.write(texts[args.format][1])


def _nothing(args: argparse.Namespace, spec: TableSpec, plan: Plan) -> SealError:
    return SealError(f"{args.table}: nothing to show; {'; '.join(lacking(spec, plan.lacks))}")


def _compare_with_recorded(args: argparse.Namespace, spec: TableSpec, measured: Measured) -> int:
    """Names the figures that have drifted, and returns their number; records the new ones if asked to."""
    drifts = recorded.drifts(spec, measured)
    for line in drifts:
        print(line, file=sys.stderr)
    if args.record:
        n = recorded.record(args.table, spec, measured)
        print(f"{n} figures recorded in {args.table}", file=sys.stderr)
    return len(drifts)


if __name__ == "__main__":
    run(main)
