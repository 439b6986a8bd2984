"""Hits as passages for readers: texts out of the index, keys out of SEAL's own ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from seal_ir.config import RankConfig
from seal_ir.errors import InputError
from seal_ir.eval.answers import holds_answer
from seal_ir.explanation.keys import ranked_keys
from seal_ir.formats.runs.shapes import Asked, Passage
from seal_ir.index.reader import Index
from seal_ir.records import Hit, Query, Ranked


def asked_topics(queries: Sequence[Query], answers: Mapping[str, Sequence[str]]) -> dict[str, Asked]:
    """Topics as they are written beside their passages; those without answers have none."""
    return {
        query.id: Asked(query.id, query.text, known, partial(_holds, known))
        if (known := answers.get(query.id))
        else Asked(query.id, query.text)
        for query in queries
    }


def _holds(answers: Sequence[str], text: str) -> bool:
    """Whether a text holds one of the answers, by DPR's rule."""
    return holds_answer(text, answers)


def numbered(index: Index, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with their documents' numbers, which those of other rankings lack."""
    return [
        hit if hit.lucene_docid >= 0 else replace(hit, lucene_docid=_number(index, hit.docid)) for hit in hits
    ]


def _number(index: Index, docid: str) -> int:
    number = index.number(docid)
    if number is None:
        raise InputError(f"document {docid} is not in {index.directory}; give a run of the same collection")
    return number


def passages_of(
    index: Index, config: RankConfig, hits: Sequence[Hit], ranked: Sequence[Ranked]
) -> list[Passage]:
    """Hits with texts and keys.

    Args:
        index: that was searched.
        config: what SEAL ranked by.
        hits: with numbers, best first; their ids may be those of pages.
        ranked: SEAL's ranking of the topic; hits that are not in it have no keys.

    Raises:
        IndexDirError: the index is damaged.
    """
    known = {item.document: item for item in ranked}
    documents = index.documents([hit.lucene_docid for hit in hits])
    found = []
    for hit, document in zip(hits, documents, strict=True):
        item = known.get(hit.lucene_docid)
        keys = (
            ()
            if item is None
            else ranked_keys(index, config, item.document, document, item.matched, item.score)
        )
        found.append(
            Passage(
                hit.docid, hit.lucene_docid, hit.score, document.title, document.text, keys, document.further
            )
        )
    return found
