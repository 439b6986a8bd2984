"""`index.json`: what an index directory holds. Written last, replaced atomically, checked when opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seal_ir.errors import IndexDirError
from seal_ir.records import BODY, TITLE
from seal_ir.text.symbols import MAX_FURTHER

MANIFEST = "index.json"
_WITHOUT_FURTHER = 2  # the format of an index without further fields, which older programs read too
RAW_FILE = "raw.arrow"
OLDEST_FORMAT, NEWEST_FORMAT = 1, 3
FIELDS = (TITLE, BODY)
# What an engine's module is linked with, as far as its terms bind who passes the module on.
LIBRARIES = {"native": "", "sdsl": "sdsl-lite 2.1.1, GPL-3.0-or-later"}
REBUILD = "rebuild it with python -m seal_ir.index"


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    """One segment: its folder, the engine that reads it, and how that stores positions (`EngineSpec`)."""

    name: str
    engine: str
    layout: str
    n_documents: int
    n_tokens: int


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
        collection: what was read: kind, and the counts of the reader.
        version: of the format that it was read from.
    """

    model: str
    tokenizer: str
    fields: tuple[str, ...]
    library: str
    segments: tuple[SegmentInfo, ...]
    files: Mapping[str, Mapping[str, Any]]
    collection: Mapping[str, Any]
    version: int = field(default=_WITHOUT_FURTHER, compare=False)

    @property
    def n_documents(self) -> int:
        """Documents of all segments."""
        return sum(segment.n_documents for segment in self.segments)

    @property
    def n_tokens(self) -> int:
        """N of the weights: lengths of all streams, each with its one leading BOUNDARY."""
        return sum(segment.n_tokens for segment in self.segments)

    @property
    def further_fields(self) -> tuple[str, ...]:
        """The fields beside title and body, in the order of their symbols."""
        return self.fields[len(FIELDS) :]

    @property
    def has_raw(self) -> bool:
        """Whether the records are kept as they were read."""
        return all(f"{segment.name}/{RAW_FILE}" in self.files for segment in self.segments)

    def to_json(self) -> str:
        """The text of `index.json`."""
        known = asdict(self)
        del known["version"]
        values = {
            "format": NEWEST_FORMAT if len(self.fields) > len(FIELDS) else _WITHOUT_FURTHER,
            **known,
            "n_documents": self.n_documents,
            "n_tokens": self.n_tokens,
        }
        values["checksum"] = manifest_checksum(values)
        return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def read_manifest(directory: Path) -> Manifest:
    """The manifest of an index directory, its format version checked.

    Raises:
        IndexDirError: no index, not readable, or of another format; says what to do.
    """
    path = directory / MANIFEST
    if not directory.is_dir():
        raise IndexDirError(f"{directory}: no such index directory; build one with python -m seal_ir.index")
    if not path.is_file():
        raise IndexDirError(f"{directory}: not an index, it has no {MANIFEST}; {REBUILD}")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        version = values.pop("format")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IndexDirError(f"{path}: damaged ({_told(error)}); {REBUILD}") from error
    if type(version) is not int or not OLDEST_FORMAT <= version <= NEWEST_FORMAT:
        reads = (
            f"{OLDEST_FORMAT}" if OLDEST_FORMAT == NEWEST_FORMAT else f"{OLDEST_FORMAT} to {NEWEST_FORMAT}"
        )
        raise IndexDirError(f"{path}: index format {version}, this program reads {reads}; {REBUILD}")
    try:
        checksum = values.pop("checksum")
        if checksum != manifest_checksum({"format": version, **values}):
            raise ValueError("its checksum differs")
        if version == 1:
            values = _from_1(values)
        segments = tuple(SegmentInfo(**segment) for segment in values.pop("segments"))
        totals = values.pop("n_documents"), values.pop("n_tokens")
        fixed = {"segments": segments, "fields": tuple(values["fields"]), "version": version}
        if "version" in values:
            raise ValueError("it has a version beside its format")
        manifest = Manifest(**values | fixed)
        most = MAX_FURTHER if version > _WITHOUT_FURTHER else 0
        if manifest.fields[: len(FIELDS)] != FIELDS or len(manifest.further_fields) > most:
            raise ValueError(f"its fields are {manifest.fields}")
        if totals != (manifest.n_documents, manifest.n_tokens):
            raise ValueError("totals are not the sum of the segments")
        _ = [(int(entry["size"]), str(entry["sha256"])) for entry in manifest.files.values()]
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise IndexDirError(f"{path}: damaged ({_told(error)}); {REBUILD}") from error
    return manifest


def _from_1(values: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had the sdsl engine only: segments named no layout, and the manifest no library."""
    segments = [{"layout": "default", **segment} for segment in values["segments"]]
    return values | {"segments": segments, "library": LIBRARIES["sdsl"]}


def describe_files(directory: Path) -> dict[str, dict[str, Any]]:
    """Size and sha256 of every file below a directory, the manifest excepted."""
    paths = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {
        path.relative_to(directory).as_posix(): {"size": path.stat().st_size, "sha256": _sha256(path)}
        for path in paths
    }


def check_files(directory: Path, manifest: Manifest, *, max_bytes: float) -> None:
    """Compare every file with the manifest: presence, size, and checksum.

    Checksums are computed from the smallest file up, of `max_bytes` altogether; 0 compares sizes only.

    Raises:
        IndexDirError: names the first file that differs.
    """
    for name, expected in sorted(manifest.files.items(), key=lambda item: int(item[1]["size"])):
        path = directory / name
        if not path.is_file():
            raise IndexDirError(f"{path}: missing from the index; {REBUILD}")
        size = path.stat().st_size
        if size != expected["size"]:
            raise IndexDirError(f"{path}: damaged, {size} bytes instead of {expected['size']}; {REBUILD}")
        max_bytes -= size
        if max_bytes >= 0 and _sha256(path) != expected["sha256"]:
            raise IndexDirError(f"{path}: damaged, its checksum differs from {MANIFEST}; {REBUILD}")


def manifest_checksum(values: Mapping[str, Any]) -> str:
    """sha256 of the manifest's own values, whatever their order and spacing in the file."""
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _told(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
