"""KILT files: questions, their answers, and the pages that their answers come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from seal_ir.formats.io.files import by_topic, id_fault, is_text, shown
from seal_ir.formats.io.json_records import JsonRecord, json_records
from seal_ir.formats.io.jsonlines import Malformed, sound
from seal_ir.structured import json_line

_MARKS = ("[START_ENT]", "[END_ENT]")
_OTHER_TEXTS = ("question", "title", "text", "query")

Value = TypeVar("Value")


def is_kilt(record: JsonRecord) -> bool:
    """Whether a record is a datapoint: an id and an input, and no other text to search."""
    return "id" in record and "input" in record and not any(name in record for name in _OTHER_TEXTS)


def read_kilt(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line numbers, ids and questions: the inputs without entity marks and outer white space, as in Pyserini.

    Raises:
        InputError: the file cannot be read, or a record has no id or no input.
    """
    for number, qid, text in _values(path, _input):
        for mark in _MARKS:
            text = text.replace(mark, "")
        yield number, qid, text.strip()


def read_inputs(path: Path) -> dict[str, str]:
    """Inputs by id, as they stand in the file, for writing datapoints.

    Raises:
        InputError: as `read_kilt`, or a topic comes twice.
    """
    return by_topic(path, _values(path, _input))


def read_kilt_answers(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Line numbers, ids and distinct answers; outputs without an answer are passed over.

    Raises:
        InputError: the file cannot be read, or a record breaks the format.
    """
    return _values(path, _answers)


def read_provenance(path: Path) -> dict[str, list[list[str]]]:
    """For each topic the distinct page ids of each output that has provenance; other outputs do not count.

    Raises:
        InputError: the file cannot be read, a record breaks the format, or a topic comes twice.
    """
    return by_topic(path, _values(path, _provenance))


def read_guesses(path: Path) -> dict[str, list[str]]:
    """The distinct page ids of each topic of a KILT run, best first; topics without any are left out.

    Raises:
        InputError: as `read_provenance`, or a datapoint has not exactly one output.
    """
    guesses = by_topic(path, _values(path, _guess))
    return {qid: pages for qid, pages in guesses.items() if pages}


def read_guessed_answers(path: Path) -> dict[str, str]:
    """The answer of each topic of a KILT run; topics without one are left out.

    Raises:
        InputError: as `read_guesses`.
    """
    guesses = by_topic(path, _values(path, _guessed_answer))
    return {qid: answer for qid, answer in guesses.items() if answer is not None}


def provenance_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Grade 1 for each gold page of each topic that has any; the other topics are not judged.

    Raises:
        InputError: as `read_provenance`.
    """
    gold = read_provenance(path)
    return {qid: {page: 1 for pages in outputs for page in pages} for qid, outputs in gold.items() if outputs}


def datapoint(qid: str, text: str, pages: Sequence[str], answer: str | None = None) -> str:
    """One line of a KILT run, without its end: an answer, and the pages in their order, ids as strings."""
    provenance = [{"wikipedia_id": page} for page in pages]
    output = {"provenance": provenance} if answer is None else {"answer": answer, "provenance": provenance}
    record = {"id": qid, "input": text, "output": [output]}
    return json_line(record)


def _values(
    path: Path, value_of: Callable[[JsonRecord], Value | Malformed]
) -> Iterator[tuple[int, str, Value]]:
    for number, qid, record in json_records(path):
        value = value_of(record) if "id" in record else Malformed('no "id"; every datapoint needs one')
        if isinstance(value, Malformed) and "id" in record:
            value = Malformed(f"topic {shown(qid)}: {value.reason}")
        yield number, qid, sound(value, path, number)


def _input(record: JsonRecord) -> str | Malformed:
    text = record.get("input")
    if not isinstance(text, str) or not is_text(text):
        return Malformed(f'"input" is {shown(text)}; it must be a string')
    return text


def _answers(record: JsonRecord) -> list[str] | Malformed:
    outputs = _outputs(record)
    if isinstance(outputs, Malformed):
        return outputs
    answers: dict[str, None] = {}
    for output in outputs:
        answer = _answer(output)
        if isinstance(answer, Malformed):
            return answer
        if answer is not None:
            answers[answer] = None
    return list(answers)


def _answer(output: JsonRecord) -> str | None | Malformed:
    answer = output.get("answer")
    if answer is None or (isinstance(answer, str) and is_text(answer)):
        return answer
    return Malformed(f'"answer" is {shown(answer)}; it must be a string')


def _provenance(record: JsonRecord) -> list[list[str]] | Malformed:
    outputs = _outputs(record)
    if isinstance(outputs, Malformed):
        return outputs
    gold = []
    for output in outputs:
        pages = _pages(output.get("provenance") or [])
        if isinstance(pages, Malformed):
            return pages
        if pages:
            gold.append(pages)
    return gold


def _guess(record: JsonRecord) -> list[str] | Malformed:
    output = _one_output(record)
    return output if isinstance(output, Malformed) else _pages(output.get("provenance") or [])


def _guessed_answer(record: JsonRecord) -> str | None | Malformed:
    output = _one_output(record)
    return output if isinstance(output, Malformed) else _answer(output)


def _one_output(record: JsonRecord) -> JsonRecord | Malformed:
    outputs = _outputs(record)
    if isinstance(outputs, Malformed):
        return outputs
    if len(outputs) != 1:
        return Malformed(f"a run has one output a datapoint, seen {len(outputs)}; is this the gold file?")
    return outputs[0]


def _outputs(record: JsonRecord) -> list[JsonRecord] | Malformed:
    """The outputs of a datapoint; test sets have none."""
    outputs = record.get("output")
    if outputs is None:
        return []
    if not isinstance(outputs, list) or not all(isinstance(output, dict) for output in outputs):
        return Malformed(f'"output" is {shown(outputs)}; it must be a list of objects')
    return outputs


def _pages(provenance: object) -> list[str] | Malformed:
    if not isinstance(provenance, list):
        return Malformed(f'"provenance" is {shown(provenance)}; it must be a list of objects')
    pages: dict[str, None] = {}
    for entry in provenance:
        page = entry.get("wikipedia_id") if isinstance(entry, dict) else False
        if page is None:
            continue  # as in KILT's own evaluation
        if isinstance(page, int) and not isinstance(page, bool):
            page = str(page)
        page = page.strip() if isinstance(page, str) else page  # as KILT's own scorer takes both sides
        if not isinstance(page, str) or id_fault(page):
            return Malformed(f"provenance {shown(entry)}: a page id must be a string without white space")
        pages[page] = None
    return list(pages)
