"""What runs are measured against: topics, with their answers and judgements, from files or by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeVar

from seal_ir.errors import InputError
from seal_ir.eval.answers import TOKENS, Matching, usable
from seal_ir.eval.evidence import EvidenceSets
from seal_ir.eval.findings import Finding, tell
from seal_ir.eval.measures import Column, need_answers, need_passages, need_qrels
from seal_ir.eval.sentinel import other_topics, without_golds, without_relevant
from seal_ir.formats.io.files import is_file, named, shown
from seal_ir.formats.io.resolve import Places, resolve_answers, resolve_qrels, resolve_topics
from seal_ir.formats.kilt import read_provenance
from seal_ir.formats.runs.pages import fold_docids, fold_qrels
from seal_ir.formats.runs.trec import has_datapoints, read_qrels
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import detect_format, read_topics

Value = TypeVar("Value")
Grades = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Questions:
    """Topics to measure on.

    Attributes:
        label: how tables call them.
        topics: ids of all of them; accuracy is over these.
        answers: answers to look for, of those topics that have some; None when no measure needs them.
        qrels: grades of the judged topics, over which the other measures are; None as above.
        evidence: KILT's sets of pages of the judged topics; None where the judgements are not KILT's.
        golds: answers to compare written ones with, of those topics that have some; None as above.
        asked: what the topics ask, as far as that is known; runs of others are told apart by it.
        are_all: whether `topics` are all that there are; else they are those with answers or judgements.
        findings: what is doubtful about them, told already.
    """

    label: str
    topics: Sequence[str]
    answers: Mapping[str, Sequence[str]] | None = None
    qrels: Mapping[str, Mapping[str, int]] | None = None
    evidence: Mapping[str, EvidenceSets] | None = None
    golds: Mapping[str, Sequence[str]] | None = None
    asked: Mapping[str, str] = field(default_factory=dict, compare=False)
    are_all: bool = True
    findings: Sequence[Finding] = field(default=(), compare=False)


class Sources(NamedTuple):
    """Files to read; None for what was not given and has no name."""

    label: str
    topics: Path | None
    answers: Path | None
    qrels: Path | None


def find_sources(
    topics: str | None, answers: str | None, qrels: str | None, places: Places, *, need_answers: bool
) -> Sources:
    """The files of names or paths; answers and judgements not given are those that belong to the topics.

    `need_answers` is whether those of the topics are looked for: they may have to be downloaded.

    Raises:
        InputError: a file does not exist, or a name is unknown.
    """
    topics_path = answers_path = qrels_path = None
    if topics is not None:
        topics_path = resolve_topics(topics, places)
        named = not is_file(Path(os.path.expanduser(topics)))  # noqa: PTH111
        qrels_path = resolve_qrels(topics, places) if named else None
        if need_answers and named:
            answers_path = resolve_answers(topics, places)
        elif need_answers and detect_format(topics_path) == "nq":
            answers_path = topics_path
    if answers is not None:
        answers_path = _existing("answers", answers, resolve_answers(answers, places))
    if qrels is not None:
        qrels_path = _existing("qrels", qrels, resolve_qrels(qrels, places))
    label = _label(topics or answers or qrels or "")
    return Sources(label, topics_path, answers_path, qrels_path)


def load_questions(
    sources: Sources, columns: Sequence[Column], delimiter: str | None = None, matching: Matching = TOKENS
) -> Questions:
    """The questions, with what the columns need of answers and judgements, where the sources have it.

    With topics given, judgements of other topics are left out; without, the topics are those of the
    answers, or else the judged ones. With a delimiter judgements are of pages. Where the
    judgements are KILT's, its measures need their sets of pages. Answers that match any text or none under
    `matching` are left out. What is doubtful is logged, and kept as `findings`.

    Raises:
        InputError: a file cannot be read, breaks its format, or has none of the topics.
    """
    asked = dict(read_topics(sources.topics)) if sources.topics else {}
    given = list(asked) or None
    needs_answers, needs_qrels = need_answers(columns), need_qrels(columns)
    all_answers = read_answers(sources.answers) if needs_answers and sources.answers else None
    repeated: list[str] = []
    grades = read_qrels(sources.qrels, repeated.append) if needs_qrels and sources.qrels else None
    for path, found in ((sources.answers, all_answers), (sources.qrels, grades)):
        if found is not None and not found:
            raise InputError(f"{path}: is blank; check that it is the file you mean")
    topics = given or list(all_answers or grades or ())
    findings = [Finding("judgements", sentence) for sentence in repeated]
    if grades is not None and sources.qrels is not None:
        grades, told = _judgements(sources.qrels, grades, given)
        findings += told
    if grades is not None and delimiter is not None:
        grades = fold_qrels(grades, delimiter)
    golds = texts = None
    if all_answers is not None and sources.answers is not None:
        _of_topics(sources.answers, "answers", topics, all_answers)
        if any(column.written for column in columns):
            golds, told = _golds(sources.answers, all_answers, topics)
            findings += told
        if need_passages(columns):
            texts, told = _answers(sources.answers, all_answers, topics, matching)
            findings += told
    tell(findings)
    by_sets = any(column.by_sets for column in columns)
    sets = _evidence(sources.qrels, grades, delimiter) if by_sets and grades and sources.qrels else None
    are_all = given is not None
    return Questions(sources.label, topics, texts, grades, sets, golds, asked, are_all, tuple(findings))


def _judgements(path: Path, grades: Grades, topics: Sequence[str] | None) -> tuple[Grades, list[Finding]]:
    """The judgements of the topics, or all of them, and what is doubtful."""
    if topics is None:
        return grades, list(without_relevant(named(path), grades))
    ours = _of_topics(path, "judgements", topics, grades)
    return ours, [*other_topics(named(path), topics, grades), *without_relevant(named(path), ours)]


def _golds(
    path: Path, answers: Mapping[str, Sequence[str]], topics: Sequence[str]
) -> tuple[dict[str, Sequence[str]], list[Finding]]:
    """The answers of the topics that are not blank, and what is doubtful."""
    found: dict[str, Sequence[str]] = {
        qid: golds for qid in topics if (golds := [gold for gold in answers.get(qid, ()) if gold.strip()])
    }
    if not found:
        raise InputError(
            f"{path}: no topic has an answer to compare with; every measure of answers would be 0"
        )
    return found, list(without_golds(named(path), found, topics))


def _answers(
    path: Path, answers: Mapping[str, Sequence[str]], topics: Sequence[str], matching: Matching
) -> tuple[dict[str, Sequence[str]], list[Finding]]:
    """The answers of the topics that can be looked for, and what is doubtful."""
    found = usable(answers, topics, matching)
    if not found.answers:
        raise InputError(f"{path}: no topic has an answer to look for; accuracy would be 0 for all")
    return found.answers, [Finding("answers", f"{named(path)}: {warning}") for warning in found.warnings()]


def _evidence(path: Path, judged: Iterable[str], delimiter: str | None) -> dict[str, EvidenceSets] | None:
    """KILT's sets of pages of the judged topics, folded as judgements are; None for other judgements."""
    if not has_datapoints(path):
        return None
    gold = read_provenance(path)
    if delimiter is None:
        return {qid: gold[qid] for qid in judged}
    return {qid: [fold_docids(pages, delimiter) for pages in gold[qid]] for qid in judged}


def _of_topics(
    path: Path | None, what: str, topics: Sequence[str], values: Mapping[str, Value]
) -> dict[str, Value]:
    """The values of those topics, in the order of the values."""
    wanted = set(topics)
    found = {qid: value for qid, value in values.items() if qid in wanted}
    if not found:
        raise InputError(
            f"{path}: 0 of {len(topics)} topics have {what} here (the topics are like {shown(topics[0])},"
            f" these like {shown(next(iter(values)))}); the ids must be equal"
        )
    return found


def _existing(kind: str, name: str, path: Path | None) -> Path:
    if path is None:
        raise InputError(f"{kind} {shown(name)}: no such file, and none belong to topics of that name")
    return path


def _label(name: str) -> str:
    return named(Path(name).name)
