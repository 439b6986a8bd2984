"""The kinds of collections, by the names that `--collection` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.errors import UsageError
from seal_ir.formats.collections.hub import find_dataset, read_dataset
from seal_ir.formats.collections.ir_datasets import find_ir_dataset, read_ir_dataset
from seal_ir.formats.collections.knowledge import read_knowledge_source
from seal_ir.formats.collections.lucene import find_lucene, read_lucene
from seal_ir.formats.collections.passages import Record, read_dpr_tsv, read_json, read_tsv
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.folders import DocumentFiles, find_documents
from seal_ir.formats.io.ir_datasets_access import dataset_name, is_ir_dataset


class Kind(NamedTuple):
    """A kind of collection.

    Attributes:
        find: from what the user named, the files to read, in order, and what to tell of others; raises
            InputError where there are none.
        read: line numbers and records of one of them, anew at each call.
        is_json: whether records are JSON objects; `read` then takes `keep_raw` and `fields` as `read_json`.
    """

    find: Callable[[Path], DocumentFiles]
    read: Callable[..., Iterator[tuple[int, Record]]]
    is_json: bool = False

    def records(self, path: Path, **options: Any) -> Iterator[tuple[int, Record]]:
        """Line numbers and records of a file; the options are for JSON only."""
        return self.read(path, **options) if self.is_json else self.read(path)


KINDS = {
    "JsonCollection": Kind(partial(find_documents, suffixes=(".jsonl", ".json")), read_json, is_json=True),
    "TsvCollection": Kind(partial(find_documents, suffixes=(".tsv",)), read_tsv),
    "DprTsvCollection": Kind(partial(find_documents, suffixes=(".tsv",)), read_dpr_tsv),
    "KiltCollection": Kind(
        partial(find_documents, suffixes=(".jsonl", ".json")), read_knowledge_source, is_json=True
    ),
    "HFDataset": Kind(find_dataset, read_dataset, is_json=True),
    "LuceneIndex": Kind(find_lucene, read_lucene, is_json=True),
    "ir_datasets": Kind(find_ir_dataset, read_ir_dataset, is_json=True),
}

# Pyserini's names of collections whose records are those of a JsonCollection.
_ALSO_JSON = ("BeirFlatCollection", "BeirMultifieldCollection", "MrTyDiCollection")
ALIASES = dict.fromkeys(_ALSO_JSON, "JsonCollection")


def names_source(name: str) -> bool:
    """Whether what `--collection` names says what to read as well: `ir_datasets:NAME`."""
    return is_ir_dataset(name)


def kind_and_source(name: str, path: Path | None) -> tuple[str, Path]:
    """The kind that is meant, and what to read.

    Raises:
        UsageError: no such kind; nothing to read is named, or twice.
    """
    if names_source(name):
        if path is not None:
            raise UsageError(f"{name} says what to read; leave out {shown(str(path))}")
        return "ir_datasets", Path(dataset_name(name))
    kind = kind_named(name)
    if path is None:
        raise UsageError(f"{kind} needs what to read: a file or folder, or a name")
    return kind, path


def kind_named(name: str) -> str:
    """The name of the kind that is meant, Pyserini's other names included.

    Raises:
        UsageError: no such kind.
    """
    kind = ALIASES.get(name, name)
    if kind not in KINDS:
        allowed = ", ".join([*KINDS, *ALIASES])
        raise UsageError(f"unknown collection {shown(name)}; choose one of {allowed}")
    return kind
