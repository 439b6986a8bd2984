"""Files of predictions: a JSON line a question, `{"qid", "question", "answer", "citations"}`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.files import AtomicFile, is_text, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import JsonRecord, json_records
from seal_ir.formats.io.jsonlines import Malformed, sound
from seal_ir.read.records import Answer, Citation
from seal_ir.structured import exact_json


class Prediction(NamedTuple):
    """A line of a file of predictions: a question by id, its text, and what was answered."""

    qid: str
    question: str
    answer: Answer


class PredictionWriter(AtomicFile):
    """Writes answers question by question; the file appears whole when the `with` block ends well.

    Raises:
        UsageError: the path cannot be written.
    """

    def write(self, prediction: Prediction) -> None:
        """Appends one answer.

        Raises:
            ValueError: the writer is not open.
        """
        record = {
            "qid": prediction.qid,
            "question": prediction.question,
            "answer": prediction.answer.text,
            "citations": [asdict(citation) for citation in prediction.answer.citations],
        }
        self.stream.write(f"{exact_json(record)}\n")


def iter_predictions(path: Path) -> Iterator[Prediction]:
    """The lines of a file of predictions; `question` and `citations` may be missing in other systems' files.

    Raises:
        InputError: the file cannot be read, a line is no prediction, or a question comes twice.
    """
    path = rereadable(path)
    lines: dict[str, int] = {}
    for number, qid, record in json_records(path):
        if qid in lines:
            raise InputError(
                f"{path}:{number}: question {shown(qid)} comes twice, first at {path}:{lines[qid]}; keep one"
            )
        lines[qid] = number
        yield Prediction(qid, *sound(_said(record), path, number))


def _said(record: JsonRecord) -> tuple[str, Answer] | Malformed:
    """Question and answer of a line."""
    texts = {"question": record.get("question", ""), "answer": record.get("answer")}
    for name, value in texts.items():
        if not isinstance(value, str) or not is_text(value):
            seen = f"{shown(value)}" if name in record else "missing"
            return Malformed(f'"{name}" is {seen}; it must be a string')
    places = record.get("citations", [])
    if not isinstance(places, list):
        return Malformed(f'"citations" is {shown(places)}; it must be a list of objects')
    found = [_citation(place) for place in places]
    odd = next((place for place in found if isinstance(place, Malformed)), None)
    if odd is not None:
        return odd
    known = tuple(place for place in found if isinstance(place, Citation))
    return str(texts["question"]), Answer(str(texts["answer"]), known)


def _citation(value: object) -> Citation | Malformed:
    if isinstance(value, dict):
        docid, start, end, text = (value.get(name) for name in ("docid", "start", "end", "text"))
        named = isinstance(docid, str) and isinstance(text, str)
        if named and type(start) is int and type(end) is int and 0 <= start <= end:
            return Citation(str(docid), start, end, str(text))
    return Malformed(
        f'"citations" holds {shown(value)}; it may hold {{"docid", "start", "end", "text"}} only, start and'
        " end being characters"
    )
