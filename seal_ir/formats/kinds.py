"""The kinds of collections, by the names that `--collection` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.formats.files import expand_input
from seal_ir.formats.hub import find_dataset, read_dataset
from seal_ir.formats.passages import Record, read_dpr_tsv, read_json, read_tsv


class Kind(NamedTuple):
    """A kind of collection.

    Attributes:
        find: from what the user named, the files to read, in order; raises InputError where there are none.
        read: line numbers and records of one of them, anew at each call.
        is_json: whether records are JSON objects; `read` then takes `keep_raw` and `fields` as `read_json`.
    """

    find: Callable[[Path], list[Path]]
    read: Callable[..., Iterator[tuple[int, Record]]]
    is_json: bool = False

    def records(self, path: Path, **options: Any) -> Iterator[tuple[int, Record]]:
        """Line numbers and records of a file; the options are for JSON only."""
        return self.read(path, **options) if self.is_json else self.read(path)


KINDS = {
    "JsonCollection": Kind(partial(expand_input, suffixes=(".jsonl", ".json")), read_json, is_json=True),
    "TsvCollection": Kind(partial(expand_input, suffixes=(".tsv",)), read_tsv),
    "DprTsvCollection": Kind(partial(expand_input, suffixes=(".tsv",)), read_dpr_tsv),
    "HFDataset": Kind(find_dataset, read_dataset, is_json=True),
}
