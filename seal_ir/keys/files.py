"""Key files on disk: written query by query, read from front to back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import AtomicFile, is_file, iter_lines, shown
from seal_ir.formats.io.inputs import READ_SUFFIXES, REFUSED_SUFFIXES
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.formats.io.outputs import is_stream
from seal_ir.keys.record import KeyRecord, from_line, to_line
from seal_ir.records import Query, QueryKeys

NAME = "embeddings.jsonl"  # in a folder; Pyserini's name
_SUFFIX = ".jsonl"


def file_to_write(path: Path) -> Path:
    """The file itself if its name ends in .jsonl or it is no folder, else `embeddings.jsonl` in the folder.

    Raises:
        UsageError: the name promises a compression; keys are written plain.
    """
    packed = path.suffix.lower()
    if packed in READ_SUFFIXES or packed in REFUSED_SUFFIXES:
        raise UsageError(f"{path}: keys are written plain; name it {path.stem} and pack it afterwards")
    return _plain(path)


def file_to_read(path: Path) -> Path:
    """The file itself, or `embeddings.jsonl`, packed or not, in a folder. Need not be there."""
    plain = path if is_file(path) or path.suffix.lower() in READ_SUFFIXES else _plain(path)
    packed = [plain.with_name(plain.name + suffix) for suffix in READ_SUFFIXES]
    return next((name for name in (plain, *packed) if is_file(name)), plain)


def provenance_file(path: Path) -> Path:
    """Where it stands what a key file was made with: `FILE.config.json`, FILE's compression left out."""
    name = path.name
    if path.suffix.lower() in READ_SUFFIXES:
        name = path.stem
    return path.with_name(f"{name}.config.json")


def _plain(path: Path) -> Path:
    try:
        special = is_stream(path) or (path.exists() and not path.is_dir())  # a file of any name, a stream
    except OSError:  # too long a name, or no permission to look: writing and reading say so
        special = True
    return path if special or path.name.lower().endswith(_SUFFIX) else path / NAME


class KeyWriter(AtomicFile):
    """Writes keys query by query; the file appears whole when the `with` block ends without an exception.

    Raises:
        UsageError: the path cannot be written.
    """

    def __init__(self, path: Path, made: str) -> None:
        """Write nothing yet.

        Args:
            path: the file.
            made: fingerprint of what the keys are made with.
        """
        super().__init__(path)
        self._made = made

    def write(self, query: Query, keys: QueryKeys, vector: Mapping[str, float]) -> None:
        """Appends one query; see `to_line`.

        Raises:
            ValueError: the writer is not open, or a number cannot be written.
        """
        self.stream.write(to_line(query, keys, vector, self._made) + "\n")


def iter_records(path: Path, made: str | None = None) -> Iterator[tuple[int, KeyRecord, str]]:
    """Line numbers from 1, records and texts of the lines that are not blank.

    Args:
        path: plain or compressed.
        made: the fingerprint that every line must have; None for any.

    Raises:
        InputError: the file cannot be read, a line is no record or was made with something else, or an id
            comes twice.
    """
    lines: dict[str, int] = {}
    for number, text in iter_lines(path):
        if not text or text.isspace():
            continue
        record = _record(path, number, text)
        qid = record.query.id
        if made is not None and record.made != made:
            raise InputError(
                f"{path}:{number}: made with something else than {provenance_file(path).name} says;"
                " encode again"
            )
        if qid in lines:
            raise InputError(
                f"{path}:{number}: topic {shown(qid)} comes twice, first at {path}:{lines[qid]}; keep one"
            )
        lines[qid] = number
        yield number, record, text


def _record(path: Path, number: int, text: str) -> KeyRecord:
    record = from_line(text)
    if isinstance(record, Malformed):
        raise InputError(f"{path}:{number}: {record.reason}")
    return record


class KeyReader:
    """Records by query, out of a file that is read once, from front to back.

    Lines that come before their turn are kept as text until they are asked for; of a file in the order of the
    topics none is.
    """

    def __init__(self, path: Path, made: str, wanted: Iterable[str]) -> None:
        """Open nothing yet.

        Args:
            path: plain or compressed.
            made: the fingerprint that every line must have.
            wanted: ids of the queries that will be asked for; others are passed over.
        """
        self.path = path
        self._records = iter_records(path, made)
        self._wanted = set(wanted)
        self._early: dict[str, tuple[int, str]] = {}

    def take(self, query: Query) -> tuple[int, KeyRecord]:
        """Line number and record of a query that has not been taken yet.

        Raises:
            InputError: as `iter_records`, or the query is not in the file, or has another text there.
        """
        number, record = self._found(query.id)
        if record.query.text != query.text:
            raise InputError(
                f"{self.path}:{number}: topic {shown(query.id)} was encoded as {shown(record.query.text)} and"
                f" is now {shown(query.text)}; encode the topics again"
            )
        return number, record

    def _found(self, qid: str) -> tuple[int, KeyRecord]:
        if qid in self._early:
            number, text = self._early.pop(qid)
            return number, _record(self.path, number, text)
        for number, record, text in self._records:
            if record.query.id == qid:
                return number, record
            if record.query.id in self._wanted:
                self._early[record.query.id] = (number, text)
        raise InputError(f"{self.path}: no keys for topic {shown(qid)}; encode these topics, all of them")
