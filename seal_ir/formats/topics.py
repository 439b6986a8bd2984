"""Topics in file order: TSV, Anserini's NQ format, or JSON lines; ids stay byte for byte what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.files import iter_lines, shown
from seal_ir.formats.jsonlines import Malformed, id_fault, identifier, is_text, parse_object
from seal_ir.formats.nq import parse_nq_line, read_nq
from seal_ir.records import Query

ID_KEYS = ("id", "qid", "_id")
TEXT_KEYS = ("question", "title", "text", "input", "query")

Texts = Iterator[tuple[int, str, str]]
Value = TypeVar("Value")


def read_topics(path: Path, topics_format: str = "auto") -> list[Query]:
    """Queries of a topics file, in file order.

    The formats are `tsv` (`qid <TAB> question`, no quoting), `nq` (`question <TAB> ['answer', ...]`, qid =
    line number from 0) and `jsonl`; `auto` tells them apart by the first line with text on it, not by
    the file's name. A query without text is kept: it has a place in the run's report, if no hits.

    Raises:
        InputError: the file cannot be read or has no topics, a line breaks the format, or an id comes twice.
        UsageError: no such format.
    """
    path = Path(path)
    readers = {"tsv": _read_tsv, "nq": _read_nq, "jsonl": _read_jsonl}
    if topics_format not in ("auto", *readers):
        allowed = ", ".join(("auto", *readers))
        raise UsageError(f"unknown topics format {shown(topics_format)}; choose one of {allowed}")
    name = detect_format(path) if topics_format == "auto" else topics_format
    queries = by_topic(path, readers[name](path))
    if not queries:
        raise InputError(f"{path}: holds no topics; check that it is the file you mean")
    return [Query(qid, text) for qid, text in queries.items()]


def by_topic(path: Path, records: Iterable[tuple[int, str, Value]]) -> dict[str, Value]:
    """Values by topic id, in the order of the records of line number, topic id and value.

    Raises:
        InputError: a topic comes twice.
    """
    values: dict[str, Value] = {}
    lines: dict[str, int] = {}
    for number, qid, value in records:
        if qid in lines:
            raise InputError(
                f"{path}:{number}: topic {shown(qid)} comes twice, first at {path}:{lines[qid]};"
                " make ids unique"
            )
        lines[qid], values[qid] = number, value
    return values


def detect_format(path: Path) -> str:
    """`jsonl`, `nq` or `tsv`, from the first line of a topics or answers file that has text on it.

    Raises:
        InputError: the file cannot be read or is blank, or the line has no tab and is no JSON object.
    """
    for number, line in iter_lines(path):
        if not line or line.isspace():
            continue
        if line.lstrip().startswith("{"):
            return "jsonl"
        if parse_nq_line(line) is not None:
            return "nq"
        if "\t" in line:
            return "tsv"
        raise InputError(
            f"{path}:{number}: no tab and no JSON object (seen {shown(line)}); write qid, a tab and the"
            ' question, or JSON lines with "qid" and "question"'
        )
    raise InputError(f"{path}: is blank; check that it is the file you mean")


def _read_tsv(path: Path) -> Texts:
    for number, line in iter_lines(path):
        if not line or line.isspace():
            continue
        cells = line.split("\t")
        if len(cells) != 2:
            raise InputError(
                f"{path}:{number}: {len(cells)} columns ({shown(line)}); write qid, one tab and the question"
            )
        fault = id_fault(cells[0])
        if fault:
            raise InputError(f"{path}:{number}: the topic id {fault}")
        yield number, cells[0], cells[1]


def _read_nq(path: Path) -> Texts:
    for record in read_nq(path):
        yield record.line, record.qid, record.question


def _read_jsonl(path: Path) -> Texts:
    for number, qid, record in numbered_records(path):
        name = next((name for name in TEXT_KEYS if name in record), None)
        if name is None:
            keys = ", ".join(record)
            raise InputError(
                f'{path}:{number}: no question (its keys: {shown(keys)}); write it under "{TEXT_KEYS[0]}"'
            )
        text = record[name]
        if not isinstance(text, str) or not is_text(text):
            raise InputError(f'{path}:{number}: "{name}" is {shown(text)}; it must be a string')
        yield number, qid, text


def numbered_records(path: Path) -> Iterator[tuple[int, str, dict[str, object]]]:
    """Line numbers, topic ids and objects of a file of JSON lines.

    Where no record has an id, as in Anserini's DPR files, the id is the line number from 0.

    Raises:
        InputError: a line is not a JSON object, its id cannot be used, or only some records have one.
    """
    numbered: bool | None = None
    for number, line in iter_lines(path):
        if not line or line.isspace():
            continue
        record = parse_object(line)
        if isinstance(record, Malformed):
            raise InputError(f"{path}:{number}: {record.reason}")
        qid = identifier(record, ID_KEYS)
        if isinstance(qid, Malformed):
            raise InputError(f"{path}:{number}: {qid.reason}")
        if numbered not in (None, qid is None):
            raise InputError(
                f"{path}:{number}: some records have an id and some have none; give all of them one"
            )
        numbered = qid is None
        yield number, str(number - 1) if qid is None else qid, record
