"""Topics in file order, in the formats that Pyserini, DPR, KILT and TREC have; ids stay what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import by_topic, filled_lines, id_fault, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import array_records, json_records, text_of
from seal_ir.formats.io.jsonlines import Malformed, iter_values, parse_object, sound
from seal_ir.formats.kilt import is_kilt, read_inputs, read_kilt
from seal_ir.formats.topics.keyed import is_keyed, read_keyed
from seal_ir.formats.topics.nq import parse_nq_line, read_dpr_csv, read_nq
from seal_ir.formats.topics.sgml import looks_like_sgml, read_sgml
from seal_ir.records import Query

_AUTO = ("auto", "default")  # the second is Pyserini's word
_ARRAY = re.compile(r" *\[\s*(\{|\]?\s*$)")
_NQ = re.compile(r'[^\t]*\t\s*"?\[')  # how each line of that format begins

Texts = Iterator[tuple[int, str, str]]


def read_topics(path: Path, topics_format: str = "auto") -> list[Query]:
    """Queries of a topics file, in file order.

    A query without text is kept: it has a place in the run's report, if no hits.

    Args:
        path: plain or compressed.
        topics_format: one of `TOPICS_FORMATS`; `auto` is what `detect_format` says.

    Raises:
        InputError: the file cannot be read or has no topics, a line breaks the format, or an id comes twice.
        UsageError: no such format.
    """
    path = rereadable(path)
    queries = by_topic(path, _read(path, resolve_format(path, topics_format)))
    if not queries:
        raise InputError(f"{path}: holds no topics; check that it is the file you mean")
    return [Query(qid, text) for qid, text in queries.items()]


def datapoint_inputs(path: Path, queries: Iterable[Query], topics_format: str = "auto") -> dict[str, str]:
    """What a KILT run repeats as "input" of each of these queries, which were read from the path.

    Raises:
        InputError, UsageError: as `read_topics`.
    """
    path = rereadable(path)
    if resolve_format(path, topics_format) == "kilt":
        return read_inputs(path)
    return {query.id: query.text for query in queries}


def resolve_format(path: Path, topics_format: str) -> str:
    """The format itself, or what is detected for `auto`.

    Raises:
        InputError: as `detect_format`.
        UsageError: no such format.
    """
    if topics_format not in TOPICS_FORMATS:
        allowed = ", ".join(TOPICS_FORMATS)
        raise UsageError(f"unknown topics format {shown(topics_format)}; choose one of {allowed}")
    return detect_format(path) if topics_format in _AUTO else topics_format


def detect_format(path: Path) -> str:
    """Format of a topics or answers file, by the first line that has text on it and never by its name.

    It is `jsonl`, `kilt`, `map-json`, `dpr-json`, `trec`, `nq` or `tsv`; DPR's CSV is taken for `nq`, which
    reads all of it but line breaks in questions.

    Raises:
        InputError: the file cannot be read or is blank, or the line fits none of them.
    """
    for number, line in filled_lines(path):
        if line.lstrip().startswith("{"):
            return _object_format(path, line)
        if _NQ.match(line) and parse_nq_line(line) is not None:
            return "nq"
        if _ARRAY.match(line):
            return "dpr-json"
        if line.lstrip().startswith("<") and looks_like_sgml(line):
            return "trec"
        if "\t" in line:
            return "tsv"
        raise InputError(
            f"{path}:{number}: no tab, no JSON and no <top> (seen {shown(line)}); write qid, a tab and the"
            ' question, or JSON lines with "qid" and "question"'
        )
    raise InputError(f"{path}: is blank; check that it is the file you mean")


def _object_format(path: Path, line: str) -> str:
    """Format of a file that begins with an object, which this line may hold the whole of."""
    record: object = parse_object(line)
    if isinstance(record, Malformed):  # one over several lines, or a fault that reading will tell
        with suppress(InputError):
            record = next((value for _, value in iter_values(path)), None)
    if isinstance(record, dict) and is_kilt(record):
        return "kilt"
    return "map-json" if isinstance(record, dict) and is_keyed(record) else "jsonl"


def _read(path: Path, name: str) -> Texts:
    if name in RECORDS:
        return ((line, qid, sound(text_of(record), path, line)) for line, qid, record in RECORDS[name](path))
    if name in QUESTIONS:
        return ((record.line, record.qid, record.question) for record in QUESTIONS[name](path))
    return _TEXTS[name](path)


def _read_tsv(path: Path) -> Texts:
    for number, line in filled_lines(path):
        cells = line.split("\t")
        if len(cells) != 2:
            raise InputError(
                f"{path}:{number}: {len(cells)} columns ({shown(line)}); write qid, one tab and the question"
            )
        fault = id_fault(cells[0])
        if fault:
            raise InputError(f"{path}:{number}: the topic id {fault}")
        yield number, cells[0], cells[1]


RECORDS = {"jsonl": json_records, "map-json": read_keyed, "dpr-json": array_records}  # readers by format
QUESTIONS = {"nq": read_nq, "dpr-csv": read_dpr_csv}
_TEXTS: dict[str, Callable[[Path], Texts]] = {"tsv": _read_tsv, "kilt": read_kilt, "trec": read_sgml}
TOPICS_FORMATS = (*_AUTO, "tsv", "nq", "jsonl", "map-json", "dpr-json", "dpr-csv", "kilt", "trec")
