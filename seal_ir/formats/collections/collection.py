"""A collection of documents read from disk again on every pass, with every record accounted for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.kinds import KINDS, kind_and_source
from seal_ir.formats.collections.passages import TEXT_KEYS, Record
from seal_ir.formats.collections.splitting import splittable
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.formats.io.files import iter_lines, shown
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.formats.io.watched import fraction_read, watched
from seal_ir.records import Document

Duplicates = Literal["error", "first", "last"]
OnMalformed = Literal["error", "skip"]
_USUAL_FIELDS = ("title", "body", *TEXT_KEYS, "id", "_id")  # indexed anyway, or the id
_MAX_FAULTS = 10


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the records of one pass; each is in exactly one of the parts."""

    read: int
    indexed: int
    empty: int = 0
    duplicate: int = 0
    malformed: int = 0
    excluded: int = 0

    @property
    def balanced(self) -> bool:
        """Whether the parts add up to what was read."""
        return self.read == self.indexed + self.empty + self.duplicate + self.malformed + self.excluded

    def __str__(self) -> str:
        return (
            f"read {self.read} = indexed {self.indexed} + empty {self.empty} + duplicate {self.duplicate}"
            f" + malformed {self.malformed} + excluded {self.excluded}"
        )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to do with records that cannot all become documents.

    Attributes:
        duplicates: of several records with one id: refuse them, or take the first or the last.
        malformed: refuse a record that breaks the format, or leave it out and count it.
        include_ids: the only ids to take; None takes all.
        keep_raw: let documents have their records as they were read, where the format is JSON.
        fields: further fields that documents are to have, by their names in JSON records.
        stored: fields of JSON records that are to be stored beside documents.
        will_split: documents are to be split into passages: an id that holds a `#` is malformed.
    """

    duplicates: Duplicates = "error"
    malformed: OnMalformed = "error"
    include_ids: frozenset[str] | None = None
    keep_raw: bool = False
    fields: tuple[str, ...] = ()
    stored: StoredFields = ()
    will_split: bool = False

    def __post_init__(self) -> None:
        for name in self.fields:
            if name in _USUAL_FIELDS or not name.strip():
                usual = ", ".join(_USUAL_FIELDS)
                raise UsageError(f"{shown(name)} is no further field; name others than {usual}")
            if self.fields.count(name) > 1:
                raise UsageError(f"field {shown(name)} is named twice; name each once")
        for name, allowed in (("duplicates", get_args(Duplicates)), ("malformed", get_args(OnMalformed))):
            value = getattr(self, name)
            if value not in allowed:
                raise UsageError(f"{name} is {shown(value)}; choose one of {', '.join(allowed)}")


@dataclass(slots=True)
class _Tally:
    """The running figures of one pass."""

    read: int = 0
    indexed: int = 0
    duplicate: int = 0
    malformed: int = 0
    excluded: int = 0
    empty_ids: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def counts(self) -> Counts:
        return Counts(
            self.read, self.indexed, len(self.empty_ids), self.duplicate, self.malformed, self.excluded
        )


DEFAULTS = ReadOptions()


class Collection:
    """The documents below a path, in the order of the sorted files; each iteration reads them from disk anew.

    For `HFDataset`, `LuceneIndex` and `ir_datasets` the path may be a name; `ir_datasets:NAME` needs none.

    A pass holds the ids it has seen (about 100 bytes a document), never the documents. A record is
    malformed, else excluded, else a duplicate, else empty (all fields are white space), else indexed.

    Attributes:
        kind: name of the format, one of `collection_kinds()`; Pyserini's other names are taken for these.
        paths: the files, sorted; of a dataset, its name.
        note: what to tell the user of files that were left out; "" for nothing.
        empty_ids: ids of the empty documents of the last complete pass.
        faults: the first few malformed records of the last complete pass, as one-line messages.
        missing_ids: how many of `include_ids` the last complete pass did not meet.
    """

    def __init__(self, kind: str, path: Path | None, options: ReadOptions = DEFAULTS) -> None:
        kind, path = kind_and_source(kind, path)
        if options.fields and not KINDS[kind].is_json:
            raise UsageError(f"{kind} has no further fields such as {shown(options.fields[0])}; JSON has")
        if options.stored and not KINDS[kind].is_json:
            raise UsageError(
                f"{kind} has no fields to store such as {shown(options.stored[0].name)}; JSON has"
            )
        self.kind = kind
        self.paths, self.note = KINDS[kind].find(path)
        self._watched = watched(self.paths)
        self.empty_ids: list[str] = []
        self.faults: list[str] = []
        self.missing_ids = 0
        self._options = options
        self._counts: Counts | None = None

    @property
    def counts(self) -> Counts:
        """Counts of the last complete pass.

        Raises:
            ValueError: no pass has come to its end yet.
        """
        if self._counts is None:
            raise ValueError("a collection has counts only after a complete pass over it")
        return self._counts

    def fraction_read(self) -> float | None:
        """How much of its bytes the pass that goes on has read, from 0 to 1; None where that is not known."""
        return fraction_read(self._watched)

    def __iter__(self) -> Iterator[Document]:
        """Documents to index, one at a time.

        Raises:
            InputError: an unreadable file, or a malformed record or a duplicate id that the options refuse.
        """
        tally = _Tally()
        seen: set[str] = set()
        keep = self._last_records() if self._options.duplicates == "last" else {}
        for path, line, record in self._records():
            tally.read += 1
            if isinstance(record, Malformed):
                self._reject(f"{path}:{line}: {record.reason}", tally)
            elif self._excludes(record.id):
                tally.excluded += 1
            elif record.id in seen or keep.get(record.id, tally.read) != tally.read:
                if self._options.duplicates == "error":
                    raise self._duplicate(record.id, path, line)
                tally.duplicate += 1
            else:
                seen.add(record.id)
                if record.text.strip() or record.title.strip() or record.further:
                    tally.indexed += 1
                    yield record
                else:
                    tally.empty_ids.append(record.id)
        self._counts = tally.counts()
        self.empty_ids, self.faults = tally.empty_ids, tally.faults
        self.missing_ids = len((self._options.include_ids or frozenset()) - seen)

    def _records(self) -> Iterator[tuple[Path, int, Record]]:
        kind, options = KINDS[self.kind], self._options
        self._watched = watched(self.paths)
        for path in self._watched:
            asked = {"keep_raw": options.keep_raw, "fields": options.fields, "stored": options.stored}
            for line, record in kind.records(path, **asked):
                yield path, line, splittable(record) if options.will_split else record

    def _excludes(self, docid: str) -> bool:
        return self._options.include_ids is not None and docid not in self._options.include_ids

    def _reject(self, message: str, tally: _Tally) -> None:
        if self._options.malformed == "error":
            raise InputError(f"{message} (or have malformed documents skipped)")
        tally.malformed += 1
        if len(tally.faults) < _MAX_FAULTS:
            tally.faults.append(message)

    def _last_records(self) -> dict[str, int]:
        """Number of the last record, from 1, of each id that more than one record has."""
        seen: set[str] = set()
        last: dict[str, int] = {}
        for number, (_, _, record) in enumerate(self._records(), start=1):
            if isinstance(record, Malformed) or self._excludes(record.id):
                continue
            if record.id in seen:
                last[record.id] = number
            seen.add(record.id)
        return last

    def _duplicate(self, docid: str, path: Path, line: int) -> InputError:
        """The error for a second record with this id; reads the files again to find the first."""
        matches = (
            f"{name}:{at}" for name, at, record in self._records() if getattr(record, "id", None) == docid
        )
        return InputError(
            f"{path}:{line}: duplicate id {shown(docid)}, first at {next(matches, 'an earlier line')};"
            " make ids unique, or choose to keep the first or the last"
        )


def collection_kinds() -> list[str]:
    """Names of the formats that a collection can have."""
    return list(KINDS)


def read_ids(path: Path) -> frozenset[str]:
    """Ids of a plain or compressed file, one a line; blank lines do not count.

    Raises:
        InputError: the file cannot be read, a line holds more than one word, or there is no id.
    """
    ids: set[str] = set()
    for number, line in iter_lines(path):
        words = line.split()
        if len(words) > 1:
            raise InputError(f"{path}:{number}: {len(words)} words (seen {shown(line)}); write one id a line")
        ids.update(words)
    if not ids:
        raise InputError(f"{path}: holds no id; write one id a line")
    return frozenset(ids)
