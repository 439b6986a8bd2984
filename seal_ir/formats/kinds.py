"""The kinds of collections, by the names that `--collection` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from seal_ir.formats.files import expand_input
from seal_ir.formats.hub import find_dataset, read_dataset
from seal_ir.formats.passages import Record, read_dpr_tsv, read_json, read_tsv


class Kind(NamedTuple):
    """A kind of collection.

    Attributes:
        find: from what the user named, the files to read, in order; raises InputError where there are none.
        read: line numbers and records of one of them, anew at each call.
        read_raw: the same with every record's JSON as `Document.raw`, where the format has such.
    """

    find: Callable[[Path], list[Path]]
    read: Callable[[Path], Iterator[tuple[int, Record]]]
    read_raw: Callable[[Path], Iterator[tuple[int, Record]]] | None = None


KINDS = {
    "JsonCollection": Kind(
        partial(expand_input, suffixes=(".jsonl", ".json")), read_json, partial(read_json, keep_raw=True)
    ),
    "TsvCollection": Kind(partial(expand_input, suffixes=(".tsv",)), read_tsv),
    "DprTsvCollection": Kind(partial(expand_input, suffixes=(".tsv",)), read_dpr_tsv),
    "HFDataset": Kind(find_dataset, read_dataset, partial(read_dataset, keep_raw=True)),
}
