"""One run measured: the values of each topic, and what the sentinel says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from seal_ir.eval import sentinel
from seal_ir.eval.answers import Matching, first_ranks, holds_answer
from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import Column, judged_values
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage, Qrels, Rankings, Retrieved, cover, read_retrieved
from seal_ir.eval.texts import Known, Texts, bodies_of
from seal_ir.eval.ties import Ties, Values, left_open, orders, parted
from seal_ir.formats.io.files import named


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """The values of one run.

    Attributes:
        path: its file.
        coverage: which topics it has.
        values: of each measure for each topic.
        in_run: topics that have results.
        head: of topics with answers, what AnswerAccuracy@k looks at, and behind it what ties with the last.
        ties: of those topics, the ties that a cut-off of AnswerAccuracy@k goes through.
        findings: what is doubtful.
    """

    path: Path
    coverage: Coverage
    values: Values
    in_run: Set[str]
    head: Rankings
    ties: Ties
    findings: Sequence[Finding]


def qrels_of(questions: Questions, columns: Sequence[Column]) -> Qrels | None:
    """The judgements, if one of the measures needs them."""
    return questions.qrels if any(column.judged for column in columns) else None


def measured(
    path: Path,
    questions: Questions,
    columns: Sequence[Column],
    delimiter: str | None = None,
    least_judged: float | None = None,
    known: Known | None = None,
) -> MeasuredRun:
    """The run on the measures over judgements, and made ready for those over answers.

    Raises:
        InputError: it breaks its format, or has none of the topics.
    """
    retrieved = read_retrieved(path, delimiter)
    rankings, qrels = retrieved.rankings, qrels_of(questions, columns)
    cutoffs = [column.cutoff for column in columns if column.cutoff is not None]
    coverage = cover(path, rankings, questions.topics, qrels, answers=bool(cutoffs))
    values = {column.name: _values(column, questions, rankings) for column in columns if column.judged}
    wanted = dict.fromkeys([*(questions.topics if cutoffs else ()), *(qrels or ())])
    asked = {*questions.topics, *(qrels or ())}
    findings = sentinel.run_findings(
        named(path), retrieved, wanted, asked, columns, known, are_all=questions.are_all
    )
    if qrels is not None:
        findings += sentinel.unjudged(named(path), rankings, qrels, columns, least_judged)
        findings += _judged_by_ties(path, retrieved, questions, columns, values)
    answered = [qid for qid in rankings if cutoffs and qid in (questions.answers or ())]
    ties = {qid: parted(retrieved.ties.get(qid, ()), cutoffs) for qid in answered}
    head = {qid: rankings[qid][: max([*cutoffs, *(hi for _, hi in ties[qid])])] for qid in answered}
    return MeasuredRun(path, coverage, values, frozenset(rankings), head, ties, findings)


def with_accuracy(
    runs: Sequence[MeasuredRun],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts,
    matching: Matching,
) -> list[MeasuredRun]:
    """The runs with AnswerAccuracy@k of every topic, and with what ties leave open of it.

    Raises:
        InputError: `texts` lacks a passage that a measure looks at.
    """
    depth = max(column.cutoff or 0 for column in columns)
    ranked = [docids for run in runs for docids in run.head.values()]
    looked_at = (docid for docids in ranked for docid in docids[:depth])
    tied = (docid for docids in ranked for docid in docids[depth:])
    bodies = bodies_of(looked_at, texts, tied)
    answers = questions.answers or {}

    def holds(qid: str, docid: str) -> bool:
        return holds_answer(bodies.get(docid, ""), answers[qid], matching)

    found = []
    for run in runs:
        ranks = first_ranks(run.head, answers, bodies, matching)
        values = run.values | _accuracy(ranks, columns, questions.topics)
        ties = list(_accuracy_by_ties(run, ranks, questions, columns, holds))
        found.append(replace(run, values=values, findings=[*run.findings, *ties]))
    return found


def _accuracy(ranks: Mapping[str, int], columns: Sequence[Column], topics: Sequence[str]) -> Values:
    return {
        column.name: {qid: float(qid in ranks and ranks[qid] <= column.cutoff) for qid in topics}
        for column in columns
        if column.cutoff is not None
    }


def _accuracy_by_ties(
    run: MeasuredRun,
    ranks: Mapping[str, int],
    questions: Questions,
    columns: Sequence[Column],
    holds: Callable[[str, str], bool],
) -> Iterator[Finding]:
    """What equal scores leave open of AnswerAccuracy@k; `holds` is of a topic and a passage."""
    lowest, highest = dict(ranks), dict(ranks)
    for qid, rank in ranks.items():
        for lo, hi in run.ties[qid]:
            if lo < rank <= hi:
                lowest[qid] = lo + 1
                highest[qid] = lo + 1 + sum(not holds(qid, docid) for docid in run.head[qid][lo:hi])
    best, worst = (_accuracy(found, columns, questions.topics) for found in (lowest, highest))
    return left_open(named(run.path), columns, best, worst)


def _judged_by_ties(
    path: Path, retrieved: Retrieved, questions: Questions, columns: Sequence[Column], values: Values
) -> Iterator[Finding]:
    """What equal scores leave open of the measures over judgements."""
    qrels = questions.qrels or {}
    both = {
        qid: found
        for qid, ties in retrieved.ties.items()
        if qid in qrels and (found := orders(retrieved.rankings[qid], ties, qrels[qid]))
    }
    some = replace(questions, qrels={qid: qrels[qid] for qid in both})
    judged = [column for column in columns if column.judged and both]
    best, worst = (
        {
            column.name: values[column.name]
            | _values(column, some, {qid: found[end] for qid, found in both.items()})
            for column in judged
        }
        for end in (0, 1)
    )
    return left_open(named(path), judged, best, worst)


def _values(column: Column, questions: Questions, rankings: Rankings) -> dict[str, float]:
    """The measure for every judged topic."""
    qrels = questions.qrels or {}
    if column.evidence is None:
        return judged_values(column, qrels, rankings)
    sets = questions.evidence or {}
    return {qid: column.evidence(rankings.get(qid, ()), sets[qid]) for qid in qrels}
