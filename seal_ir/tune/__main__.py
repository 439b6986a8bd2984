"""`python -m seal_ir.tune`: settings of ranking and fusion, chosen on questions of one's own."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from seal_ir.arrays import Doubles
from seal_ir.command import CommandParser, add_threads, check_options, run
from seal_ir.config import DEFAULT_PRESET, PRESETS, SearchConfig, preset
from seal_ir.errors import UsageError, shown
from seal_ir.eval.answers import REGEX, TOKENS
from seal_ir.eval.measures import Column, need_answers, need_passages, parse_measures
from seal_ir.eval.questions import Sources, find_sources, load_questions
from seal_ir.eval.texts import index_texts
from seal_ir.formats.io.files import atomic_writer
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.outputs import is_stream
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.keys.files import file_to_read, provenance_file
from seal_ir.keys.provenance import KeyProvenance, read_provenance
from seal_ir.records import QUERY, Query
from seal_ir.search.bm25 import Bm25Config
from seal_ir.search.fusion import Fusion
from seal_ir.search.hybrid import Hybrid, hybrid_with
from seal_ir.search.options import add_index, add_topics_format, configured, fusion_from_toml, index_of
from seal_ir.search.pipeline import QueryPipeline
from seal_ir.search.stored import StoredKeys
from seal_ir.structured import json_file
from seal_ir.tune.choosing import by_coordinates, by_grid, check_folds, split
from seal_ir.tune.evaluating import Evaluator
from seal_ir.tune.judging import Judge
from seal_ir.tune.ranges import Point, Space, read_space
from seal_ir.tune.report import Report

_BATCH = 16  # queries whose keys are held together; the first so many tell how long it takes
_SEARCHES = {"grid": by_grid, "coordinate": by_coordinates}
_DEFAULT_ANSWERS, _DEFAULT_QRELS = "AnswerAccuracy@20", "nDCG@10"


def parser() -> argparse.ArgumentParser:
    """All options with their defaults."""
    made = CommandParser(
        prog="python -m seal_ir.tune",
        description="Choose settings of ranking and fusion on questions of your own, from their keys.",
    )
    add = made.add_argument
    add("--topics", required=True, help="file or name: the questions")
    add_topics_format(made)
    add("--keys", type=Path, required=True, help="their keys, by python -m seal_ir.encode: folder or file")
    add_index(made)
    add("--ranges", type=Path, required=True, help="TOML file: [rank] and [fusion] with values to try")
    add("--output", type=Path, required=True, help="TOML file for --config of search, or - for stdout")
    add("--preset", default=DEFAULT_PRESET, choices=list(PRESETS), help="what the ranges vary")
    add("--config", type=Path, help="TOML file with settings over the preset's; with it, that is the default")
    add = made.add_argument_group("how to measure").add_argument
    add("--qrels", help="judgements: file or name of topics; default: those that belong to --topics")
    add("--answers", help="answers: likewise")
    add("--regex", action="store_true", help="answers are regular expressions")
    measures = f"one or more, averaged ({_DEFAULT_ANSWERS} with answers, else {_DEFAULT_QRELS})"
    add("--measures", nargs="+", help=measures)
    add("--hits", type=int, default=100, help="documents a topic")
    add = made.add_argument_group("how to choose").add_argument
    add("--search", default="grid", choices=list(_SEARCHES), help="all combinations, or one range by one")
    add("--folds", type=int, default=5, help="parts of the questions for cross-validation")
    add("--seed", type=int, default=0, help="of the parts, and of tests")
    group = made.add_argument_group("fusion with other rankings")
    group.add_argument("--fuse", nargs="+", help="bm25, run files or a Lucene index, as in search")
    add_threads(made, "that rank")
    return made


def main(arguments: list[str]) -> int:
    """Choose; 0 when the settings are written."""
    args = parser().parse_args(arguments)
    check_options(args, hits=1, threads=1, folds=2, seed=0)
    places = Places.from_environment()
    settings = None if args.config is None else rereadable(args.config)
    started = configured(args.preset, settings)
    space = read_space(args.ranges, started.rank, _fusion(args, settings))
    if args.search == "grid":
        for point in space.grid():
            space.setting(point)  # which settings refuse is told before anything is done
    sources, columns = _measures(args, places)
    directory = index_of(args.index, args.topics, places, args.yes)
    matching = REGEX if args.regex else TOKENS
    questions = load_questions(sources, columns, matching=matching)
    judge = Judge(questions, columns, index_texts(directory) if need_passages(columns) else None, matching)
    made = read_provenance(provenance_file(file_to_read(args.keys)))
    base = _as_made(args, started, space, made)
    pipeline = QueryPipeline(directory, config=base, batch_size=_BATCH)
    topics = _judged(args, places, judge)
    _check_keys(args, pipeline, topics, base, started)
    hybrid = _hybrid(args, space, pipeline, topics, places)
    evaluator = Evaluator(pipeline, args.keys, topics, base, judge, hybrid, args.hits, args.threads)
    with ExitStack() as outputs:  # opened now, so that a place that cannot be written is told now
        writer = outputs.enter_context(atomic_writer(args.output))
        report = _chosen(args, space, evaluator, questions.label)
        writer.write(report.toml(base, preset(args.preset), f"{made.model} in {made.dtype}"))
        if not is_stream(args.output):
            beside = args.output.with_name(f"{args.output.name}.tune.json")
            outputs.enter_context(atomic_writer(beside)).write(json_file(report.values()))
    (sys.stderr if is_stream(args.output) else sys.stdout).write(report.text())
    return 0


def _fusion(args: argparse.Namespace, settings: Path | None) -> Fusion | None:
    """What fusion varies around; None where nothing is fused."""
    if args.fuse is None:
        return None
    return Fusion() if settings is None else fusion_from_toml(settings)


def _measures(args: argparse.Namespace, places: Places) -> tuple[Sources, list[Column]]:
    """Where answers and judgements are, and what to measure.

    Raises:
        UsageError: there is neither, a measure means none, or it looks deeper than rankings go.
    """
    columns = parse_measures(args.measures) if args.measures else []
    wanted = not columns or need_answers(columns)
    sources = find_sources(args.topics, args.answers, args.qrels, places, need_answers=wanted)
    if not columns:
        if sources.answers is None and sources.qrels is None:
            raise UsageError(
                f"{args.topics}: no answers and no judgements to choose by; give --answers or --qrels"
            )
        columns = parse_measures([_DEFAULT_QRELS if sources.answers is None else _DEFAULT_ANSWERS])
    deep = next((column for column in columns if column.depth > args.hits), None)
    if deep is not None:
        raise UsageError(f"{deep.name} looks deeper than --hits {args.hits}; raise that")
    return sources, columns


def _as_made(
    args: argparse.Namespace, started: SearchConfig, space: Space, made: KeyProvenance
) -> SearchConfig:
    """The settings with the decoding of the keys.

    Raises:
        UsageError: a kind is to count that the keys have not.
    """
    there = [*made.decode.written, *([QUERY] if made.decode.query_words else [])]
    tried = {"kinds": [started.rank.kinds]} | {str(i): i.values for i in space.ranges if i.name == "kinds"}
    for name, values in tried.items():
        absent = next((kind for kinds in values for kind in kinds if kind not in there), None)
        if absent is not None:
            raise UsageError(
                f"{name} holds {shown(absent)}, and {args.keys} has {', '.join(there)} only; choose another"
                " --preset or kinds, or encode the topics again"
            )
    return replace(started, decode=made.decode)


def _judged(args: argparse.Namespace, places: Places, judge: Judge) -> list[Query]:
    """The topics that a measure is over; stderr is told how many are left out."""
    topics = read_topics(resolve_topics(args.topics, places), args.topics_format)
    wanted = set(judge.topics)
    kept = [topic for topic in topics if topic.id in wanted]
    if len(kept) < len(topics):
        sys.stderr.write(
            f"{len(topics) - len(kept)} of {len(topics)} topics are not judged and are left out\n"
        )
    return kept


def _check_keys(
    args: argparse.Namespace,
    pipeline: QueryPipeline,
    topics: Sequence[Query],
    base: SearchConfig,
    started: SearchConfig,
) -> None:
    """Refuse keys of something else; their decoding is what counts, but for what --config says of it.

    Raises:
        InputError: says what they are of.
    """
    configs = [base] if started.decode == preset(args.preset).decode else [base, started]
    StoredKeys(args.keys, pipeline.index, topics, configs)


def _hybrid(
    args: argparse.Namespace, space: Space, pipeline: QueryPipeline, topics: Sequence[Query], places: Places
) -> Hybrid | None:
    """The runs to fuse with, as deep as any setting wants them."""
    if space.fusion is None:
        return None
    fusions = [setting.fusion for setting in map(space.setting, space.pairs()) if setting.fusion]
    for fusion in fusions:
        fusion.check_number(1 + len(args.fuse))
    deep = Fusion(depth=max(fusion.depth for fusion in fusions))
    config = Bm25Config(hits=args.hits, threads=args.threads)
    return hybrid_with(args.fuse, pipeline.index, topics, deep, config, places.cache / "lucene")


def _chosen(args: argparse.Namespace, space: Space, evaluator: Evaluator, label: str) -> Report:
    """Try the settings and choose."""
    columns = evaluator.judge.columns
    folds = split(len(evaluator.topics), args.folds, args.seed)

    def values(points: Sequence[Point]) -> list[Doubles]:
        return evaluator.values([space.setting(point) for point in points])

    (first,) = values([space.default])
    check_folds(first, folds, [column.name for column in columns])
    choice = _SEARCHES[args.search](space, values, folds)
    return Report(label, space, columns, choice, args.search, args.seed)


if __name__ == "__main__":
    run(main)
