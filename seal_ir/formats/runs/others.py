"""Runs of any system: TREC's, KILT's, and JSON files of passages, as DPR and RAG toolkits write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import ID_KEYS, JsonRecord
from seal_ir.formats.io.jsonlines import Malformed, as_object, first_mark, identifier, iter_values, sound
from seal_ir.formats.kilt import read_guesses
from seal_ir.formats.runs.contexts import Context, context_of
from seal_ir.formats.runs.trec import Told, read_run, trec_order, warn

# Where a record's passages are: DPR's, Pyserini's, ours, RAGatouille's, LlamaIndex's and LangChain's.
_LISTS = ("ctxs", "contexts", "passages", "results", "nodes", "documents")
_QUESTIONS = ("question", "query", "input")


class RankedRun(NamedTuple):
    """A run, whatever its format.

    Attributes:
        rankings: of each topic documents and scores, best first.
        texts: title and text of the documents whose text the file has.
    """

    rankings: dict[str, list[tuple[str, float]]]
    texts: dict[str, tuple[str, str]]


class _Record(NamedTuple):
    """What a file says of one topic.

    Attributes:
        line: where it begins.
        qid: its id; None for none.
        question: its text; None for none.
        passages: as they stand there, best first.
    """

    line: int
    qid: str | None
    question: str | None
    passages: list[object]


def read_ranked(path: Path, asked: Mapping[str, str] | None = None, told: Told = warn) -> RankedRun:
    """The rankings of a run of any system, told by what the file begins with.

    In JSON the order of passages is the ranking, and one that comes twice for a topic counts once. A record
    is of the topic that asks its question, whatever its id, since others number topics in their own way;
    else of the topic with its id. Without both a topic is called by its position, from 0.

    Args:
        path: TREC's six columns, KILT's datapoints, DPR's output, or passages as docs/formats.md has them.
        asked: questions by topic id, where they are known.
        told: see `read_run`.

    Raises:
        InputError: the run cannot be read, or breaks its format.
    """
    path = rereadable(path)
    if not is_json_run(path):
        return RankedRun({qid: trec_order(entries) for qid, entries in read_run(path, told).items()}, {})
    if is_kilt_run(path):
        guesses = read_guesses(path)
        return RankedRun(
            {qid: [(page, -float(n)) for n, page in enumerate(pages)] for qid, pages in guesses.items()}, {}
        )
    return _read(path, _Topics(asked or {}))


def is_json_run(path: Path) -> bool:
    """Whether a run is JSON of any kind, and not TREC's columns.

    Raises:
        InputError: the file cannot be read.
    """
    return first_mark(path) in ("{", "[")


def has_texts(path: Path) -> bool:
    """Whether a run brings the texts of its passages: its first passage has one.

    Faults are not told here but where the run is read.

    Raises:
        InputError: the file cannot be read.
    """
    path = rereadable(path)
    if not is_json_run(path):
        return False
    with suppress(InputError):
        if not is_kilt_run(path):
            passages = (passage for record in _records(path) for passage in record.passages)
            context = context_of(next(passages, None))
            return isinstance(context, Context) and context.text is not None
    return False


def is_kilt_run(path: Path) -> bool:
    """Whether the first record is KILT's datapoint: an output that is a list, or an input and no passages.

    Raises:
        InputError: the file cannot be read, or begins as JSON and is none.
    """
    if not is_json_run(path):
        return False
    first = next((value for _, value in iter_values(path)), None)
    if not isinstance(first, dict):
        return False
    return isinstance(first.get("output"), list) or ("input" in first and not _passages(first))


class _Topics:
    """Finds the topics that records are of; of topics that ask the same, each is given once."""

    def __init__(self, asked: Mapping[str, str]) -> None:
        self._known = asked
        self._waiting: dict[str, list[str]] = {}
        for qid, question in asked.items():
            self._waiting.setdefault(_words(question), []).append(qid)

    def topic_of(self, record: _Record, position: int) -> str:
        """The topic's id; one that no topic has where the record is of none."""
        waiting = self._waiting.get(_words(record.question or ""), [])
        if record.qid in waiting:
            waiting.remove(record.qid)
            return record.qid
        if waiting:
            return waiting.pop(0)
        if record.qid is not None:
            return record.qid
        return str(position) if not self._known else f"record {position}"


def _words(question: str) -> str:
    """Equal for questions that differ in case, blanks and a question mark at most."""
    return " ".join(question.split()).rstrip("? ").casefold()


def _read(path: Path, topics: _Topics) -> RankedRun:
    run = RankedRun({}, {})
    for position, record in enumerate(_records(path)):
        qid = topics.topic_of(record, position)
        if qid in run.rankings:
            fault = Malformed(f"topic {shown(qid)} comes twice; keep one record of the two")
            sound(fault, path, record.line)
        ranking: dict[str, float] = {}
        for rank, passage in enumerate(record.passages):
            context: Context = sound(context_of(passage), path, record.line)
            ranking.setdefault(context.docid, -float(rank) if context.score is None else context.score)
            if context.text is not None:
                run.texts.setdefault(context.docid, (context.title, context.text))
        run.rankings[qid] = list(ranking.items())
    return run


def _records(path: Path) -> Iterator[_Record]:
    """The topics of a file: records in a row or in an array, or one object by ids or by questions."""
    for n, (line, value) in enumerate(iter_values(path)):
        record: JsonRecord = sound(as_object(value), path, line)
        if n == 0 and _is_by_question(record):
            for question, passages in record.items():
                yield _Record(line, None, question, list(passages) if isinstance(passages, list) else [])
        elif n == 0 and _is_by_id(record):
            for qid, topic in record.items():
                yield _record(path, line, {"id": qid, **topic} if isinstance(topic, dict) else {})
        else:
            yield _record(path, line, record)


def _is_by_question(record: JsonRecord) -> bool:
    """FlashRAG's cache."""
    return not any(name in record for name in _LISTS) and all(
        isinstance(value, list) for value in record.values()
    )


def _is_by_id(record: JsonRecord) -> bool:
    """Pyserini's retrieval results."""
    return all(isinstance(value, dict) and _passages(value) is not None for value in record.values())


def _record(path: Path, line: int, record: JsonRecord) -> _Record:
    passages = _passages(record)
    if passages is None:
        keys = shown(", ".join(record))
        passages = sound(
            Malformed(f'no list of passages (its keys: {keys}); write it under "ctxs"'), path, line
        )
    qid = sound(identifier(record, ID_KEYS), path, line)
    question = next((text for name in _QUESTIONS if isinstance(text := record.get(name), str)), None)
    return _Record(line, qid, question, passages)


def _passages(record: JsonRecord) -> list[object] | None:
    """The passages of a record; None where it has no list of them."""
    output = record.get("output")
    found = output.get("retrieval_result") if isinstance(output, dict) else None
    lists = (value for name in _LISTS if isinstance(value := record.get(name), list))
    return found if isinstance(found, list) else next(lists, None)
