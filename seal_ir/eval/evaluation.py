"""Several runs, one set of questions, one table."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import UsageError
from seal_ir.eval.answer_measures import answer_values
from seal_ir.eval.answers import TOKENS, Matching, first_ranks
from seal_ir.eval.measures import Column, aggregate, judged_values, need_qrels
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage, Rankings, cover, system_names
from seal_ir.eval.systems import System, check_answers, read_system
from seal_ir.eval.tables import Result, Table
from seal_ir.eval.texts import Texts, bodies_of

logger = logging.getLogger(__name__)

Values = dict[str, dict[str, float]]  # by notation of the measure, then by topic


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """How to measure.

    Attributes:
        matching: the rule for answers.
        delimiter: fold documents into pages at it before any cut; None measures passages. Judgements
            are folded when they are loaded.
    """

    matching: Matching = TOKENS
    delimiter: str | None = None


DEFAULTS = EvalOptions()


class _Measured(NamedTuple):
    """Of one system: its topics, its values, and of rankings as much as is looked into for answers."""

    coverage: Coverage
    values: Values
    heads: Rankings
    in_run: frozenset[str]


def evaluate(
    paths: Sequence[Path],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts | None = None,
    options: EvalOptions = DEFAULTS,
    predictions: Sequence[Path | None] | None = None,
) -> Table:
    """The table of the runs in their order; `texts` are needed for AnswerAccuracy@k only.

    Args:
        paths: runs, or predictions where no measure looks at a ranking.
        questions: with what the measures need.
        columns: the measures.
        texts: bodies of passages.
        options: how to measure.
        predictions: what each system answered, for measures of written answers; None (also for one of them)
            where that is in the run itself.

    Raises:
        UsageError: a measure lacks its answers, texts, judgements or predictions, or answers are asked of
            pages.
        InputError: a file breaks its format, has none of the topics, or has passages that `texts` lacks.
    """
    check(questions, columns, texts, options)
    measured = [
        _measured(path, answers, questions, columns, options)  # one run at a time is in memory whole
        for path, answers in zip(paths, predictions or [None] * len(paths), strict=True)
    ]
    values = [found.values for found in measured]
    if texts is not None and _depth(columns):
        heads = [found.heads for found in measured]
        _add_accuracy(values, heads, questions, columns, texts, options.matching)
    return Table(
        questions=questions,
        columns=tuple(columns),
        results=tuple(
            Result(
                name,
                path,
                found.coverage,
                {column.name: aggregate(column, found.values[column.name].values()) for column in columns},
                {column.name: found.values[column.name] for column in columns},
                found.in_run,
            )
            for name, path, found in zip(system_names(paths), paths, measured, strict=True)
        ),
        matching=options.matching.name if _depth(columns) else None,
        delimiter=options.delimiter,
    )


def _depth(columns: Sequence[Column]) -> int:
    """How many passages of a topic are looked into; 0 where none are."""
    return max((column.cutoff or 0 for column in columns), default=0)


def _measured(
    path: Path,
    predictions: Path | None,
    questions: Questions,
    columns: Sequence[Column],
    options: EvalOptions,
) -> _Measured:
    """A system's output with its figures, but for AnswerAccuracy@k."""
    system = read_system(path, predictions, columns, options.delimiter)
    depth, ranked = _depth(columns), any(column.ranked for column in columns)
    if any(column.written for column in columns):
        check_answers(predictions or path, system.answers, questions.topics)
    covered = system.rankings if ranked else dict.fromkeys(system.answers, list[str]())
    qrels = questions.qrels if need_qrels(columns) else None
    coverage = cover(path, covered, questions.topics, qrels, answers=depth > 0)
    _warn_shallow(path, system.rankings, columns)
    answered = questions.answers or {}
    return _Measured(
        coverage,
        {column.name: _values(column, questions, system) for column in columns if column.cutoff is None},
        {qid: docids[:depth] for qid, docids in system.rankings.items() if depth and qid in answered},
        system.topics,
    )


def _warn_shallow(path: Path, rankings: Rankings, columns: Sequence[Column]) -> None:
    """Tells of measures that look deeper than a run goes: they are lower than a deeper run's would be."""
    longest = max(map(len, rankings.values()), default=0)
    deeper = [column.name for column in columns if column.depth > longest]
    if rankings and deeper:
        logger.warning(
            "%s: no topic has more than %d results; %s look deeper, where all counts as wrong",
            path,
            longest,
            ", ".join(deeper),
        )


def _values(column: Column, questions: Questions, system: System) -> dict[str, float]:
    """The measure for every judged topic; one of written answers for every topic."""
    rankings, sets = system.rankings, questions.evidence or {}
    if column.written is not None:
        golds = questions.golds or {}
        return answer_values(column.written, system.answers, golds, questions.topics, rankings, sets)
    if column.evidence is None:
        return judged_values(column, questions.qrels or {}, rankings)
    return {qid: column.evidence(rankings.get(qid, ()), sets[qid]) for qid in sets}


def _add_accuracy(
    values: list[Values],
    heads: list[Rankings],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts,
    matching: Matching,
) -> None:
    """Adds AnswerAccuracy@k of every topic, to the values of each run."""
    bodies = bodies_of((docid for head in heads for docids in head.values() for docid in docids), texts)
    for found, head in zip(values, heads, strict=True):
        ranks = first_ranks(head, questions.answers or {}, bodies, matching)
        for column in columns:
            if column.cutoff is not None:
                found[column.name] = {
                    qid: float(qid in ranks and ranks[qid] <= column.cutoff) for qid in questions.topics
                }


def check(questions: Questions, columns: Sequence[Column], texts: Texts | None, options: EvalOptions) -> None:
    """Refuse measures that lack their answers, texts or judgements.

    Raises:
        UsageError: says which, and what to give.
    """
    if not columns:
        raise UsageError("no measures; name some, such as Success@1 or AnswerAccuracy@20")
    for column in columns:
        if (column.judged or column.by_sets) and questions.qrels is None:
            raise UsageError(f"{column.name} needs judgements; name them with --qrels")
        if column.by_sets and questions.evidence is None:
            raise UsageError(f"{column.name} needs KILT's gold file, with its sets of pages, as --qrels")
        if column.written is not None and questions.golds is None:
            raise UsageError(f"{column.name} needs answers; name them with --answers")
        if column.cutoff is None:
            continue
        if options.delimiter is not None:
            raise UsageError(f"{column.name} looks for answers in passages; leave out --max-passage")
        if questions.answers is None:
            raise UsageError(f"{column.name} needs answers; name them with --answers")
        if texts is None:
            raise UsageError(
                f"{column.name} needs the passages; name them with --index, or with --collection and --input"
            )
