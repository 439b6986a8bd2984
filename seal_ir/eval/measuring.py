"""One system measured: the values of each topic, and what the sentinel says of them."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.eval import sentinel
from seal_ir.eval.answer_measures import answer_values
from seal_ir.eval.answers import Matching, first_ranks, holds_answer
from seal_ir.eval.evidence import EvidenceMeasure, r_precision
from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import Column, judged_values, need_qrels
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage, Qrels, Rankings, cover
from seal_ir.eval.systems import System, check_answers, read_system
from seal_ir.eval.texts import Known, Texts, bodies_of
from seal_ir.eval.ties import Ends, Ties, Values, left_open, orders, orders_by_sets, parted
from seal_ir.formats.io.files import named, shown


@dataclass(frozen=True, slots=True)
class Measured:
    """The values of one system.

    Attributes:
        path: its run, or its predictions where there is no run.
        coverage: which topics it has.
        values: of each measure for each topic.
        in_run: topics that it has something for.
        head: of topics with answers, what AnswerAccuracy@k looks at, and behind it what ties with the last.
        bodies: of those documents, as far as the run brings their texts.
        ties: of those topics, the ties that a cut-off of AnswerAccuracy@k goes through.
        findings: what is doubtful.
    """

    path: Path
    coverage: Coverage
    values: Values
    in_run: Set[str]
    head: Rankings
    bodies: Mapping[str, str]
    ties: Ties
    findings: Sequence[Finding]


def qrels_of(questions: Questions, columns: Sequence[Column]) -> Qrels | None:
    """The judgements, if one of the measures needs them."""
    return questions.qrels if need_qrels(columns) else None


def measured(
    path: Path,
    predictions: Path | None,
    questions: Questions,
    columns: Sequence[Column],
    delimiter: str | None = None,
    least_judged: float | None = None,
    known: Known | None = None,
) -> Measured:
    """The system on the measures over judgements and of written answers, and made ready for AnswerAccuracy@k.

    Args:
        path: see `read_system`.
        predictions: see `read_system`.
        questions: with what the measures need.
        columns: the measures.
        delimiter: see `read_rankings`.
        least_judged: see `sentinel.unjudged`.
        known: which documents the collection has; None where that is not looked at.

    Raises:
        InputError: a file breaks its format, or has none of the topics.
        UsageError: a measure needs the answers or the ranking, and there are none.
    """
    system = read_system(path, predictions, columns, delimiter, questions.asked)
    if any(column.written for column in columns):
        check_answers(predictions or path, system.answers, questions.topics)
    coverage = _coverage(path, system, questions, columns)
    values = {column.name: _values(column, questions, system) for column in columns if column.cutoff is None}
    findings = [
        *_answer_findings(predictions or path, system, questions, columns),
        *_run_findings(path, system, questions, columns, known),
    ]
    qrels = qrels_of(questions, columns)
    if qrels is not None:
        findings += sentinel.unjudged(named(path), system.rankings, qrels, columns, least_judged)
        findings += _values_by_ties(path, system, questions, columns, values)
    cutoffs = [column.cutoff for column in columns if column.cutoff is not None]
    answered = [qid for qid in system.rankings if cutoffs and qid in (questions.answers or ())]
    ties = {qid: parted(system.retrieved.ties.get(qid, ()), cutoffs) for qid in answered}
    head = {qid: system.rankings[qid][: max([*cutoffs, *(hi for _, hi in ties[qid])])] for qid in answered}
    looked_at = {docid for docids in head.values() for docid in docids}
    bodies = {docid: body for docid, body in system.retrieved.bodies.items() if docid in looked_at}
    return Measured(path, coverage, values, system.topics, head, bodies, ties, findings)


def _coverage(path: Path, system: System, questions: Questions, columns: Sequence[Column]) -> Coverage:
    """Of its ranking; of its answers where no measure looks at a ranking."""
    had = system.rankings if _ranked(columns) else dict.fromkeys(system.answers, list[str]())
    looks = any(column.cutoff for column in columns)
    return cover(path, had, questions.topics, qrels_of(questions, columns), answers=looks)


def _ranked(columns: Sequence[Column]) -> bool:
    return any(column.ranked for column in columns)


def _asked(questions: Questions) -> Set[str]:
    """Topics that something is asked of."""
    return {*questions.topics, *(questions.qrels or ())}


def _answer_findings(
    path: Path, system: System, questions: Questions, columns: Sequence[Column]
) -> Iterator[Finding]:
    """What is doubtful of the answers that a system wrote; they are in the file."""
    if any(column.written for column in columns):
        where, answers, asked = named(path), system.answers, _asked(questions)
        yield from sentinel.missing_answers(where, answers, questions.topics)
        yield from sentinel.unknown_topics(
            where, answers.keys(), asked, are_all=questions.are_all, of="the answers"
        )


def _run_findings(
    path: Path, system: System, questions: Questions, columns: Sequence[Column], known: Known | None
) -> list[Finding]:
    """What is doubtful of a run, if a measure looks at it."""
    if not _ranked(columns):
        return []
    looks = any(column.cutoff for column in columns)
    wanted = dict.fromkeys([*(questions.topics if looks else ()), *(qrels_of(questions, columns) or ())])
    return sentinel.run_findings(
        named(path), system.retrieved, wanted, _asked(questions), columns, known, are_all=questions.are_all
    )


def with_accuracy(
    systems: Sequence[Measured],
    questions: Questions,
    columns: Sequence[Column],
    texts: Texts | None,
    matching: Matching,
) -> list[Measured]:
    """The systems with AnswerAccuracy@k of every topic, and with what ties leave open of it.

    Answers are looked for in the texts that a run brings, and in `texts` for passages without one.

    Raises:
        InputError: a passage that a measure looks at is in neither.
    """
    depth = max(column.cutoff or 0 for column in columns)
    answers, found = questions.answers or {}, []
    for system, bodies in zip(systems, _all_bodies(systems, depth, texts), strict=True):
        ranks = first_ranks(system.head, answers, bodies, matching)
        values = system.values | _accuracy(ranks, columns, questions.topics)

        def holds(qid: str, docid: str, bodies: Mapping[str, str] = bodies) -> bool:
            return holds_answer(bodies[docid], answers[qid], matching)

        ties = list(_accuracy_by_ties(system, ranks, questions, columns, holds))
        found.append(replace(system, values=values, findings=[*system.findings, *ties]))
    return found


def _all_bodies(systems: Sequence[Measured], depth: int, texts: Texts | None) -> list[Mapping[str, str]]:
    """The bodies of each run's passages: its own, and those of the passages that it brings none of.

    Those behind `depth`, which only ties look at, are blank where `texts` lacks them.
    """
    asked = [
        (rank < depth, docid)
        for system in systems
        for docids in system.head.values()
        for rank, docid in enumerate(docids)
        if docid not in system.bodies
    ]
    lacking = dict.fromkeys(docid for is_looked_at, docid in asked if is_looked_at)
    tied = {docid: "" for is_looked_at, docid in asked if not is_looked_at}
    if lacking and texts is None:
        raise InputError(
            f"{len(lacking)} passages in the runs, such as {shown(next(iter(lacking)))}, have no text there;"
            " name the index or the collection that was searched"
        )
    found = tied | (bodies_of(lacking, texts, tied) if texts is not None else {})
    return [ChainMap(dict(system.bodies), found) for system in systems]


def _accuracy(ranks: Mapping[str, int], columns: Sequence[Column], topics: Sequence[str]) -> Values:
    return {
        column.name: {qid: float(qid in ranks and ranks[qid] <= column.cutoff) for qid in topics}
        for column in columns
        if column.cutoff is not None
    }


def _accuracy_by_ties(
    run: Measured,
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


def _values_by_ties(
    path: Path, system: System, questions: Questions, columns: Sequence[Column], values: Values
) -> Iterator[Finding]:
    """What equal scores leave open of the measures over judgements, and of answers that need evidence."""
    qrels = questions.qrels or {}
    best: Values = {}
    worst: Values = {}
    all_ends: dict[EvidenceMeasure | None, dict[str, Ends]] = {}
    for column in columns:
        if not (column.judged or column.by_sets):
            continue
        measure = column.evidence or (r_precision if column.by_sets else None)
        if measure not in all_ends:
            all_ends[measure] = _ends(measure, questions, system)
        ends = all_ends[measure]
        topics = [qid for qid in questions.topics if qid in ends]
        some = replace(questions, topics=topics, qrels={qid: qrels[qid] for qid in ends})
        for found, end in ((best, 0), (worst, 1)) if ends else ():
            retrieved = replace(system.retrieved, rankings={qid: both[end] for qid, both in ends.items()})
            ours = _values(column, some, system._replace(retrieved=retrieved))
            found[column.name] = values[column.name] | ours
    return left_open(named(path), columns, best, worst)


def _ends(measure: EvidenceMeasure | None, questions: Questions, system: System) -> dict[str, Ends]:
    """The rankings on which a measure of KILT's, or any over grades, is greatest and least, by judged topic.

    Topics where ties leave nothing open are left out.
    """
    qrels, sets = questions.qrels or {}, questions.evidence or {}
    found: dict[str, Ends | None] = {}
    for qid, ties in system.retrieved.ties.items():
        if qid in qrels and measure is None:
            found[qid] = orders(system.rankings[qid], ties, qrels[qid])
        elif qid in qrels and measure is not None:
            found[qid] = orders_by_sets(system.rankings[qid], ties, sets[qid], measure)
    return {qid: ends for qid, ends in found.items() if ends is not None}


def _values(column: Column, questions: Questions, system: System) -> dict[str, float]:
    """The measure for every judged topic; one of written answers for every topic."""
    rankings, qrels, sets = system.rankings, questions.qrels or {}, questions.evidence or {}
    if column.written is not None:
        golds = questions.golds or {}
        return answer_values(column.written, system.answers, golds, questions.topics, rankings, sets)
    if column.evidence is None:
        return judged_values(column, qrels, rankings)
    return {qid: column.evidence(rankings.get(qid, ()), sets[qid]) for qid in qrels}
