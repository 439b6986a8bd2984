"""`index.json`: what an index directory holds. Written last, replaced atomically, checked when opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any

from seal_ir.errors import IndexDirError
from seal_ir.formats.collections.splitting import POSITIONS
from seal_ir.formats.collections.stored import STORED_TYPES, StoredField, StoredFields
from seal_ir.formats.io.files import shown
from seal_ir.index.directory import REBUILD, damaged, why_absent
from seal_ir.records import BODY, TITLE
from seal_ir.structured import exact_json, json_file
from seal_ir.text.symbols import MAX_FURTHER

MANIFEST = "index.json"
RAW_FILE, TOKENS_FILE = "raw.arrow", "tokens.bin"
SPLIT = "split"  # in `collection`
OLDEST_FORMAT, NEWEST_FORMAT = 1, 5
_FIRST_WITH_FURTHER, _FIRST_WITH_LIBRARY = 3, 2  # formats
FIELDS = (TITLE, BODY)
# What an engine's module is linked with, as far as its terms bind who passes the module on.
LIBRARIES = {"native": "", "sdsl": "sdsl-lite 2.1.1, GPL-3.0-or-later"}
Files = dict[str, dict[str, Any]]  # size and sha256, by path below the index directory
_PARALLEL_BYTES = 64 << 20  # to hash, from which on several threads are worth starting
_MOST_THREADS = 4
_MOST_DIGITS = 100  # of an integer


@dataclass(frozen=True, slots=True)
class Deletions:
    """The deleted documents of a segment: the file of their numbers, how many they are, and their tokens."""

    file: str
    n_documents: int
    n_tokens: int


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment: its folder, the engine that reads it, and how that stores positions (`EngineSpec`).

    `n_documents` and `n_tokens` are those of its files; documents that are not deleted are live.
    """

    name: str
    engine: str
    layout: str
    n_documents: int
    n_tokens: int
    deleted: Deletions | None = None

    @property
    def n_live(self) -> int:
        """Documents that are not deleted."""
        return self.n_documents - (self.deleted.n_documents if self.deleted else 0)

    @property
    def n_live_tokens(self) -> int:
        """Tokens of the live documents."""
        return self.n_tokens - (self.deleted.n_tokens if self.deleted else 0)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of `index.json`.

    Attributes:
        model: name of the model whose tokenizer was used.
        tokenizer: fingerprint of that tokenizer.
        fields: the document's fields in stream order.
        library: name, version and licence of the library that the engine is linked with; "" for our own.
        segments: in document order.
        files: size and sha256 of every other file, by path below the index directory.
        collection: what was read: kind, the counts of the reader, and how documents were split.
        stored: names of the fields that are stored beside documents, and their types.
        version: of the format that it was read from.
        unknown: keys in it that this program does not know, of a newer one; they are passed over.
    """

    model: str
    tokenizer: str
    fields: tuple[str, ...]
    library: str
    segments: tuple[SegmentInfo, ...]
    files: Mapping[str, Mapping[str, Any]]
    collection: Mapping[str, Any]
    stored: Mapping[str, str] = field(default_factory=dict)
    version: int = field(default=NEWEST_FORMAT, compare=False)
    unknown: tuple[str, ...] = field(default=(), compare=False)

    @property
    def n_documents(self) -> int:
        """Live documents of all segments."""
        return sum(segment.n_live for segment in self.segments)

    @property
    def n_tokens(self) -> int:
        """N of the weights: lengths of all live streams, each with its one leading BOUNDARY."""
        return sum(segment.n_live_tokens for segment in self.segments)

    @property
    def n_bytes(self) -> int:
        """Bytes on disk, the manifest excepted."""
        return sum(int(entry["size"]) for entry in self.files.values())

    @property
    def further_fields(self) -> tuple[str, ...]:
        """The fields beside title and body, in the order of their symbols."""
        return self.fields[len(FIELDS) :]

    @property
    def has_raw(self) -> bool:
        """Whether the records are kept as they were read."""
        return self._all_have(RAW_FILE)

    @property
    def has_stores(self) -> bool:
        """Whether the segments have token stores; they came with format 5, and the layout decides."""
        return self._all_have(TOKENS_FILE)

    @property
    def stored_fields(self) -> StoredFields:
        """The fields that are stored beside documents, in their order."""
        return tuple(StoredField(name, kind) for name, kind in self.stored.items())

    @property
    def split(self) -> str | None:
        """How documents were cut into passages when it was built, as `Split.parse` reads it, or None."""
        return self.collection.get(SPLIT)

    @property
    def record_fields(self) -> StoredFields:
        """The stored fields that records have: all but the places of passages."""
        return tuple(f for f in self.stored_fields if self.split is None or f not in POSITIONS)

    @property
    def tokenizer_file(self) -> str:
        """The tokenizer's name among `files`."""
        name = tokenizer_name(self.tokenizer)
        return name if name in self.files else "tokenizer.json"  # formats before 4

    def _all_have(self, name: str) -> bool:
        return all(f"{segment.name}/{name}" in self.files for segment in self.segments)

    def to_json(self) -> str:
        """The text of `index.json`."""
        known = asdict(self)
        del known["version"], known["unknown"]
        if not self.stored:
            del known["stored"]
        for segment in known["segments"]:
            if segment["deleted"] is None:
                del segment["deleted"]
        values = {
            "format": max(self.version, _FIRST_WITH_LIBRARY),
            **known,
            "n_documents": self.n_documents,
            "n_tokens": self.n_tokens,
        }
        values["checksum"] = manifest_checksum(values)
        return json_file(values)


