"""Unigrams: the first step's distribution over the symbols of the index, at no extra cost."""

from __future__ import annotations

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.index.batches import Successors
from seal_ir.index.reader import Index
from seal_ir.lm.protocols import NextTokens
from seal_ir.records import Unigrams
from seal_ir.text.symbols import FIRST_TOKEN

NO_UNIGRAMS = Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))


def first_unigrams(index: Index, following: NextTokens, rows: Ints, n: int) -> list[Unigrams]:
    """The n most likely symbols of the index as the first of a body n-gram, ties by symbol; row by row."""
    if n == 0:
        return [NO_UNIGRAMS] * len(rows)
    first = index.first_symbols
    return [_best(first, logprobs, n) for logprobs in following.whole(rows)]


def _best(first: Successors, logprobs: Floats, n: int) -> Unigrams:
    inside = np.flatnonzero((first.symbols >= FIRST_TOKEN) & (first.symbols < len(logprobs) + FIRST_TOKEN))
    scores = logprobs[first.symbols[inside].astype(np.int64) - FIRST_TOKEN].astype(np.float64)
    finite = np.isfinite(scores)
    inside, scores = inside[finite], scores[finite]
    if len(scores) > n:
        chosen = np.flatnonzero(scores >= np.partition(scores, -n)[-n])
        inside, scores = inside[chosen], scores[chosen]
    order = np.lexsort((inside, -scores))[:n]  # symbols ascend
    inside, scores = inside[order], scores[order]
    counts = (first.ranges[inside, :, 1] - first.ranges[inside, :, 0]).sum(axis=1)
    return Unigrams(first.symbols[inside], scores, counts)
