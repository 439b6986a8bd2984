"""One record of a collection file -> a Document, or why not: the rules for ids, titles and texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from seal_ir.formats.collections.stored import StoredFields, stored_values
from seal_ir.formats.io.dpr_csv import quoted_rows
from seal_ir.formats.io.files import filled_lines, first_line, id_fault, is_text, iter_lines, shown
from seal_ir.formats.io.inputs import KeptPipe, rereadable
from seal_ir.formats.io.jsonlines import (
    Malformed,
    as_object,
    first_mark,
    identifier,
    iter_texts,
    parse_object,
)
from seal_ir.records import Document

Record = Document | Malformed
ID_KEYS = ("id", "_id", "docid")
TEXT_KEYS = ("contents", "text")
_LONGEST_HEADING = 100  # characters
_SENTENCE_ENDS = (*".!?…", "。", "．", "！", "？", "।", "؟", "۔")  # noqa: RUF001
_MARKS = (*_SENTENCE_ENDS, *",;:", "，", "、", "；", "：")  # noqa: RUF001
_CLOSING = "\"')]}»”’"  # noqa: RUF001
_DPR_COLUMNS = ["id", "text", "title"]
_HEADERS = ({"id", "title", "text"}, {"id", "text"}, {"id", "contents"})


def read_json(
    path: Path, *, keep_raw: bool = False, fields: Sequence[str] = (), stored: StoredFields = ()
) -> Iterator[tuple[int, Record]]:
    """Line numbers and records of one JSON file: objects one a line, an array, or objects over several lines.

    A file is read by lines, so that a broken line can be told from its neighbours, unless it begins with
    `[`, or is named .json and its first line is not a whole object.

    Args:
        path: the file.
        keep_raw: let documents have the text of their objects, byte for byte, as `raw`.
        fields: see `json_document`.
        stored: see `json_document`.
    """
    path = rereadable(path)
    mark = first_mark(path)
    if mark == "[" or (mark == "{" and _is_dot_json(path) and not _has_whole_line(path)):
        for number, value, text in iter_texts(path):
            yield (
                number,
                _with_raw(json_document(as_object(value), fields, stored), text if keep_raw else None),
            )
        return
    for number, line in filled_lines(path):
        record = parse_object(line) if line.lstrip()[0] in "{[" else _no_json(line)
        yield number, _with_raw(json_document(record, fields, stored), line if keep_raw else None)


def _no_json(line: str) -> Malformed:
    """Why a line that begins no object is malformed; a table is told to be one."""
    table = "add --collection TsvCollection, or DprTsvCollection for DPR's own" if "\t" in line else ""
    return Malformed(f"not JSON, seen {shown(line)}; {table or 'write one JSON object a line'}")


def _with_raw(record: Record, raw: str | None) -> Record:
    return record._replace(raw=raw) if raw is not None and isinstance(record, Document) else record


def _is_dot_json(path: Path) -> bool:
    """Whether the name ends in .json or a compressed form of it, or is a pipe's, which says nothing."""
    return ".json" in {suffix.lower() for suffix in path.suffixes[-2:]} or isinstance(path, KeptPipe)


def _has_whole_line(path: Path) -> bool:
    """Whether the first line with text on it is a JSON object of its own."""
    return isinstance(parse_object(first_line(path)), dict)


def json_document(
    record: dict[str, object] | Malformed, fields: Sequence[str] = (), stored: StoredFields = ()
) -> Record:
    """The document of Pyserini's `{"id", "contents"}`, with `title` or not, or BEIR's `_id, title, text`.

    The id may be under `id`, `_id` or `docid` (Tevatron's); the text is `contents`, or else `text`.

    The title is the field `title`, which is then taken off the front of `contents`, bare or in double
    quotes; without the field, a first line of `contents` that is a heading (`split_contents`); else "".

    Args:
        record: the object.
        fields: names that the document's further fields are under, a string or a list of strings each.
            Values of white space, and fields that are absent or null, are left out. `docid` among them is a
            field like others, and no id.
        stored: fields to store beside the document.
    """
    if isinstance(record, Malformed):
        return record
    docid = identifier(record, tuple(name for name in ID_KEYS if name not in fields))
    if docid is None:
        return Malformed(f'no "id" ({_keys(record)}); every document needs one')
    if isinstance(docid, Malformed):
        return docid
    name = "text" if "text" in record and "contents" not in record else "contents"
    contents, title = record.get(name), record.get("title")
    if not isinstance(contents, str):
        seen = f'"{name}" is {shown(contents)}' if name in record else f'no "contents" ({_keys(record)})'
        return Malformed(f"{seen}; it must be a string")
    if not isinstance(title, str | None):
        return Malformed(f'"title" is {shown(title)}; it must be a string')
    if not is_text(contents) or not is_text(title or ""):
        return Malformed("the text has half a surrogate pair; mend the \\u escape")
    further = _further(record, fields)
    if isinstance(further, Malformed):
        return further
    values = stored_values(record, stored)
    if isinstance(values, Malformed):
        return values
    title, text = (title or "", contents) if name == "text" else split_contents(contents, title)
    return Document(docid, title, text, further=further, stored=values)


