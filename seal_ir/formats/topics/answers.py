"""Gold answers by topic, out of the topics files that hold them or of JSON lines `{"qid", "answers"}`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.json_records import JsonRecord, answers_of, array_records, by_topic, json_records
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.formats.io.pipes import rereadable
from seal_ir.formats.kilt import read_kilt_answers
from seal_ir.formats.topics.keyed import read_keyed
from seal_ir.formats.topics.nq import NqRecord, read_dpr_csv, read_nq
from seal_ir.formats.topics.topics import resolve_format

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


def _read(path: Path, name: str) -> Answers:
    if name == "jsonl":
        return _records(path, json_records(path))
    if name == "map-json":
        return _records(path, read_keyed(path))
    if name == "dpr-json":
        return _records(path, array_records(path))
    if name == "kilt":
        return read_kilt_answers(path)
    if name in ("nq", "dpr-csv"):
        return _questions(read_nq(path) if name == "nq" else read_dpr_csv(path))
    raise InputError(f'{path}:1: topics without answers; name a file of JSON lines with "qid" and "answers"')


def _records(path: Path, records: Iterable[tuple[int, str, JsonRecord]]) -> Answers:
    for line, qid, record in records:
        answers = answers_of(record)
        if isinstance(answers, Malformed):
            raise InputError(f"{path}:{line}: {answers.reason}")
        yield line, qid, answers


def _questions(records: Iterable[NqRecord]) -> Answers:
    return ((record.line, record.qid, record.answers) for record in records)
