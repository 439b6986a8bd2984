"""Collections that are Hugging Face datasets: names on the hub, saved folders, Parquet files, JSON lines.

`NAME[:CONFIG[:SPLIT]]` names one on the hub (`NAME::SPLIT` with the default configuration) and
`FOLDER[:SPLIT]` one that was saved with `save_to_disk`; both need the package `datasets`.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from seal_ir.errors import InputError, one_line
from seal_ir.formats.collections.passages import ID_KEYS, TEXT_KEYS, Record, json_document, read_json
from seal_ir.formats.collections.stored import StoredFields
from seal_ir.formats.io.files import is_file, shown
from seal_ir.formats.io.folders import DocumentFiles, find_documents
from seal_ir.formats.io.hub_access import is_dataset_cached, unreachable
from seal_ir.formats.io.inputs import READ_SUFFIXES, is_special, rereadable
from seal_ir.records import Document
from seal_ir.structured import json_line

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?(:[^:/]*(:.+)?)?")
_SAVED = ("dataset_info.json", "dataset_dict.json")
_JSON = tuple(suffix + packed for suffix in (".jsonl", ".json") for packed in ("", *READ_SUFFIXES))
_BATCH = 1000  # rows as Python objects at a time


def find_dataset(source: Path) -> DocumentFiles:
    """The files of a folder of Parquet or JSON lines, in order; else the dataset itself. Asks no network.

    Raises:
        InputError: a path that does not exist or holds nothing to read, or what is no name.
    """
    path, split = _local(source)
    if path is None:
        text = str(source)
        if (
            text.startswith((".", "/", "~"))
            or not _NAME.fullmatch(text)
            or text.endswith((".parquet", *_JSON))
        ):
            raise InputError(
                f"{source}: no such file or folder, and no name of a dataset; name one as NAME:CONFIG:SPLIT"
            )
        return DocumentFiles([source])
    if _is_saved(path):
        return DocumentFiles([source])
    if split:
        raise InputError(
            f"{source}: {path} has no splits, it was not saved with save_to_disk; leave out :{split}"
        )
    if is_file(path):
        if not path.name.lower().endswith((".parquet", *_JSON)):
            raise InputError(f"{path}: not a data file by its name; expected .parquet, .jsonl or .json")
        if is_special(path) and path.name.lower().endswith(".parquet"):
            raise InputError(f"{path}: Parquet is not read from a pipe; give a file")
        return DocumentFiles([rereadable(path)])
    return find_documents(path, (".parquet", ".jsonl"))


def read_dataset(
    source: Path, *, keep_raw: bool = False, fields: Sequence[str] = (), stored: StoredFields = ()
) -> Iterator[tuple[int, Record]]:
    """Row numbers from 1 and records; the columns are those of JSON collections, all others stay unread.

    With `keep_raw` all columns are read, and documents have them as a JSON object (of a JSON file: its own
    text); what JSON cannot say, such as a date, is written as a string.

    Raises:
        InputError: the dataset cannot be loaded, has no column for ids or for texts, or is damaged.
    """
    path, split = _local(source)
    if path is not None and path.name.lower().endswith(_JSON) and is_file(path):
        yield from read_json(path, keep_raw=keep_raw, fields=fields, stored=stored)
        return
    in_file = path is not None and is_file(path)
    wanted = None if keep_raw else (*fields, *(name for name, _ in stored))
    batches = _parquet(source, wanted) if in_file else _dataset(source, path, split, wanted)
    row = 0
    try:
        for batch in batches:
            batch.validate(full=True)  # what is mapped may say anything of where its texts are
            for record in batch.to_pylist():
                row += 1
                document = json_document(record, fields, stored)
                if keep_raw and isinstance(document, Document):
                    document = document._replace(raw=json_line(record, default=str))
                yield row, document
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{source}: damaged after row {row} ({_told(error)}); make it again") from error


def _parquet(path: Path, fields: Sequence[str] | None) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile  # slow to load, and seldom needed

    with ParquetFile(path) as file:
        columns = _columns(path, file.schema_arrow.names, fields)
        yield from file.iter_batches(_BATCH, columns=columns)


def _dataset(
    source: Path, path: Path | None, split: str | None, fields: Sequence[str] | None
) -> Iterator[Any]:
    dataset = _load(source, path, split)
    columns = _columns(source, dataset.column_names, fields)
    yield from dataset.select_columns(columns).with_format("arrow").iter(_BATCH)


def _load(source: Path, path: Path | None, split: str | None) -> Any:
    """The dataset, mapped into memory: of a folder, or loaded by name."""
    try:
        package = importlib.import_module("datasets")
    except ImportError as error:
        raise InputError(f"{source}: reading it needs the package datasets; pip install datasets") from error
    if path is None:
        _check_reachable(source)
    try:
        if path is not None:
            loaded = package.load_from_disk(str(path))
        else:
            name, config, split = (*str(source).split(":", 2), None, None)[:3]
            loaded = package.load_dataset(name, config or None, split=split)
    except Exception as error:  # noqa: BLE001 - datasets raises many kinds, of damaged descriptions any
        raise InputError(
            f"{source}: the dataset cannot be loaded ({_told(error)}); "
            + ("save it again" if path else "no such folder here, so check NAME:CONFIG:SPLIT and the network")
        ) from error
    if not isinstance(loaded, dict):
        if path is not None and split:
            raise InputError(f"{source}: this dataset has no splits; leave out :{split}")
        return loaded
    names = [split] if split else list(loaded)
    if len(names) == 1 and names[0] in loaded:
        return loaded[names[0]]
    fault = f"has no split {shown(split)} among its own" if split else "has several splits"
    form = "FOLDER:SPLIT" if path is not None else "NAME:CONFIG:SPLIT"
    raise InputError(f"{source}: {fault} ({', '.join(loaded)}); choose one, as {form}")


def _check_reachable(source: Path) -> None:
    """Refuse a name in seconds that neither the hub nor a cache can give."""
    name = str(source).partition(":")[0]
    reason = unreachable()
    if reason and not is_dataset_cached(name):
        raise InputError(
            f"{source}: the dataset cannot be loaded: no such folder, nor in a cache here, and {reason}"
        )


def _local(source: Path) -> tuple[Path | None, str | None]:
    """The file or folder that is meant, without the split behind it; None for a name on the hub."""
    if _exists(source):
        return source, None
    head, _, split = str(source).rpartition(":")
    return (Path(head), split) if head and _exists(Path(head)) else (None, None)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # too long a name, or no permission to look
        return False


def _is_saved(path: Path) -> bool:
    return any(is_file(path / name) for name in _SAVED)


def _columns(source: Path, names: list[str], fields: Sequence[str] | None) -> list[str]:
    """The columns to read: all, or those that make a document with these further fields."""
    for wanted in (ID_KEYS, TEXT_KEYS):
        if not set(wanted) & set(names):
            raise InputError(
                f"{source}: no column {' or '.join(wanted)} (its columns: {shown(', '.join(names))});"
                " rename the one you mean"
            )
    return [name for name in names if fields is None or name in (*ID_KEYS, *TEXT_KEYS, "title", *fields)]


def _told(error: Exception) -> str:
    text = one_line(error)
    return text if len(text) <= 200 else text[:197] + "..."
