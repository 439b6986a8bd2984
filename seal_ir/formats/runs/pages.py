"""Passages of a page: its id, and docids, hits and judgements folded to it (Pyserini's `--max-passage`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from seal_ir.records import Hit


def page_of(docid: str, delimiter: str) -> str:
    """What stands before the first delimiter, as a string; an id with nothing before it is its own page.

    Raises:
        ValueError: the delimiter is empty.
    """
    return docid.partition(delimiter)[0] or docid


def fold_docids(docids: Iterable[str], delimiter: str) -> list[str]:
    """Pages in the order of their best passages; raises as `page_of`."""
    return list(dict.fromkeys(page_of(docid, delimiter) for docid in docids))


def fold_hits(hits: Iterable[Hit], delimiter: str, max_hits: int) -> list[Hit]:
    """The first hit of each page under the page's id, in their order; folded first, cut at `max_hits` then.

    Raises:
        ValueError: as `page_of`.
    """
    folded = (replace(hit, docid=page_of(hit.docid, delimiter)) for hit in hits)
    return first_hits(folded)[:max_hits]


def fold_qrels(qrels: Mapping[str, Mapping[str, int]], delimiter: str) -> dict[str, dict[str, int]]:
    """Judgements of pages: the highest grade of a page's passages; page ids stay what they are."""
    folded: dict[str, dict[str, int]] = {}
    for qid, grades in qrels.items():
        pages = folded.setdefault(qid, {})
        for docid, grade in grades.items():
            page = page_of(docid, delimiter)
            pages[page] = max(grade, pages.get(page, grade))
    return folded


def first_hits(hits: Iterable[Hit]) -> list[Hit]:
    """The first hit of each docid, in their order."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.docid, hit)
    return list(first.values())
