"""Several runs, one set of questions, one table."""

from __future__ import annotations

import logging
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import InputError, UsageError
from seal_ir.eval.answers import TOKENS, Matching, first_ranks
from seal_ir.eval.measures import Column, aggregate, judged_values
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage, Rankings, cover, read_with_texts, system_names
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


def evaluate(
    paths: Sequence[Path],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts | None = None,
    options: EvalOptions = DEFAULTS,
) -> Table:
    """The table of the runs in their order; `texts` are needed for AnswerAccuracy@k only.

    Answers are looked for in the texts that a run brings, and in `texts` for passages without one.

    Raises:
        UsageError: a measure lacks its answers, texts or judgements, or answers are asked of pages.
        InputError: a run breaks its format, has none of the topics, or has passages that `texts` lacks.
    """
    brought = texts is None and bool(paths) and all(map(has_texts, paths))
    check(questions, columns, texts, options, brought=brought)
    depth = max((column.cutoff or 0 for column in columns), default=0)
    qrels = questions.qrels if any(column.judged for column in columns) else None
    coverages: list[Coverage] = []
    values: list[Values] = []
    heads: list[Rankings] = []
    bodies: list[Mapping[str, str]] = []
    in_run: list[frozenset[str]] = []
    for path in paths:  # one run at a time is in memory whole
        rankings, own = read_with_texts(path, options.delimiter, questions.asked)
        in_run.append(frozenset(rankings))
        coverages.append(cover(path, rankings, questions.topics, qrels, answers=depth > 0))
        _warn_shallow(path, rankings, columns)
        values.append(
            {column.name: _judged_values(column, questions, rankings) for column in columns if column.judged}
        )
        answered = questions.answers or {}
        heads.append({qid: docids[:depth] for qid, docids in rankings.items() if depth and qid in answered})
        looked_at = {docid for docids in heads[-1].values() for docid in docids}
        bodies.append({docid: body for docid, body in own.items() if docid in looked_at})
    if depth:
        found_bodies = _with_bodies(heads, bodies, texts)
        _add_accuracy(values, heads, questions, columns, found_bodies, options.matching)
    names = system_names(paths)
    return Table(
        questions=questions,
        columns=tuple(columns),
        results=tuple(
            Result(
                name,
                path,
                coverage,
                {column.name: aggregate(column, found[column.name].values()) for column in columns},
                {column.name: found[column.name] for column in columns},
                with_results,
            )
            for name, path, coverage, found, with_results in zip(
                names, paths, coverages, values, in_run, strict=True
            )
        ),
        matching=options.matching.name if depth else None,
        delimiter=options.delimiter,
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


def _judged_values(column: Column, questions: Questions, rankings: Rankings) -> dict[str, float]:
    """The measure for every judged topic."""
    if column.evidence is None:
        return judged_values(column, questions.qrels or {}, rankings)
    sets = questions.evidence or {}
    return {qid: column.evidence(rankings.get(qid, ()), sets[qid]) for qid in sets}


def _with_bodies(
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
        if column.judged:
            if questions.qrels is None:
                raise UsageError(f"{column.name} needs judgements; name them with --qrels")
            if column.evidence is not None and questions.evidence is None:
                raise UsageError(f"{column.name} needs KILT's gold file, with its sets of pages, as --qrels")
        elif options.delimiter is not None:
            raise UsageError(f"{column.name} looks for answers in passages; leave out --max-passage")
        elif questions.answers is None:
            raise UsageError(f"{column.name} needs answers; name them with --answers")
        elif texts is None and not brought:
            raise UsageError(
                f"{column.name} needs the passages; name them with --index, or with --collection and --input"
            )
