"""The checks of an evaluation: from what was read to what is wrong with it, or looks so. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import Column
from seal_ir.eval.rankings import Coverage, Qrels, Rankings, Retrieved
from seal_ir.eval.texts import Known
from seal_ir.formats.io.files import listed

LEAST_JUDGED = 0.5  # share of the top k
_MOST_JUDGED_DEPTH = 10  # judgements are pooled from the top of rankings
_LEAST_IN_BOTH = 0.7  # share of the smaller of topics and judged topics


def missing_topics(where: str, rankings: Rankings, wanted: Collection[str]) -> Iterator[Finding]:
    """Of the topics that figures are over, those that the run has no results for."""
    missing = [qid for qid in wanted if qid not in rankings]
    if not rankings:
        yield Finding(
            "missing-topics", f"{where}: the run is empty; every topic counts as one without results"
        )
    elif missing:
        yield Finding(
            "missing-topics",
            f"{where}: {len(missing)} of {len(wanted)} topics have no results, and count as 0 but for"
            f" --average in-run: topics {listed(missing)}",
        )


def missing_answers(where: str, answers: Mapping[str, str], topics: Sequence[str]) -> Iterator[Finding]:
    """Topics that the system wrote no answer to, or a blank one."""
    missing = [qid for qid in topics if not answers.get(qid, "").strip()]
    if missing:
        yield Finding(
            "missing-answers",
            f"{where}: {len(missing)} of {len(topics)} topics have no answer, and count as 0: topics"
            f" {listed(missing)}",
        )


def unknown_topics(
    where: str, had: Collection[str], known: Collection[str], *, are_all: bool, of: str = "the run"
) -> Iterator[Finding]:
    """Topics that a run has, or written answers have, and that nothing is asked of.

    `are_all` is whether `known` are all topics that there are. Else they are those with judgements or
    answers, which some topics may do without, and only two sets that meet in part are told: see
    `other_topics`.
    """
    unknown = [qid for qid in had if qid not in known]
    if unknown and (are_all or _meet_in_part(had, known)):
        yield Finding(
            "unknown-topics",
            f"{where}: {len(unknown)} of {len(had)} topics of {of} are none that figures are over,"
            f" and are left out: topics {listed(unknown)}",
        )


def unknown_documents(where: str, docids: Collection[str], known: Known) -> Iterator[Finding]:
    """Documents of a run, or relevant ones of judgements, that the collection lacks."""
    unknown = sorted(set(docids) - known(docids))
    if unknown:
        yield Finding(
            "unknown-documents",
            f"{where}: {len(unknown)} of {len(docids)} documents are not in the index or collection given;"
            f" is it the one that was searched? Documents {listed(unknown)}",
        )


def relevant(qrels: Qrels) -> set[str]:
    """Documents that are relevant to some topic."""
    return {docid for grades in qrels.values() for docid, grade in grades.items() if grade > 0}


def no_relevant(system: str, coverage: Coverage) -> Iterator[Finding]:
    """A run of judged topics without a single relevant document: ids of two kinds, most often."""
    if coverage.relevant_in_run == 0 and coverage.judged_in_run:
        yield Finding(
            "no-relevant",
            f"{system}: no relevant document is in it; check that ids of the run and of the judgements are of"
            " one kind (passages, or pages with --max-passage)",
        )


def too_deep(where: str, rankings: Rankings, columns: Sequence[Column]) -> Iterator[Finding]:
    """Measures that look deeper than a run goes: they are lower than a deeper run's would be."""
    longest = max(map(len, rankings.values()), default=0)
    deeper = [column.name for column in columns if column.depth > longest]
    if rankings and deeper:
        yield Finding(
            "depth",
            f"{where}: no topic has more than {longest} results; {', '.join(deeper)} look deeper, where all"
            " counts as wrong",
        )


def judged_share(rankings: Rankings, qrels: Qrels, k: int) -> float:
    """Share of the first k results of judged topics that have a judgement; NaN without results."""
    heads = [(qrels[qid], docids[:k]) for qid, docids in rankings.items() if qid in qrels]
    looked_at = sum(len(docids) for _, docids in heads)
    judged = sum(docid in grades for grades, docids in heads for docid in docids)
    return judged / looked_at if looked_at else float("nan")


