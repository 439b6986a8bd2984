"""Several runs, one set of questions, one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import UsageError
from seal_ir.eval.answers import TOKENS, Matching
from seal_ir.eval.findings import Finding, refuse, tell
from seal_ir.eval.measures import Column, aggregate
from seal_ir.eval.measuring import MeasuredRun, measured, qrels_of, with_accuracy
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import system_names
from seal_ir.eval.sentinel import no_relevant, relevant, unknown_documents
from seal_ir.eval.tables import Result, Table
from seal_ir.eval.texts import Known, Texts


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """How to measure.

    Attributes:
        matching: the rule for answers.
        delimiter: fold documents into pages at it before any cut; None measures passages. Judgements
            are folded when they are loaded.
        strict: refuse figures that something makes doubtful; else it is a warning.
        least_judged: share of the top k that is to be judged, 0 to 1; None: see `sentinel.unjudged`.
    """

    matching: Matching = TOKENS
    delimiter: str | None = None
    strict: bool = False
    least_judged: float | None = None


DEFAULTS = EvalOptions()


def evaluate(
    paths: Sequence[Path],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts | None = None,
    options: EvalOptions = DEFAULTS,
    known: Known | None = None,
) -> Table:
    """The table of the runs in their order, with what makes its figures doubtful; that is also logged.

    `texts` are needed for AnswerAccuracy@k only. With `known`, ids that the collection lacks are looked for.

    Raises:
        UsageError: a measure lacks its answers, texts or judgements, or answers are asked of pages.
        InputError: a run breaks its format, has none of the topics, or has passages that `texts` lacks; or
            the options are strict and something is doubtful.
    """
    check(questions, columns, texts, options)
    qrels, answered = qrels_of(questions, columns), any(column.cutoff for column in columns)
    findings: list[Finding] = []
    if known is not None and qrels is not None and options.delimiter is None:
        findings += unknown_documents(f"judgements of {questions.label}", relevant(qrels), known)
    runs = [  # one run at a time is in memory whole
        measured(path, questions, columns, options.delimiter, options.least_judged, known) for path in paths
    ]
    if texts is not None and answered:
        runs = with_accuracy(runs, questions, columns, texts, options.matching)
    results = [_result(name, run, columns) for name, run in zip(system_names(paths), runs, strict=True)]
    for result, run in zip(results, runs, strict=True):
        findings += [*run.findings, *no_relevant(result.system, result.coverage)]
    tell(findings)
    if options.strict:
        refuse([*questions.findings, *findings])
    return Table(
        questions=questions,
        columns=tuple(columns),
        results=tuple(results),
        matching=options.matching.name if answered else None,
        delimiter=options.delimiter,
        findings=(*questions.findings, *findings),
    )


def _result(name: str, run: MeasuredRun, columns: Sequence[Column]) -> Result:
    """The figures of a run, under the name of its system."""
    return Result(
        name,
        run.path,
        run.coverage,
        {column.name: aggregate(column, run.values[column.name].values()) for column in columns},
        {column.name: run.values[column.name] for column in columns},
        run.in_run,
    )


def check(questions: Questions, columns: Sequence[Column], texts: Texts | None, options: EvalOptions) -> None:
    """Refuse measures that lack their answers, texts or judgements.

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
        elif texts is None:
            raise UsageError(
                f"{column.name} needs the passages; name them with --index, or with --collection and --input"
            )