def tokenizer_name(fingerprint: str) -> str:
    """The name of a tokenizer's file: two tokenizers never share one."""
    return f"tokenizer.{fingerprint[:8]}.json"


def read_manifest(directory: Path) -> Manifest:
    """The manifest of an index directory, its format version checked.

    Raises:
        IndexDirError: no index, not readable, or of another format; says what to do.
    """
    path = directory / MANIFEST
    try:
        values = json.loads(path.read_bytes().decode("utf-8"), parse_int=_integer)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise IndexDirError(why_absent(directory)) from error
    except OSError as error:
        raise IndexDirError(f"{path}: cannot be read ({error.strerror}); check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    if not isinstance(values, dict):
        raise damaged(path, "it is no JSON object")
    version = _known_format(path, values)
    try:
        if values.pop("checksum") != manifest_checksum(values):
            raise ValueError("its checksum differs")
        del values["format"]
        return _parsed(_from_1(values) if version < _FIRST_WITH_LIBRARY else values, version)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise damaged(path, f"no {error}" if isinstance(error, KeyError) else error) from error


def _known_format(path: Path, values: Mapping[str, Any]) -> int:
    """The format's version, if this program reads it."""
    if "format" not in values:
        raise damaged(path, "it names no format")
    version = values["format"]
    if type(version) is not int:
        told, advice = f"{shown(version)} is no whole number", REBUILD
    elif version > NEWEST_FORMAT:
        told, advice = shown(version), f"update this program, or {REBUILD}"
    elif version < OLDEST_FORMAT:
        told, advice = shown(version), REBUILD
    else:
        return version
    raise IndexDirError(
        f"{path}: index format {told}, this program reads {OLDEST_FORMAT} to {NEWEST_FORMAT}; {advice}"
    )


def _parsed(values: dict[str, Any], version: int) -> Manifest:
    """The manifest of the values of a format of 2 or more; raises what says that they are none."""
    totals = values.pop("n_documents"), values.pop("n_tokens")
    segments, files = values["segments"], values["files"]
    unknown = [
        *_unknown(values, _names(Manifest) - {"version", "unknown"}),
        *(f"segments.{name}" for part in segments for name in _unknown(part, _names(SegmentInfo))),
        *(f"segments.deleted.{name}" for part in segments for name in _unknown_deleted(part)),
        *(f"files.{name}" for entry in files.values() for name in _unknown(entry, ("size", "sha256"))),
    ]
    known = {
        "segments": tuple(_segment(part) for part in segments),
        "files": {name: _only(entry, ("size", "sha256")) for name, entry in files.items()},
        "fields": tuple(values["fields"]),
        "version": version,
        "unknown": tuple(dict.fromkeys(unknown)),
    }
    manifest = Manifest(**_only(values, _names(Manifest)) | known)
    most = MAX_FURTHER if version >= _FIRST_WITH_FURTHER else 0
    if manifest.fields[: len(FIELDS)] != FIELDS or len(manifest.further_fields) > most:
        raise ValueError(f"its fields are {manifest.fields}")
    if unknown_types := set(manifest.stored.values()) - set(STORED_TYPES):
        raise ValueError(f"it stores a field as {shown(unknown_types.pop())}")
    if totals != (manifest.n_documents, manifest.n_tokens):
        raise ValueError("totals are not the sum of the segments")
    _ = [(int(entry["size"]), str(entry["sha256"])) for entry in files.values()]
    if astray := [part.name for part in manifest.segments if not _is_sound(part, files)]:
        raise ValueError(f"what it says of the deletions of {astray[0]} makes no sense")
    if odd := [name for name in files if not _is_below(name)]:
        raise ValueError(f"it names {shown(odd[0])}, which is not below the directory")
    return manifest


def _integer(digits: str) -> int:
    """Python refuses to read integers of thousands of digits; the first hundred do for telling of one."""
    return int(digits[:_MOST_DIGITS])


def _segment(part: Mapping[str, Any]) -> SegmentInfo:
    known = _only(part, _names(SegmentInfo))
    if known.get("deleted") is not None:
        known["deleted"] = Deletions(**_only(known["deleted"], _names(Deletions)))
    return SegmentInfo(**known)


def _unknown_deleted(part: Mapping[str, Any]) -> list[str]:
    return _unknown(part.get("deleted") or {}, _names(Deletions))


def _is_sound(part: SegmentInfo, files: Collection[str]) -> bool:
    """Whether a segment's deletions, if there are any, are of some documents and in a file."""
    if part.deleted is None:
        return True
    some = 0 < part.deleted.n_documents <= part.n_documents and 0 < part.deleted.n_tokens <= part.n_tokens
    return some and part.deleted.file in files


def _names(kind: type[Manifest] | type[SegmentInfo] | type[Deletions]) -> set[str]:
    return {entry.name for entry in fields(kind)}


def _unknown(values: Mapping[str, Any], known: Collection[str]) -> list[str]:
    return [name for name in values if name not in known]


def _only(values: Mapping[str, Any], known: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in known}


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\0" not in name


def _from_1(values: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had the sdsl engine only: segments named no layout, and the manifest no library."""
    segments = [{"layout": "default", **segment} for segment in values["segments"]]
    return values | {"segments": segments, "library": LIBRARIES["sdsl"]}


def describe_files(directory: Path) -> Files:
    """Size and sha256 of every file below a directory, the manifest excepted."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {
        path.relative_to(directory).as_posix(): {"size": path.stat().st_size, "sha256": _sha256(path)}
        for path in paths
    }


def check_files(directory: Path, manifest: Manifest, hashed: Iterable[str]) -> None:
    """Compare every file with the manifest: presence, size, and the checksums of those in `hashed`.

    Takes half a second a GiB where the processor has instructions for sha256; files side by side.

    Raises:
        IndexDirError: names the first file that differs.
    """
    for name, entry in manifest.files.items():
        try:
            size = (directory / name).stat().st_size
        except OSError as error:
            raise _unreadable(directory / name, error) from error
        if size != entry["size"]:
            raise IndexDirError(
                f"{directory / name}: damaged, {size} bytes instead of {entry['size']}; {REBUILD}"
            )
    names = list(hashed)
    if sum(manifest.files[name]["size"] for name in names) < _PARALLEL_BYTES:
        for name in names:
            _check_bytes(directory / name, manifest.files[name])
        return
    with ThreadPoolExecutor(_MOST_THREADS) as pool:  # hashing waits for the disk, and leaves the GIL
        list(pool.map(lambda name: _check_bytes(directory / name, manifest.files[name]), names))


def check_bytes(path: Path, found: str, entry: Mapping[str, Any]) -> None:
    """Compare a file's sha256 with its entry in the manifest.

    Raises:
        IndexDirError: it differs.
    """
    if found != entry["sha256"]:
        raise IndexDirError(f"{path}: damaged, its checksum differs from {MANIFEST}; {REBUILD}")


def _check_bytes(path: Path, entry: Mapping[str, Any]) -> None:
    try:
        check_bytes(path, _sha256(path), entry)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> IndexDirError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return IndexDirError(f"{path}: missing from the index; {REBUILD}")
    return IndexDirError(f"{path}: cannot be read ({error.strerror}); check its permissions, or {REBUILD}")


def manifest_checksum(values: Mapping[str, Any]) -> str:
    """sha256 of the manifest's own values, whatever their order and spacing in the file."""
    text = exact_json(values, sort_keys=True, compact=True, ascii_only=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