def unjudged(
    where: str, rankings: Rankings, qrels: Qrels, columns: Sequence[Column], least: float | None
) -> Iterator[Finding]:
    """A top k of which too little was judged: what nobody looked at counts as wrong.

    k is the least cut-off of the measures, 10 at most. Without `least` the share is `LEAST_JUDGED`, and only
    judgements are taken that say what is not relevant as often as what is: where those of relevant documents
    alone were written down, as for NQ or KILT, the others tell nothing of the run.
    """
    if least is None and not _are_pooled(qrels):
        return
    k = min([_MOST_JUDGED_DEPTH, *(column.depth for column in columns if column.judged and column.depth)])
    share, asked = judged_share(rankings, qrels, k), LEAST_JUDGED if least is None else least
    if share < asked:
        yield Finding(
            "unjudged",
            f"{where}: {100 * share:.1f} % of the top {k} of judged topics are judged, less than"
            f" {100 * asked:g} %; what is not counts as wrong",
        )


def _are_pooled(qrels: Qrels) -> bool:
    grades = [grade > 0 for judged in qrels.values() for grade in judged.values()]
    return 2 * sum(grades) <= len(grades)


def without_relevant(where: str, qrels: Qrels) -> Iterator[Finding]:
    """Topics on which no run can be right."""
    without = [qid for qid, grades in qrels.items() if all(grade < 1 for grade in grades.values())]
    if without:
        yield Finding(
            "no-relevant",
            f"{where}: {len(without)} of {len(qrels)} judged topics have no relevant document (grade 1 or"
            f" more); all runs get 0: topics {listed(without)}",
        )


def without_golds(where: str, golds: Collection[str], topics: Sequence[str]) -> Iterator[Finding]:
    """Topics on which no written answer can be right; `golds` are those with answers to compare with."""
    without = [qid for qid in topics if qid not in golds]
    if without:
        yield Finding(
            "answers",
            f"{where}: {len(without)} of {len(topics)} topics have no answer to compare with, and count as 0:"
            f" topics {listed(without)}",
        )


def other_topics(where: str, topics: Collection[str], judged: Collection[str]) -> Iterator[Finding]:
    """Topics and judged topics that meet in part only, as where one of the two was numbered anew.

    Told where each has some that the other lacks, and of the smaller less than 70 % are in both. Judgements
    of some topics only, and topics that are a sample, are nothing to tell.
    """
    if _meet_in_part(topics, judged):
        not_judged = sorted(set(topics) - set(judged))
        no_topics = sorted(set(judged) - set(topics))
        yield Finding(
            "judgements",
            f"{where}: {len(not_judged)} of {len(topics)} topics have no judgements here (topics"
            f" {listed(not_judged, 3)}), and {len(no_topics)} of {len(judged)} judged topics are none of the"
            f" topics (topics {listed(no_topics, 3)}); check that both are numbered alike",
        )


def _meet_in_part(one: Collection[str], other: Collection[str]) -> bool:
    """Whether each has some that the other lacks, and less than 70 % of the smaller are in both."""
    n_both = len(set(one) & set(other))
    smaller = min(len(one), len(other))
    return n_both < _LEAST_IN_BOTH * smaller


def run_findings(
    where: str,
    retrieved: Retrieved,
    wanted: Collection[str],
    asked: Collection[str],
    columns: Sequence[Column],
    known: Known | None,
    *,
    are_all: bool,
) -> list[Finding]:
    """What a run file shows before it is measured; `wanted` are the topics that figures are over.

    The rest is as the checks have it. Documents whose texts the run brings are not looked up.
    """
    rankings = retrieved.rankings
    found: list[Iterable[Finding]] = [
        (Finding("ranks", sentence) for sentence in retrieved.told),
        missing_topics(where, rankings, wanted),
        unknown_topics(where, rankings, asked, are_all=are_all),
        unknown_documents(where, retrieved.docids - retrieved.bodies.keys(), known) if known else (),
        too_deep(where, rankings, columns),
    ]
    return [finding for findings in found for finding in findings]
