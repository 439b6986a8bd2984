"""Passages of a page: its id, and hits folded to it, as with Pyserini's `--max-passage`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from seal_ir.records import Hit


def page_of(docid: str, delimiter: str) -> str:
    """What stands before the first delimiter, as a string; an id with nothing before it is its own page."""
    return docid.partition(delimiter)[0] or docid


def fold_hits(hits: Iterable[Hit], delimiter: str, max_hits: int) -> list[Hit]:
    """The first hit of each page under the page's id, in their order; folded first, cut at `max_hits` then.

    Raises:
        ValueError: the delimiter is empty.
    """
    pages: dict[str, Hit] = {}
    for hit in hits:
        pages.setdefault(page_of(hit.docid, delimiter), hit)
    return [replace(hit, docid=page) for page, hit in list(pages.items())[:max_hits]]


def first_hits(hits: Iterable[Hit]) -> list[Hit]:
    """The first hit of each docid, in their order."""
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.docid, hit)
    return list(first.values())