def _further(record: dict[str, object], fields: Sequence[str]) -> tuple[tuple[str, str], ...] | Malformed:
    found = []
    for name in fields:
        value = record.get(name)
        for text in value if isinstance(value, list) else [] if value is None else [value]:
            if not isinstance(text, str):
                return Malformed(f'"{name}" is {shown(value)}; it must be a string or a list of strings')
            if not is_text(text):
                return Malformed(f'"{name}" has half a surrogate pair; mend the \\u escape')
            if text.strip():
                found.append((name, text.strip()))
    return tuple(found)


def split_contents(contents: str, title: str | None) -> tuple[str, str]:
    """Title and text of Pyserini's `contents`; `title` is the record's own field, None when it has none.

    Without the field a first line is the title if it is wholly in double quotes (DPR's form), or if it stands
    over the text as a heading does: at most 100 characters, no mark at its end, shorter than the line below,
    which begins with no small letter; and the text ends as a sentence does. Lists and lines that were broken
    at a width are none of that. Title, line feed and text are the contents again, but for the quotes.
    """
    if title is not None:
        for line in (f"{title}\n", f'"{title}"\n'):
            if contents.startswith(line):
                return title, contents[len(line) :]
        return title, contents
    line, newline, text = contents.partition("\n")
    if newline and len(line) > 2 and line[0] == line[-1] == '"':
        return line[1:-1], text
    return (line, text) if newline and _is_heading(line, text) else ("", contents)


def _is_heading(line: str, text: str) -> bool:
    """Whether a line stands over a text as its title."""
    below = text.partition("\n")[0]
    plain = line == line.strip() and 0 < len(line) <= _LONGEST_HEADING and line[-1] not in _MARKS
    ended = text.rstrip().rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS
    return plain and len(line) < len(below) and not below[0].islower() and not below[0].isspace() and ended


def read_tsv(path: Path) -> Iterator[tuple[int, Record]]:
    """Line numbers and records of one file of `id, title, text` or `id, text`, one of the two throughout.

    There is no quoting and no escape: a quote is a quote, and a backslash before an n stays that.
    """
    width = first = 0
    for number, line in iter_lines(path):
        if not line.strip(" "):
            continue
        cells = line.split("\t")
        if not width and {cell.strip().lower() for cell in cells} in _HEADERS:
            yield (
                number,
                Malformed(
                    f"is a header ({shown(line)}); remove it, the columns are id, title, text"
                    " (DPR's own files are a DprTsvCollection)"
                ),
            )
        elif width and len(cells) != width:
            what = "remove surplus tabs" if len(cells) > width else "fill in what is missing"
            yield (
                number,
                Malformed(f"{len(cells)} columns, line {first} has {width}; {what}{_json_hint(line)}"),
            )
        elif len(cells) not in (2, 3):
            yield (
                number,
                Malformed(
                    f"{len(cells)} columns ({shown(line)}); write id, title, text or id, text"
                    + _json_hint(line)
                ),
            )
        else:
            width, first = len(cells), first or number
            fault = id_fault(cells[0])
            title = cells[1] if width == 3 else ""
            yield number, Malformed(f"the id {fault}") if fault else Document(cells[0], title, cells[-1])


def read_dpr_tsv(path: Path) -> Iterator[tuple[int, Record]]:
    """Line numbers and records of one file like DPR's psgs_w100: id, text and title, with csv quoting.

    A first row with these three names, in any order, says which column is which; it is no record.
    """
    columns = _DPR_COLUMNS
    at_start = True
    for number, cells in quoted_rows(path):
        if at_start and isinstance(cells, list) and sorted(map(_name, cells)) == sorted(_DPR_COLUMNS):
            columns = list(map(_name, cells))
        elif isinstance(cells, Malformed):
            yield number, cells
        elif len(cells) != len(columns):
            seen = shown("\t".join(cells))
            hint = _json_hint(cells[0])
            yield number, Malformed(f"{len(cells)} columns ({seen}); write id, text, title{hint}")
        else:
            values = dict(zip(columns, cells, strict=True))
            fault = id_fault(values["id"])
            document = Document(values["id"], values["title"], values["text"])
            yield number, Malformed(f"the id {fault}") if fault else document
        at_start = False


def _json_hint(line: str) -> str:
    return ", or give --collection JsonCollection" if line.lstrip().startswith("{") else ""


def _name(cell: str) -> str:
    return cell.strip().lower()


def _keys(record: dict[str, object]) -> str:
    return "its keys: " + (shown(", ".join(record)) if record else "none")
