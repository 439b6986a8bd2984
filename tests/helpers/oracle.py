"""What an FM-index must answer, by scanning the documents.

A document is the list of its symbols, boundary first. An n-gram is a tuple of symbols; it occurs within a
document, never across two. Nothing here is clever: it is the definition that engines are tested against.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Document = Sequence[int]
NGram = tuple[int, ...]


def occurrences(documents: Sequence[Document], ngram: NGram) -> list[tuple[int, int]]:
    """Every (document, end) at which the n-gram occurs, `end` exclusive, in reading order."""
    found = []
    for number, document in enumerate(documents):
        for end in range(len(ngram), len(document) + 1):
            if tuple(document[end - len(ngram) : end]) == ngram:
                found.append((number, end))
    return found


def count(documents: Sequence[Document], ngram: NGram) -> int:
    """How often a non-empty n-gram occurs."""
    return len(occurrences(documents, ngram))


def successors(documents: Sequence[Document], ngram: NGram) -> dict[int, int]:
    """Each symbol that follows the n-gram within a document, with the count of the n-gram so extended."""
    ends = [(documents[number], end) for number, end in occurrences(documents, ngram)]
    return dict(Counter(document[end] for document, end in ends if end < len(document)))


def ngrams(documents: Sequence[Document], max_length: int) -> set[NGram]:
    """Every n-gram of 1 to `max_length` symbols that occurs."""
    found = set()
    for document in documents:
        for start in range(len(document)):
            for end in range(start + 1, min(start + max_length, len(document)) + 1):
                found.add(tuple(document[start:end]))
    return found
