"""KILT's files of TriviaQA, which lack the questions, with those of TriviaQA's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError
from seal_ir.formats.io.files import atomic_writer, is_text, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.io.json_records import json_records
from seal_ir.formats.io.jsonlines import first_mark, iter_values
from seal_ir.formats.topics.reading import read_topics
from seal_ir.structured import json_line

_ENTRIES = "Data"  # the entries of a file of TriviaQA


def write_questions(gold: Path, questions: Path, output: Path) -> int:
    """Writes the datapoints with their questions as inputs; returns how many got one, all else stays.

    Args:
        gold: KILT's datapoints; those that have an input keep it.
        questions: TriviaQA's `{"Data": [{"QuestionId", "Question"}, ...]}`, or topics of any format.
        output: what to write.

    Raises:
        InputError: a file cannot be read or breaks its format, or a datapoint's question is not there.
        UsageError: the output cannot be written.
    """
    asked = _questions(rereadable(questions))
    count = 0
    with atomic_writer(output) as file:
        for number, qid, record in json_records(gold):
            if record.get("input") is None:
                if qid not in asked:
                    raise InputError(
                        f"{gold}:{number}: topic {shown(qid)} has no input, {questions} no question for it"
                        f" (its ids are like {shown(next(iter(asked), ''))}); give the file of the same split"
                    )
                record = {"id": record.get("id"), "input": asked[qid], **_without(record, "id", "input")}
                count += 1
            file.write(f"{json_line(record)}\n")
    return count


def _questions(path: Path) -> Mapping[str, str]:
    """Questions by id; a file of TriviaQA's is in memory whole while it is read."""
    value = next((value for _, value in iter_values(path)), None) if first_mark(path) == "{" else None
    if not isinstance(value, dict) or _ENTRIES not in value:
        return {query.id: query.text for query in read_topics(path)}
    entries = value[_ENTRIES]
    found: dict[str, str] = {}
    for entry in entries if isinstance(entries, list) else [entries]:
        qid, question = (
            (entry.get("QuestionId"), entry.get("Question")) if isinstance(entry, dict) else (0, 0)
        )
        if not isinstance(qid, str) or not isinstance(question, str) or not is_text(question):
            raise InputError(
                f'{path}: "Data" holds {shown(entry)}; it needs strings "QuestionId" and "Question"'
            )
        found[qid] = question
    return found


def _without(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}
