"""Questions with the passages that answer them, by id; and questions compared by their words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.files import first_line, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import json_records, text_of
from seal_ir.formats.io.jsonlines import sound
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.reading import read_topics

_POSITIVES = ("positive_ids", "positives")
_NOT_WORDS = re.compile(r"[\W_]+")


class Known(NamedTuple):
    """A question and the id of a passage that answers it."""

    question: str
    docid: str


def paired_questions(path: Path) -> Iterator[Known]:
    """Pairs of JSON lines `{"question", "positive_ids": [id, ...]}`.

    Raises:
        InputError: the file cannot be read, holds passages without ids (DPR's and KILT's training files do),
            or a record has no question or no list of ids.
    """
    path = rereadable(path)
    if is_json_array(path):
        raise InputError(f'{path}: a JSON array; write JSON lines with "question" and "positive_ids"')
    for line, _, record in json_records(path):
        question = sound(text_of(record), path, line)
        name = next((name for name in _POSITIVES if name in record), _POSITIVES[0])
        docids = record.get(name)
        if not isinstance(docids, list) or not all(isinstance(docid, str) and docid for docid in docids):
            raise InputError(f'{path}:{line}: "{name}" is {shown(docids)}; it must be a list of passage ids')
        yield from (Known(question.strip(), docid) for docid in docids)


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
            yield from (Known(questions[qid], docid) for docid, grade in documents.items() if grade > 0)


def is_json_array(path: Path) -> bool:
    """Whether the first line with text on it begins an array, as in DPR's files.

    Raises:
        InputError: the file cannot be read.
    """
    return first_line(path).lstrip().startswith("[")


def question_words(question: str) -> str:
    """The words of a question in lower case, one blank between them: equal for equal questions."""
    return _NOT_WORDS.sub(" ", unicodedata.normalize("NFKC", question).lower()).strip()


def excluded_questions(paths: Iterable[Path]) -> frozenset[str]:
    """Normalised questions of topics files.

    Raises:
        InputError: a file breaks its format.
    """
    return frozenset(question_words(query.text) for path in paths for query in read_topics(path))
