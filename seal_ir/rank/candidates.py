"""Candidate documents of a query: where its rare keys occur, and which documents deserve a full score."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seal_ir.index.reader import Index
from seal_ir.records import Key

Occurrence = tuple[int, int]  # position in the list of keys, exclusive end
Ints = NDArray[np.int64]


class Candidates(NamedTuple):
    """Documents with the rare keys in them; the occurrences of document i are [bounds[i], bounds[i + 1]).

    Attributes:
        documents: int64 [n], distinct, ascending.
        bounds: int64 [n + 1].
        numbers: int64 [m], position in the list of keys; ascending within a document.
        ends: int64 [m], exclusive; ascending within a key.
    """

    documents: Ints
    bounds: Ints
    numbers: Ints
    ends: Ints

    def occurrences(self, i: int) -> list[Occurrence]:
        """Key and end of every occurrence in the i-th document."""
        part = slice(self.bounds[i], self.bounds[i + 1])
        return list(zip(self.numbers[part].tolist(), self.ends[part].tolist(), strict=True))

    def best_keys(self) -> Ints:
        """Position of the first key of each document, int64 [n]."""
        return self.numbers[self.bounds[:-1]]

    def totals(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum of the weights of the distinct keys of each document, float64 [n]."""
        owner = np.repeat(np.arange(len(self.documents)), np.diff(self.bounds))
        first = np.ones(len(owner), dtype=bool)
        first[1:] = (self.numbers[1:] != self.numbers[:-1]) | (owner[1:] != owner[:-1])
        totals = np.zeros(len(self.documents))
        np.add.at(totals, owner[first], weights[self.numbers[first]])
        return totals


def locate(index: Index, keys: Sequence[Key], max_count: int) -> Candidates:
    """The documents that hold a key with F(n) <= `max_count`."""
    rare = [i for i, key in enumerate(keys) if key.count <= max_count]
    found = index.locate(keys[i].ranges for i in rare)
    numbers = np.repeat(np.array(rare, dtype=np.int64), np.diff(found.offsets))
    order = np.lexsort((found.ends, numbers, found.documents))
    sorted_documents = found.documents[order]
    starts = np.flatnonzero(np.diff(sorted_documents, prepend=-1))
    bounds = np.append(starts, len(order))
    return Candidates(sorted_documents[starts], bounds, numbers[order], found.ends[order])


def preselect(
    scores: Callable[[int], float], bounds: NDArray[np.float64], n: int, docid: Callable[[int], str]
) -> list[int]:
    """The n best candidates by `scores`, in their own order; ties by docid. All where there are no more.

    Args:
        scores: score of candidate i; costly, so it is asked in descending order of the bounds and no
            longer than a bound can still reach the n-th best score.
        bounds: no score is higher than its bound, float64 [candidates].
        n: how many, at least 1.
        docid: the id of candidate i.
    """
    if len(bounds) <= n:
        return list(range(len(bounds)))
    found: dict[int, float] = {}
    best: list[float] = []  # the n best scores so far, the least of them first
    for i in np.argsort(-bounds, kind="stable").tolist():
        if len(best) == n and bounds[i] < best[0]:
            break
        found[i] = scores(i)
        if len(best) < n:
            heapq.heappush(best, found[i])
        else:
            heapq.heappushpop(best, found[i])
    above = [i for i, score in found.items() if score > best[0]]
    tied = sorted((i for i, score in found.items() if score == best[0]), key=docid)
    return sorted(above + tied[: n - len(above)])
