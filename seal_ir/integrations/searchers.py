"""What the retrievers share: a searcher from what the user names, and what a hit says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.errors import ArgumentError, shown
from seal_ir.formats.io.resolve import Places
from seal_ir.index.registry import find_index
from seal_ir.records import Hit
from seal_ir.search.documents import SealDocument
from seal_ir.search.searcher import SealSearcher

Searched = SealSearcher | str | Path


class Passage(NamedTuple):
    """What a hit says.

    Attributes:
        docid: the collection's id.
        title: "" for none.
        text: without the title.
        metadata: docid, title, score and rank from 1, then the document's further fields, a list for several
            values.
    """

    docid: str
    title: str
    text: str
    metadata: dict[str, Any]


def searcher_of(index: Searched, options: dict[str, Any]) -> SealSearcher:
    """The searcher itself, or a new one on an index by directory or registered name.

    Args:
        index: a searcher, a directory or a name.
        options: a new searcher's: model, preset, config, device, dtype, batch_size.

    Raises:
        ArgumentError: options for a searcher that is there, or `index` is none of these.
        SealError: as `find_index` and `SealSearcher` raise.
    """
    if isinstance(index, SealSearcher):
        if options:
            raise ArgumentError(f"{', '.join(options)}: cannot be set on a searcher that is there")
        return index
    if not isinstance(index, str | Path):
        raise ArgumentError(f"index is {shown(index)}; give a SealSearcher, a directory or a registered name")
    return SealSearcher(find_index(str(index), Places.from_environment()), **options)


def passage(hit: Hit, rank: int) -> Passage:
    """What a hit with its texts says.

    Args:
        hit: of a `SealSearcher`.
        rank: from 1.
    """
    entry = hit.lucene_document
    assert isinstance(entry, SealDocument)  # noqa: S101 - for the type checker
    document = entry.document
    metadata: dict[str, Any] = {
        "docid": hit.docid,
        "title": document.title,
        "score": hit.score,
        "rank": rank,
    }
    further: dict[str, list[str]] = {}
    for name, value in document.further:
        further.setdefault(name, []).append(value)
    for name, values in further.items():
        metadata.setdefault(name, values[0] if len(values) == 1 else values)
    return Passage(hit.docid, document.title, document.text, metadata)
