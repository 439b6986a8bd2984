"""Topics in TREC's SGML, `<top> <num> <title> ... </top>`, and CACM's `<DOC> <DOCNO> text </DOC>`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import id_fault, iter_lines, shown

_OPEN = re.compile(r"\s*<(top|doc)(?:\s[^>]*)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</(top|doc)>", re.IGNORECASE)
_ID = re.compile(r"<(?:num|docno)>\s*(?:Number\s*:)?([^<]*)(?:</(?:num|docno)>)?", re.IGNORECASE)
_TITLE = re.compile(r"<title>\s*(?:Topic\s*:)?([^<]*)", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#[0-9]+|#[xX][0-9a-fA-F]+);")


def looks_like_sgml(line: str) -> bool:
    """Whether a line begins a file of such topics, or an XML file."""
    return bool(_OPEN.match(line)) or line.lstrip().lower().startswith(("<?xml", "<xml", "<!--"))


def read_sgml(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line numbers, ids and titles of the topics; a title of several lines is joined by single blanks.

    Of `<num> Number: 301` the id is `301`; nothing else of it is changed. Description and narrative are
    passed over. In CACM's form all of the text is the title.

    Raises:
        InputError: the file cannot be read, or a topic is not closed, has no id, or has no title.
    """
    start, lines = 0, list[str]()
    for number, line in iter_lines(path):
        opens = _OPEN.match(line)
        if opens and start:
            raise InputError(f"{path}:{start}: the topic is not closed before line {number}; add </top>")
        if opens:
            start = number
        if start:
            lines.append(line)
            if _CLOSE.search(line):
                yield start, *_topic(f"{path}:{start}", "\n".join(lines))
                start, lines = 0, []
    if start:
        raise InputError(f"{path}:{start}: the topic is not closed before the file's end; add </top>")


def _topic(place: str, text: str) -> tuple[str, str]:
    """Id and title of one topic."""
    found = _ID.search(text)
    if found is None:
        raise InputError(f"{place}: the topic has no <num> (seen {shown(text)}); every topic needs one")
    qid = found[1].strip()
    fault = id_fault(qid)
    if fault:
        raise InputError(f"{place}: the topic id {fault}")
    title = _TITLE.search(text)
    if title is None and text.lstrip()[:4].lower() == "<top":
        raise InputError(f"{place}: topic {shown(qid)} has no <title>; it is what is searched")
    body = title[1] if title else text[found.end() :].partition("</")[0]
    return qid, " ".join(_ENTITY.sub(lambda entity: html.unescape(entity[0]), body).split())
