"""Several runs, one set of questions, one table."""

from __future__ import annotations

import logging
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError, UsageError
from seal_ir.eval.answer_measures import answer_values
from seal_ir.eval.answers import TOKENS, Matching, first_ranks
from seal_ir.eval.measures import Column, aggregate, judged_values, need_qrels
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage, Rankings, cover, system_names
from seal_ir.eval.systems import System, check_answers, read_system
from seal_ir.eval.tables import Result, Table
from seal_ir.eval.texts import Texts, bodies_of
from seal_ir.formats.io.files import shown
from seal_ir.formats.runs.others import has_texts

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
    bodies: Mapping[str, str]
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

    Answers are looked for in the texts that a run brings, and in `texts` for passages without one.

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
    brought = texts is None and _depth(columns) > 0 and bool(paths) and all(map(has_texts, paths))
    check(questions, columns, texts, options, brought=brought)
    measured = [
        _measured(path, answers, questions, columns, options)  # one run at a time is in memory whole
        for path, answers in zip(paths, predictions or [None] * len(paths), strict=True)
    ]
    values = [found.values for found in measured]
    if _depth(columns):
        heads = [found.heads for found in measured]
        bodies = _all_bodies(heads, [found.bodies for found in measured], texts)
        _add_accuracy(values, heads, questions, columns, bodies, options.matching)
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
    system = read_system(path, predictions, columns, options.delimiter, questions.asked)
    depth, ranked = _depth(columns), any(column.ranked for column in columns)
    if any(column.written for column in columns):
        check_answers(predictions or path, system.answers, questions.topics)
    covered = system.rankings if ranked else dict.fromkeys(system.answers, list[str]())
    qrels = questions.qrels if need_qrels(columns) else None
    coverage = cover(path, covered, questions.topics, qrels, answers=depth > 0)
    _warn_shallow(path, system.rankings, columns)
    answered = questions.answers or {}
    heads = {qid: docids[:depth] for qid, docids in system.rankings.items() if depth and qid in answered}
    looked_at = {docid for docids in heads.values() for docid in docids}
    return _Measured(
        coverage,
        {column.name: _values(column, questions, system) for column in columns if column.cutoff is None},
        heads,
        {docid: body for docid, body in system.bodies.items() if docid in looked_at},
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


def _all_bodies(
    heads: Sequence[Rankings], own: Sequence[Mapping[str, str]], texts: Texts | None
) -> list[Mapping[str, str]]:
    """The bodies of each run's passages: its own, and those of the passages that it brings none of."""
    pairs = zip(heads, own, strict=True)
    lacking = dict.fromkeys(
        docid for head, known in pairs for docids in head.values() for docid in docids if docid not in known
    )
    if lacking and texts is None:
        raise InputError(
            f"{len(lacking)} passages in the runs, such as {shown(next(iter(lacking)))}, have no text there;"
            " name the index or the collection that was searched"
        )
    found = bodies_of(lacking, texts) if texts is not None else {}
    return [ChainMap(dict(known), found) for known in own]


def _add_accuracy(
    values: list[Values],
    heads: list[Rankings],
    questions: Questions,
    columns: Sequence[Column],
    bodies: Sequence[Mapping[str, str]],
    matching: Matching,
) -> None:
    """Adds AnswerAccuracy@k of every topic, to the values of each run."""
    for found, head, its in zip(values, heads, bodies, strict=True):
        ranks = first_ranks(head, questions.answers or {}, its, matching)
        for column in columns:
            if column.cutoff is not None:
                found[column.name] = {
                    qid: float(qid in ranks and ranks[qid] <= column.cutoff) for qid in questions.topics
                }


def check(
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts | None,
    options: EvalOptions,
    *,
    brought: bool = False,
) -> None:
    """Refuse measures that lack their answers, texts or judgements; `brought`: runs bring their texts.

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
        if texts is None and not brought:
            raise UsageError(
                f"{column.name} needs the passages; name them with --index, or with --collection and --input"
            )
