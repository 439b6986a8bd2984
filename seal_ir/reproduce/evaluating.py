"""Systems of a set on its measures, each on those that it has something for: a ranking, answers, or both."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seal_ir.eval.evaluation import EvalOptions, evaluate
from seal_ir.eval.measures import Column, need_passages
from seal_ir.eval.questions import Questions
from seal_ir.eval.tables import Result, Table
from seal_ir.eval.texts import Texts
from seal_ir.formats.topics.predictions import brings_answers, has_predictions


def evaluated(
    runs: Mapping[str, Path],
    predictions: Mapping[str, Path],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts | None,
    options: EvalOptions,
    blank: Collection[str] = (),
) -> Table | None:
    """The table of the systems under their names; None where there is nothing to measure.

    Measures of written answers are over the systems with answers, the others over those with a ranking: the
    rest of a system's measures it lacks.

    Args:
        runs: of each system its run, or its answers where it has no ranking.
        predictions: what those systems answered whose answers are in a file of their own.
        questions: with what the measures need.
        columns: the measures.
        texts: see `evaluate`.
        options: how to measure.
        blank: systems that need not have anything for the measures.

    Raises:
        InputError: as `evaluate`.
        UsageError: as `evaluate`, also of a system that has nothing for any of the measures.
    """
    kinds = ([c for c in columns if c.written is None], [c for c in columns if c.written is not None])
    answering = {name for name, run in runs.items() if name in predictions or brings_answers(run)}
    ranking = {name for name, run in runs.items() if not has_predictions(run)}
    parts = []
    for kind, other, has in zip(kinds, kinds[::-1], (ranking, answering), strict=True):
        measured = {name: run for name, run in runs.items() if name in has or not (other or name in blank)}
        if kind and measured:
            given = [predictions.get(name) for name in measured] if kind is kinds[1] else None
            passages = texts if need_passages(kind) else None
            table = evaluate(list(measured.values()), questions, kind, passages, options, given)
            parts.append(_named(table, measured))
    return _joined(parts, runs, columns) if parts else None


def _named(table: Table, systems: Collection[str]) -> Table:
    results = zip(table.results, systems, strict=True)
    return replace(table, results=tuple(replace(result, system=system) for result, system in results))


def _joined(parts: Sequence[Table], systems: Collection[str], columns: Sequence[Column]) -> Table:
    """One table of the parts, whose measures differ; what is over rankings comes first."""
    by_system: dict[str, Result] = {}
    for result in (result for part in parts for result in part.results):
        known = by_system.setdefault(result.system, result)
        by_system[result.system] = replace(
            known,
            figures={**known.figures, **result.figures},
            values={**known.values, **result.values},
            in_run=known.in_run | result.in_run,
        )
    had = {column.name for part in parts for column in part.columns}
    return replace(
        parts[0],
        columns=tuple(column for column in columns if column.name in had),
        results=tuple(by_system[system] for system in systems if system in by_system),
        findings=tuple(dict.fromkeys(finding for part in parts for finding in part.findings)),
    )
