"""Examples of Natural Questions, original or simplified: a question and the Wikipedia page it is about."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from seal_ir.formats.io.files import filled_lines, id_fault, is_text, shown
from seal_ir.formats.io.folders import find_documents
from seal_ir.formats.io.json_records import JsonRecord
from seal_ir.formats.io.jsonlines import Malformed, identifier, parse_object, sound

_TAG = re.compile(r"</?(?:H[1-6]|P|Table|Tr|Td|Th|Ul|Ol|Li|Dl|Dd|Dt)(?:_.*)?/?>")  # blanks in tags are `_`


@dataclass(frozen=True, slots=True)
class NqExample:
    """One example.

    Attributes:
        line: its line in the file.
        qid: its id.
        question: without line breaks.
        page: the page's name in its address, by which pages are told apart.
        docid: number of the page's revision, `oldid` in the address; without one the name, blanks as `_`.
        title: of the page.
        has_long_answer: whether an annotator marked one.
        record: as it was read; `page_text` makes the text of it.
    """

    line: int
    qid: str
    question: str
    page: str
    docid: str
    title: str
    has_long_answer: bool
    record: JsonRecord


def read_examples(path: Path) -> Iterator[NqExample]:
    """The examples of one file of JSON lines, one in memory at a time.

    Raises:
        InputError: the file cannot be read, or a line is not an example.
    """
    for number, line in filled_lines(path):
        record = parse_object(line)
        yield sound(record if isinstance(record, Malformed) else _example(number, record), path, number)


def example_files(path: Path) -> list[Path]:
    """The file itself, or the files of JSON lines below a folder, by name.

    Raises:
        InputError: there is none.
    """
    return find_documents(path, (".jsonl",)).paths


def page_text(path: Path, example: NqExample) -> str:
    """The page's tokens with a blank between them, those that are HTML left out.

    Raises:
        InputError: the example has neither `document_tokens` nor `document_text`, or they are something else.
    """
    tokens = sound(_tokens(example.record), path, example.line)
    return " ".join(" ".join(tokens).split())


def _example(number: int, record: JsonRecord) -> NqExample | Malformed:
    qid = identifier(record, ("example_id",))
    if qid is None or isinstance(qid, Malformed):
        return qid or Malformed('no "example_id"; is this a file of Natural Questions?')
    texts = {name: record.get(name) for name in ("question_text", "document_url")}
    for name, text in texts.items():
        if not isinstance(text, str) or not is_text(text):
            return Malformed(f'"{name}" is {shown(text)}; it must be a string')
    page, revision = _address(str(texts["document_url"]))
    docid = revision or page.replace(" ", "_")
    if not page or id_fault(docid):
        return Malformed(f'"document_url" is {shown(texts["document_url"])}; it names no page')
    title = record.get("document_title", page)  # simplified examples have none
    if not isinstance(title, str) or not is_text(title):
        return Malformed(f'"document_title" is {shown(title)}; it must be a string')
    answered = _has_long_answer(record.get("annotations"))
    if isinstance(answered, Malformed):
        return answered
    question = " ".join(str(texts["question_text"]).split())
    return NqExample(number, qid, question, page, docid, " ".join(title.split()), answered, record)


def _address(url: str) -> tuple[str, str]:
    """Name and revision of the page at an address such as `...index.php?title=Mont_Blanc&amp;oldid=12`."""
    try:
        parts = urlsplit(html.unescape(url))
    except ValueError:  # no address: without a page, which is told of
        return "", ""
    query = parse_qs(parts.query)
    name = query["title"][0] if "title" in query else unquote(parts.path).rpartition("/")[2]
    return " ".join(name.replace("_", " ").split()), query.get("oldid", [""])[0]


def _has_long_answer(annotations: object) -> bool | Malformed:
    """Whether one of the annotators marked a long answer; a missing one has -1 for its start."""
    if annotations is None:
        return False  # as in test sets
    if not isinstance(annotations, list):
        return Malformed(f'"annotations" is {shown(annotations)}; it must be a list')
    starts = []
    for annotation in annotations:
        answer = annotation.get("long_answer") if isinstance(annotation, dict) else None
        start = answer.get("start_token") if isinstance(answer, dict) else None
        if not isinstance(start, int):
            return Malformed(f"annotation {shown(annotation)}: no long_answer with a start_token")
        starts.append(start)
    return any(start >= 0 for start in starts)


def _tokens(record: JsonRecord) -> list[str] | Malformed:
    text, tokens = record.get("document_text"), record.get("document_tokens")
    if tokens is None and isinstance(text, str):
        words = [word for word in text.split(" ") if not _TAG.fullmatch(word)]
    elif isinstance(tokens, list):
        words = []
        for token in tokens:
            word = token.get("token") if isinstance(token, dict) else None
            if not isinstance(word, str):
                return Malformed(f'"document_tokens" has {shown(token)}; a token is an object with "token"')
            if not token.get("html_token"):
                words.append(word)
    else:
        return Malformed('no "document_tokens" and no "document_text"; the page has no text')
    odd = next((word for word in words if not is_text(word)), None)
    return words if odd is None else Malformed(f"token {shown(odd)} has half a surrogate pair; mend it")
