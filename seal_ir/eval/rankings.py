"""Runs as rankings: documents of each topic in trec_eval's order, as passages or folded into pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.eval.ties import Tie, Ties, tied_places
from seal_ir.formats.io.files import named, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.runs.others import is_json_run, read_ranked
from seal_ir.formats.runs.pages import fold_docids, page_of
from seal_ir.formats.runs.trec import in_single_precision

_SUFFIXES = (".gz", ".bz2", ".xz", ".zst", ".trec", ".txt", ".run", ".tsv", ".jsonl", ".json")

Rankings = dict[str, list[str]]
Qrels = Mapping[str, Mapping[str, int]]
Ranked = Sequence[tuple[str, float]]  # documents and scores, best first


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
        ties: their places with equal scores, where scores make the order; JSON has an order of its own.
        docids: all documents of the file, never pages.
        bodies: of the passages whose texts the file brings.
        told: what the file itself has wrong, a sentence each.
    """

    rankings: Rankings = field(default_factory=dict)
    ties: Ties = field(default_factory=dict)
    docids: Set[str] = frozenset()
    bodies: Mapping[str, str] = field(default_factory=dict)
    told: Sequence[str] = ()


def read_rankings(path: Path, delimiter: str | None = None) -> Rankings:
    """Document ids of each topic of a run of any format, best first; with a delimiter, page ids.

    Raises:
        InputError: the run cannot be read, or breaks its format.
    """
    run = read_ranked(path)
    return _as_rankings(run.rankings, delimiter)


def read_retrieved(
    path: Path, delimiter: str | None = None, asked: Mapping[str, str] | None = None
) -> Retrieved:
    """A run's rankings as `read_rankings` has them, and what else the file says.

    Args:
        path: the run.
        delimiter: what ends the page in a passage's id; None for passages.
        asked: questions by topic id, by which runs without our ids are read; see `read_ranked`.

    Raises:
        InputError: as `read_rankings`.
    """
    path = rereadable(path)
    told: list[str] = []
    run = read_ranked(path, asked, told.append)
    by_score = {} if is_json_run(path) else run.rankings
    found = {qid: _ties(entries, delimiter) for qid, entries in by_score.items()}
    return Retrieved(
        rankings=_as_rankings(run.rankings, delimiter),
        ties={qid: ties for qid, ties in found.items() if ties},
        docids=frozenset(docid for entries in run.rankings.values() for docid, _ in entries),
        bodies={docid: text for docid, (_, text) in run.texts.items()},
        told=told,
    )


def _as_rankings(run: Mapping[str, Ranked], delimiter: str | None) -> Rankings:
    """The ids of a run, or those of its pages."""
    rankings = {qid: [docid for docid, _ in entries] for qid, entries in run.items()}
    if delimiter is None:
        return rankings
    return {qid: fold_docids(docids, delimiter) for qid, docids in rankings.items()}


def _ties(ranked: Ranked, delimiter: str | None) -> Sequence[Tie]:
    """The ties of a ranking; of pages those of their best passages."""
    if delimiter is not None:
        first = {page_of(docid, delimiter): score for docid, score in reversed(ranked)}
        pages = fold_docids([docid for docid, _ in ranked], delimiter)
        ranked = [(page, first[page]) for page in pages]
    return tied_places([in_single_precision(score) for _, score in ranked])


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
