"""Records that belong to a topic: their ids, what they ask, what answers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import filled_lines, is_text, shown
from seal_ir.formats.io.jsonlines import Malformed, as_object, identifier, iter_values, parse_object, sound

ID_KEYS = ("id", "qid", "_id")
TEXT_KEYS = ("question", "title", "text", "input", "query")
ANSWER_KEYS = ("answers", "answer", "golden_answers")  # the last is FlashRAG's
_ANSWER_TEXTS = ("value", "aliases", "text")  # of an object: TriviaQA's answer, SQuAD's answers

JsonRecord = dict[str, object]


def json_records(path: Path) -> Iterator[tuple[int, str, JsonRecord]]:
    """Line numbers, topic ids and objects of a file of JSON lines.

    Where no record has an id, as in Anserini's DPR files, the id is the line number from 0.

    Raises:
        InputError: a line is not a JSON object, its id cannot be used, or only some records have one.
    """
    lines = filled_lines(path)
    return _identified(path, ((number, number - 1, parse_object(line)) for number, line in lines))


def array_records(path: Path) -> Iterator[tuple[int, str, JsonRecord]]:
    """The same of a file that is one JSON array; ids that are not there are positions from 0.

    Raises:
        InputError: as `json_records`, or the file breaks JSON's syntax.
    """
    values = enumerate(iter_values(path))
    return _identified(path, ((line, position, as_object(value)) for position, (line, value) in values))


def _identified(
    path: Path, records: Iterable[tuple[int, int, JsonRecord | Malformed]]
) -> Iterator[tuple[int, str, JsonRecord]]:
    numbered: bool | None = None
    for line, position, record in records:
        known = sound(record, path, line)
        qid = sound(identifier(known, ID_KEYS), path, line)
        if numbered not in (None, qid is None):
            raise InputError(
                f"{path}:{line}: some records have an id and some have none; give all of them one"
            )
        numbered = qid is None
        yield line, str(position) if qid is None else qid, known


def text_of(record: JsonRecord) -> str | Malformed:
    """What a record asks, under the first of `TEXT_KEYS` that it has."""
    name = next((name for name in TEXT_KEYS if name in record), None)
    if name is None:
        keys = ", ".join(record)
        return Malformed(f'no question (its keys: {shown(keys)}); write it under "{TEXT_KEYS[0]}"')
    text = record[name]
    if not isinstance(text, str) or not is_text(text):
        return Malformed(f'"{name}" is {shown(text)}; it must be a string')
    return text


def answers_of(record: JsonRecord) -> list[str] | Malformed:
    """The answers under the first of `ANSWER_KEYS` that the record has, in any letter case.

    They are a list of strings; or an object with `text` (SQuAD's) or `value` and `aliases` (TriviaQA's),
    each a string or a list, or a list of such objects, out of which none comes twice. "answer" may be a
    string.
    """
    found = {name.lower(): name for name in record}
    key = next((name for name in ANSWER_KEYS if name in found), None)
    if key is None:
        return Malformed(f'no "answers" (its keys: {shown(", ".join(record))}); it must be a list of strings')
    value = record[found[key]]
    if isinstance(value, list):
        return _listed(value)
    if isinstance(value, dict):
        return _in_object(value)
    if key == "answer" and isinstance(value, str) and is_text(value) and not value.startswith("["):
        return [value]
    return Malformed(f'"{found[key]}" is {shown(value)}; it must be a list of strings')


def _listed(values: list[object]) -> list[str] | Malformed:
    texts: list[str] = []
    for item in values:
        found = _in_object(item) if isinstance(item, dict) else [item]
        if isinstance(found, Malformed):
            return found
        strings = [text for text in found if isinstance(text, str) and is_text(text)]
        if len(strings) != len(found):
            return Malformed(f"answer {shown(item)} is not a string; put it in quotes")
        texts += strings
    return texts


def _in_object(value: JsonRecord) -> list[str] | Malformed:
    named = {name.lower(): part for name, part in value.items()}
    parts = [named[name] for name in _ANSWER_TEXTS if name in named]
    if not parts:
        known = ", ".join(_ANSWER_TEXTS)
        return Malformed(f"an answer has the keys {shown(', '.join(value))}; its text is read under {known}")
    texts = [text for part in parts for text in (part if isinstance(part, list) else [part])]
    if any(isinstance(text, dict) for text in texts):
        return Malformed(f"answer {shown(value)} holds objects in an object; write a list of strings")
    found = _listed(texts)
    return found if isinstance(found, Malformed) else list(dict.fromkeys(found))
