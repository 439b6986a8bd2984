"""Predictions: answers to questions as JSON lines, with the places that they quote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Citation:
    r"""A place that an answer quotes.

    Attributes:
        docid: the document.
        start, end: characters of its contents, `title + "\n" + text`, half-open.
        text: what stands there.
    """

    docid: str
    start: int
    end: int
    text: str
