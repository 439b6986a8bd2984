"""Several systems, one set of questions, one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import UsageError
from seal_ir.eval.answers import TOKENS, Matching
from seal_ir.eval.findings import Finding, refuse, tell
from seal_ir.eval.measures import Column, aggregate, need_passages
from seal_ir.eval.measuring import Measured, measured, qrels_of, with_accuracy
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import system_names
from seal_ir.eval.sentinel import no_relevant, relevant, unknown_documents
from seal_ir.eval.tables import Result, Table
from seal_ir.eval.texts import Known, Texts
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.runs.others import has_texts


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
    predictions: Sequence[Path | None] | None = None,
    known: Known | None = None,
) -> Table:
    """The table of the systems in their order, with what makes its figures doubtful; that is also logged.

    Args:
        paths: runs, or predictions where no measure looks at a ranking.
        questions: with what the measures need.
        columns: the measures.
        texts: bodies of passages, for AnswerAccuracy@k; of those whose texts a run brings, its own count.
        options: how to measure.
        predictions: what each system answered, for measures of written answers; None (also for one of them)
            where that is in the run itself.
        known: with it, ids that the collection lacks are looked for.

    Raises:
        UsageError: a measure lacks its answers, texts, judgements or predictions, or answers are asked of
            pages.
        InputError: a file breaks its format, has none of the topics, or has passages that `texts` lacks; or
            the options are strict and something is doubtful.
    """
    paths, looks = [rereadable(path) for path in paths], need_passages(columns)
    brought = texts is None and looks and bool(paths) and all(map(has_texts, paths))
    check(questions, columns, texts, options, brought=brought)
    systems = _measured(paths, predictions, questions, columns, options, known)
    if looks:
        systems = with_accuracy(systems, questions, columns, texts, options.matching)
    names = system_names(paths)
    results = [_result(name, system, columns) for name, system in zip(names, systems, strict=True)]
    findings = _judgement_findings(questions, columns, options, known)
    for result, system in zip(results, systems, strict=True):
        findings += [*system.findings, *no_relevant(result.system, result.coverage)]
    tell(findings)
    if options.strict:
        refuse([*questions.findings, *findings])
    return Table(
        questions=questions,
        columns=tuple(columns),
        results=tuple(results),
        matching=options.matching.name if looks else None,
        delimiter=options.delimiter,
        findings=(*questions.findings, *findings),
    )


def _measured(
    paths: Sequence[Path],
    predictions: Sequence[Path | None] | None,
    questions: Questions,
    columns: Sequence[Column],
    options: EvalOptions,
    known: Known | None,
) -> list[Measured]:
    """The systems but for AnswerAccuracy@k; one run at a time is in memory whole."""
    return [
        measured(path, answers, questions, columns, options.delimiter, options.least_judged, known)
        for path, answers in zip(paths, predictions or [None] * len(paths), strict=True)
    ]


def _judgement_findings(
    questions: Questions, columns: Sequence[Column], options: EvalOptions, known: Known | None
) -> list[Finding]:
    """Relevant documents that the collection lacks; of pages it says nothing."""
    qrels = qrels_of(questions, columns)
    if known is None or qrels is None or options.delimiter is not None:
        return []
    return list(unknown_documents(f"judgements of {questions.label}", relevant(qrels), known))


def _result(name: str, found: Measured, columns: Sequence[Column]) -> Result:
    """The figures of a system, under its name."""
    return Result(
        name,
        found.path,
        found.coverage,
        {column.name: aggregate(column, found.values[column.name].values()) for column in columns},
        {column.name: found.values[column.name] for column in columns},
        found.in_run,
    )


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
