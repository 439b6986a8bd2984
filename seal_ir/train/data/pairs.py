"""Questions with their gold passages, from the files that people have."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.io.files import is_text, shown
from seal_ir.formats.io.json_records import JsonRecord, array_records, text_of
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.formats.topics.questions import question_words
from seal_ir.records import Document

SUPERVISED, UNSUPERVISED, DISTANT = "supervised", "unsupervised", "distant"


class Reference(NamedTuple):
    """A question and the id of a passage of the collection that answers it."""

    question: str
    docid: str
    kind: str


class Pair(NamedTuple):
    """A question and a passage that answers it. `kind` is SUPERVISED, or DISTANT where it is a guess.

    `further` holds name and value of the passage's further fields, as in `Document`.
    """

    question: str
    title: str
    text: str
    kind: str
    further: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class PairCounts:
    """What became of the questions and passages of the sources."""

    pairs: int = 0
    repeated: int = 0
    excluded_questions: int = 0
    not_in_collection: int = 0


def read_dpr_pairs(path: Path) -> Iterator[Pair]:
    """Pairs of DPR's training files: a question and its `positive_ctxs`, each with title and text.

    Raises:
        InputError: the file cannot be read, or a record breaks the format.
    """
    for line, _, record in array_records(path):
        question = _usable(path, line, text_of(record))
        contexts = record.get("positive_ctxs")
        if not isinstance(contexts, list):
            raise InputError(f'{path}:{line}: "positive_ctxs" is {shown(contexts)}; it must be a list')
        for context in contexts:
            title, text = _context(path, line, context)
            yield Pair(question, title, text, SUPERVISED)


def resolve(
    references: Iterable[Reference], collection: Collection, counts: PairCounts, fields: Sequence[str] = ()
) -> Iterator[Pair]:
    """Pairs of the references whose passages the collection has; the others are counted.

    Args:
        references: questions and ids.
        collection: the passages.
        counts: gets the number of references without a passage.
        fields: further fields that passages are to have.

    Raises:
        InputError: the collection cannot be read, or has none of the passages.
    """
    listed = list(references)
    wanted = frozenset(reference.docid for reference in listed)
    documents, faults = _documents(collection, wanted, fields)
    if wanted and not documents:
        raise InputError(
            f"{collection.paths[0]}: has none of the {len(wanted)} positive passages, such as"
            f" {shown(listed[0].docid)}; name the collection that the pairs were made for"
            + (f", or mend {faults[0]}" if faults else "")
        )
    for question, docid, kind in listed:
        document = documents.get(docid)
        if document is None:
            counts.not_in_collection += 1
        else:
            yield Pair(question, document.title, document.text, kind, document.further)


def _digest(question: str, pair: Pair) -> bytes:
    """Stands for a question and its passage; Python's own hashes differ from process to process."""
    parts = repr((question, pair.title, pair.text, pair.further))
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def distinct(pairs: Iterable[Pair], excluded: frozenset[str], counts: PairCounts) -> Iterator[Pair]:
    """Each question and passage once, without the questions whose `question_words` form is excluded."""
    seen: set[bytes] = set()
    left_out: set[str] = set()
    for pair in pairs:
        question = question_words(pair.question)
        key = _digest(question, pair)
        if question in excluded:
            left_out.add(question)
            counts.excluded_questions = len(left_out)
        elif key in seen or not question:
            counts.repeated += 1
        else:
            seen.add(key)
            counts.pairs += 1
            yield pair


def _documents(
    collection: Collection, wanted: frozenset[str], fields: Sequence[str]
) -> tuple[dict[str, Document], list[str]]:
    """The wanted documents by their ids, and the first of the records that cannot be read."""
    options = ReadOptions(malformed="skip", duplicates="first", include_ids=wanted, fields=tuple(fields))
    found: dict[str, Document] = {}
    faults: list[str] = []
    for file in collection.paths:
        part = Collection(collection.kind, file, options)
        found.update((document.id, document) for document in part)
        faults += part.faults
    return found, faults


def _usable(path: Path, line: int, text: str | Malformed) -> str:
    if isinstance(text, Malformed):
        raise InputError(f"{path}:{line}: {text.reason}")
    return text.strip()


def _context(path: Path, line: int, context: object) -> tuple[str, str]:
    values: JsonRecord = context if isinstance(context, dict) else {}
    title, text = values.get("title") or "", values.get("text")
    if not isinstance(title, str) or not isinstance(text, str) or not is_text(title + text):
        raise InputError(
            f'{path}:{line}: positive context {shown(context)}; it needs "title" and "text" strings'
        )
    return title.strip(), text
