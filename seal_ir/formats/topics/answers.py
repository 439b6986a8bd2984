"""Gold answers by topic, out of the topics files that hold them or of JSON lines `{"qid", "answers"}`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import by_topic, is_file
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import answers_of
from seal_ir.formats.io.jsonlines import sound
from seal_ir.formats.io.resolve import Places, resolve_answers
from seal_ir.formats.kilt import read_kilt_answers
from seal_ir.formats.topics.reading import QUESTIONS, RECORDS, resolve_format

Answers = Iterator[tuple[int, str, list[str]]]


def read_answers(path: Path, answers_format: str = "auto") -> dict[str, list[str]]:
    """Answers of each topic, in file order; an answer may be a regular expression and is kept as it is.

    Args:
        path: plain or compressed.
        answers_format: a format of topics that holds answers: all but `tsv` and `trec`.

    Raises:
        InputError: the file cannot be read, holds no answers, breaks its format, or has a topic twice.
        UsageError: no such format.
    """
    path = rereadable(path)
    return by_topic(path, _read(path, resolve_format(path, answers_format)))


def answers_of_topics(name: str, path: Path, topics_format: str, places: Places) -> dict[str, list[str]]:
    """The answers that belong to topics by name, or stand in their file; none where there are none.

    Args:
        name: what `--topics` names.
        path: their file.
        topics_format: of the file.
        places: where answers of names are looked up.

    Raises:
        InputError: the answers of a name cannot be read.
    """
    if not is_file(Path(name)):
        found = resolve_answers(name, places)
        return {} if found is None else read_answers(found)
    try:
        return read_answers(path, topics_format)
    except InputError:  # topics without answers; as topics they have been read
        return {}


def _read(path: Path, name: str) -> Answers:
    if name in RECORDS:
        return (
            (line, qid, sound(answers_of(record), path, line)) for line, qid, record in RECORDS[name](path)
        )
    if name in QUESTIONS:
        return ((record.line, record.qid, record.answers) for record in QUESTIONS[name](path))
    if name == "kilt":
        return read_kilt_answers(path)
    raise InputError(f'{path}:1: topics without answers; name a file of JSON lines with "qid" and "answers"')
