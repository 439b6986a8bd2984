"""Runs as rankings: documents of each topic in trec_eval's order, as passages or folded into pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.eval.ties import Tie, Ties, tied_places
from seal_ir.formats.io.files import named, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.kilt import read_guesses
from seal_ir.formats.runs.pages import fold_docids, page_of
from seal_ir.formats.runs.trec import has_datapoints, in_single_precision, read_run, trec_order

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".trec", ".txt", ".run", ".tsv", ".jsonl")

Rankings = dict[str, list[str]]
Qrels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How the topics of a run and of what it is measured against meet.

    Attributes:
        topics: all topics.
        judged: those with judgements; None when no measure needs them.
        in_run: topics that have results.
        judged_in_run: judged topics that have results; None as above.
        relevant_in_run: relevant documents (grade 1 or more) that are results of their topic; None as above.
        unknown: topics of the run that are neither topics nor judged.
    """

    topics: int
    judged: int | None
    in_run: int
    judged_in_run: int | None
    relevant_in_run: int | None
    unknown: int

    def __str__(self) -> str:
        parts = [f"{self.topics} topics, {self.in_run} in run, {self.topics - self.in_run} missing"]
        if self.judged is not None and self.judged_in_run is not None:
            missing = self.judged - self.judged_in_run
            parts.append(f"{self.judged} judged, {self.judged_in_run} in run, {missing} missing")
        tail = f"{self.unknown} run topics unknown" if self.unknown else "no run topics unknown"
        return "; ".join([*parts, "missing counts as 0", tail])


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a run has for its topics.

    Attributes:
        rankings: documents, or pages, best first.
        ties: their places with equal scores; KILT's runs have no scores.
        docids: all documents of the file, never pages.
        told: what the file itself has wrong, a sentence each.
    """

    rankings: Rankings
    ties: Ties
    docids: Set[str]
    told: Sequence[str]


def read_rankings(path: Path, delimiter: str | None = None) -> Rankings:
    """Document ids of each topic of a run, TREC's or KILT's, best first; with a delimiter, page ids.

    Raises:
        InputError: the run cannot be read, or breaks its format.
    """
    return read_retrieved(path, delimiter).rankings


def read_retrieved(path: Path, delimiter: str | None = None) -> Retrieved:
    """A run's rankings as `read_rankings` has them, and what else the file says; raises as it does."""
    path = rereadable(path)
    told: list[str] = []
    ties: dict[str, Sequence[Tie]] = {}
    if has_datapoints(path):
        rankings = read_guesses(path)
    else:
        rankings = {}
        for qid, entries in read_run(path, told.append).items():
            ranked = trec_order(entries)
            rankings[qid] = [docid for docid, _ in ranked]
            if delimiter is not None:
                first = {page_of(docid, delimiter): score for docid, score in reversed(ranked)}
                ranked = [(page, first[page]) for page in fold_docids(rankings[qid], delimiter)]
            tied = tied_places([in_single_precision(score) for _, score in ranked])
            if tied:
                ties[qid] = tied
    docids = frozenset(docid for found in rankings.values() for docid in found)
    if delimiter is not None:
        rankings = {qid: fold_docids(found, delimiter) for qid, found in rankings.items()}
    return Retrieved(rankings, ties, docids, told)


def system_names(paths: Sequence[Path]) -> list[str]:
    """A name for each run: its file's without suffixes where these differ, else its path."""
    names = [_stem(named(path.name)) for path in paths]
    return [name if names.count(name) == 1 else named(path) for name, path in zip(names, paths, strict=True)]


def cover(
    path: Path, rankings: Rankings, topics: Sequence[str], qrels: Qrels | None, *, answers: bool
) -> Coverage:
    """The coverage of a run; `qrels` and `answers` are whether measures need them.

    Raises:
        InputError: the run has results, but for none of the topics; figures would be zeros that mean nothing.
    """
    in_run = sum(qid in rankings for qid in topics)
    unknown = sum(qid not in (qrels or ()) for qid in rankings.keys() - set(topics))
    if answers and rankings and not in_run:
        raise _disjoint(path, rankings, topics, "topics")
    if qrels is None:
        return Coverage(len(topics), None, in_run, None, None, unknown)
    judged_in_run = sum(qid in rankings for qid in qrels)
    if rankings and not judged_in_run:
        raise _disjoint(path, rankings, list(qrels), "judged topics")
    relevant = sum(
        qrels[qid].get(docid, 0) > 0 for qid, docids in rankings.items() if qid in qrels for docid in docids
    )
    return Coverage(len(topics), len(qrels), in_run, judged_in_run, relevant, unknown)


def _disjoint(path: Path, rankings: Rankings, topics: Sequence[str], what: str) -> InputError:
    ours, theirs = shown(topics[0]), shown(next(iter(rankings)))
    return InputError(
        f"{path}: 0 of {len(topics)} {what} in run (they are like {ours}, the run's like {theirs});"
        " the ids must be equal"
    )


def _stem(name: str) -> str:
    for suffix in _SUFFIXES:
        name = name.removesuffix(suffix) or name
    return name
