"""One passage of another system's run: its id, score, title and text, under whatever names they stand."""

from __future__ import annotations

import math
from hashlib import sha256
from typing import NamedTuple

from seal_ir.formats.io.files import is_text, shown
from seal_ir.formats.io.json_records import JsonRecord
from seal_ir.formats.io.jsonlines import Malformed, as_object, identifier

_IDS = ("docid", "id", "document_id", "id_", "passage_id", "doc_id", "pid")
_TEXTS = ("text", "page_content", "contents", "content")
_METADATA = ("metadata", "document_metadata")


class Context(NamedTuple):
    """A passage.

    Attributes:
        docid: its id; where it has none, as in Fusion-in-Decoder's files, one made of its text.
        score: None where it has none.
        title: "" for none.
        text: without the title; None where the file has no text.
    """

    docid: str
    score: float | None
    title: str
    text: str | None


def context_of(value: object) -> Context | Malformed:
    """The passage that a JSON value is."""
    record = as_object(value)
    if isinstance(record, Malformed):
        return record
    parts = _parts(record)
    docid = next((found for part in parts if (found := identifier(part, _IDS)) is not None), None)
    if isinstance(docid, Malformed):
        return docid
    score = _score(next((part["score"] for part in parts if "score" in part), None))
    if isinstance(score, Malformed):
        return score
    named = [(name, text) for part in parts for name in _TEXTS if isinstance(text := part.get(name), str)]
    if not named and docid is not None:
        return Context(docid, score, "", None)
    if not named:
        keys = shown(", ".join(record))
        return Malformed(f'a passage has neither id nor text (its keys: {keys}); write them as "id", "text"')
    titles = (title for part in parts if isinstance(title := part.get("title"), str))
    title, text = _split(*named[0], next(titles, None))
    if not is_text(title) or not is_text(text):
        return Malformed("a passage has half a surrogate pair; mend the \\u escape")
    return Context(docid or _named(title, text), score, title, text)


def _named(title: str, text: str) -> str:
    """An id for a passage without one: equal for equal passages, and no collection's own."""
    contents = f"{title}\n{text}"
    return f"text-{sha256(contents.encode()).hexdigest()[:16]}"


def _parts(record: JsonRecord) -> list[JsonRecord]:
    """Where a passage's values may stand, the first that has one counts: itself, its node, their metadata."""
    own = [part for part in (record, record.get("node")) if isinstance(part, dict)]
    metadata = [part.get(name) for part in own for name in _METADATA]
    parts = [*own, *(part for part in metadata if isinstance(part, dict))]
    return [{name: value for name, value in part.items() if value is not None} for part in parts]


def _score(value: object) -> float | None | Malformed:
    """A number, or one in a string, as DPR writes them."""
    if value is None:
        return None
    try:
        score = float(value) if isinstance(value, int | float | str) else math.nan
    except (ValueError, OverflowError):
        score = math.nan
    if isinstance(value, bool) or not math.isfinite(score):
        return Malformed(f'"score" is {shown(value)}; it must be a finite number')
    return score


def _split(name: str, text: str, title: str | None) -> tuple[str, str]:
    r"""Title and text; where only `title + "\n" + text` is there, as in "contents", it is cut."""
    if title is not None:
        is_before = name == "contents" or (name == "content" and title)
        begins = is_before and text.startswith(f"{title}\n")
        return title, text[len(title) + 1 :] if begins else text
    head, mark, rest = text.partition("\n")
    is_quoted = len(head) > 1 and head[0] == head[-1] == '"'  # DPR's form, which Pyserini keeps as "text"
    if mark and (name == "contents" or is_quoted):
        return head[1:-1] if is_quoted else head, rest
    return "", text
