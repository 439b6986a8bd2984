"""Questions that are known to belong to passages, and those that must not be among them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.files import iter_lines, shown
from seal_ir.formats.identified import json_records, text_of
from seal_ir.formats.jsonlines import Malformed
from seal_ir.formats.topics import read_topics
from seal_ir.formats.trec import read_qrels

_POSITIVES = ("positive_ids", "positives")  # as `seal_ir.train data --pairs` reads them
_NOT_WORDS = re.compile(r"[\W_]+")


class Known(NamedTuple):
    """A question and the id of a passage that answers it."""

    docid: str
    question: str


@dataclass(slots=True)
class Counts:
    """What became of the questions.

    Attributes:
        documents: those written.
        with_questions: those of them with at least one.
        questions: all that were written.
        repeated: those that a document had already, by their words, and those without words.
        excluded: those that were left out, once for each document.
        excluded_words: their distinct words.
    """

    documents: int = 0
    with_questions: int = 0
    questions: int = 0
    repeated: int = 0
    excluded: int = 0
    excluded_words: set[str] = field(default_factory=set)


def judged_questions(topics: Path, qrels: Path) -> Iterator[Known]:
    """Topics with the passages that judgements grade above 0.

    Raises:
        InputError: a file breaks its format, or no judged topic is among the topics.
    """
    questions = {query.id: query.text for query in read_topics(topics)}
    grades = read_qrels(qrels)
    if not any(qid in questions for qid in grades):
        raise InputError(f"{qrels}: none of its topics are in {topics}; the ids must be equal")
    for qid, documents in grades.items():
        if qid in questions:
            yield from (Known(docid, questions[qid]) for docid, grade in documents.items() if grade > 0)


def paired_questions(path: Path) -> Iterator[Known]:
    """Pairs of JSON lines `{"question", "positive_ids": [id, ...]}`.

    Raises:
        InputError: the file cannot be read, holds passages without ids (DPR's and KILT's training files do),
            or a record has no question or no list of ids.
    """
    first = next((line for _, line in iter_lines(path) if line and not line.isspace()), "")
    if first.lstrip().startswith("["):
        raise InputError(f'{path}: a JSON array; write JSON lines with "question" and "positive_ids"')
    for line, _, record in json_records(path):
        question = text_of(record)
        if isinstance(question, Malformed):
            raise InputError(f"{path}:{line}: {question.reason}")
        name = next((name for name in _POSITIVES if name in record), _POSITIVES[0])
        docids = record.get(name)
        if not isinstance(docids, list) or not all(isinstance(docid, str) and docid for docid in docids):
            raise InputError(f'{path}:{line}: "{name}" is {shown(docids)}; it must be a list of passage ids')
        yield from (Known(docid, question) for docid in docids)


def normalised(question: str) -> str:
    """The words of a question in lower case, one blank between them: as `seal_ir.train` compares them."""
    return _NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", question).lower()).strip()


def excluded_questions(paths: Iterable[Path]) -> frozenset[str]:
    """Normalised questions of topics files, without blank ones.

    Raises:
        InputError: a file breaks its format.
    """
    return frozenset(normalised(query.text) for path in paths for query in read_topics(path)) - {""}


def kept(questions: Iterable[str], excluded: frozenset[str], counts: Counts) -> list[str]:
    """The questions of one document that are written: each once, none that is excluded; all are counted."""
    chosen: dict[str, str] = {}
    for question in questions:
        words = normalised(question)
        if words in excluded:
            counts.excluded += 1
            counts.excluded_words.add(words)
        elif not words or words in chosen:
            counts.repeated += 1
        else:
            chosen[words] = " ".join(question.split())
    counts.documents += 1
    counts.with_questions += bool(chosen)
    counts.questions += len(chosen)
    return list(chosen.values())
