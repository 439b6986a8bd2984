"""The query's own n-grams on their way through the model, which scores them but does not choose them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.decode.query_ngrams import NgramNode, query_ngrams
from seal_ir.index.reader import Index
from seal_ir.text.symbols import FIRST_TOKEN


class Forced(NamedTuple):
    """A prefix of the query's n-grams."""

    row: int  # of the session
    job: int
    node: NgramNode
    symbols: tuple[int, ...]
    logprob: float


class Scored(NamedTuple):
    """An n-gram of the query that the model has read to its end."""

    job: int
    symbols: tuple[int, ...]
    logprob: float
    ranges: Ints  # [n_segments, 2]


def forced_roots(index: Index, queries: Sequence[tuple[int, str]], max_words: int) -> list[Forced]:
    """The n-grams of each query [job, text], all under one node without a symbol, in the rows of the jobs."""
    if not max_words:
        return []
    return [
        Forced(
            job, job, NgramNode(-1, index.everything, children=query_ngrams(index, text, max_words)), (), 0.0
        )
        for job, text in queries
    ]


class Steps(NamedTuple):
    """All n-grams by one symbol longer, as pairs of a prefix and a child of its node."""

    prefixes: list[Forced]
    children: list[NgramNode]

    @property
    def rows(self) -> Ints:
        """The row of each prefix, int64 [n]."""
        return np.array([prefix.row for prefix in self.prefixes], dtype=np.int64)

    @property
    def tokens(self) -> Ints:
        """The token of each child, int64 [n]."""
        return np.array([child.symbol - FIRST_TOKEN for child in self.children], dtype=np.int64)


def steps_of(forced: Sequence[Forced], n_vocabulary: int) -> Steps:
    """The next steps of prefixes, those to tokens that the model does not know left out."""
    found = [
        (prefix, child)
        for prefix in forced
        for child in prefix.node.children
        if child.symbol - FIRST_TOKEN < n_vocabulary
    ]
    return Steps([prefix for prefix, _ in found], [child for _, child in found])


def taken(steps: Steps, logprobs: Floats, first_row: int) -> tuple[list[Scored], list[Forced], Ints]:
    """Take the steps.

    Args:
        steps: the steps.
        logprobs: of their tokens, float32 [n].
        first_row: where the session's new rows for what goes on begin.

    Returns:
        The n-grams that are whole, the prefixes that go on, and which of `steps` led to these.
    """
    whole: list[Scored] = []
    going: list[Forced] = []
    which: list[int] = []
    for at, (prefix, child, step) in enumerate(zip(*steps, logprobs.tolist(), strict=True)):
        logprob = prefix.logprob + step
        if not np.isfinite(logprob):
            continue
        symbols = (*prefix.symbols, child.symbol)
        if child.whole:
            whole.append(Scored(prefix.job, symbols, logprob, child.ranges))
        if child.children:
            going.append(Forced(first_row + len(going), prefix.job, child, symbols, logprob))
            which.append(at)
    return whole, going, np.array(which, dtype=np.int64)
