"""Any collection as one of passages: what `--split` indexes, as a file for other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.collections.splitting import Split, passages
from seal_ir.formats.io.packed import check_packed, packed_writer
from seal_ir.records import Document
from seal_ir.structured import json_line


def write_passage_collection(collection: Collection, split: Split, output: Path) -> int:
    """Writes a JsonCollection with the passages of each document, in order; returns how many there are.

    Args:
        collection: read with `will_split`, so that ids which cannot be split are malformed.
        split: how an index is split: the passages are those of `seal_ir.index --split`.
        output: a name in .gz is compressed.

    Raises:
        InputError: the collection cannot be read.
        UsageError: the output cannot be written.
    """
    check_packed(output)
    count = 0
    with packed_writer(output) as file:
        for document in collection:
            for passage in passages(document, split):
                file.write(f"{json_line(_record(passage))}\n")
                count += 1
    return count


def _record(passage: Document) -> dict[str, Any]:
    contents = f"{passage.title}\n{passage.text}" if passage.title else passage.text
    return {"id": passage.id, "title": passage.title, "contents": contents, **dict(passage.stored)}
