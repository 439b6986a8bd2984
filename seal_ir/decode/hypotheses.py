"""The values of a decoding step: hypotheses, and the attested ways to continue them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Doubles, Ints, Symbols, rank_in_group


class Beams(NamedTuple):
    """Hypotheses of all decodings of a batch, of equal length; beam i is in row i of the session."""

    jobs: Ints  # [n], the decoding of each, ascending
    ends: Symbols  # [n], the symbol that ends the field it writes whole; 0 where it writes what it likes
    symbols: Symbols  # [n, length], as written: without the symbol that starts a field
    logprobs: Doubles  # [n], natural log of the probability of what is written
    ranges: Ints  # [n, n_segments, 2]

    @property
    def may_end(self) -> Bools:
        """Whether each is a field written whole that has begun."""
        begun: Bools = (self.ends > 0) & bool(self.symbols.shape[1])
        return begun

    def chosen(self, which: Ints | Bools) -> Beams:
        """Some of them."""
        return Beams._make(column[which] for column in self)


class Candidates(NamedTuple):
    """Pairs of a beam and a symbol that may follow it."""

    beams: Ints  # [n]
    symbols: Symbols  # [n]
    tokens: Ints  # [n], what the model writes for the symbol
    scores: Doubles  # [n], log-probability of the whole n-gram
    ranges: Ints  # [n, n_segments, 2], rows of the whole n-gram

    def chosen(self, which: Ints | Bools) -> Candidates:
        """Some of them."""
        return Candidates._make(column[which] for column in self)


def joined(parts: Sequence[Candidates]) -> Candidates:
    """Several lists as one."""
    return Candidates._make(np.concatenate(columns) for columns in zip(*parts, strict=True))


def best_of_each(candidates: Candidates, jobs: Ints, n: int) -> Candidates:
    """The n best candidates of each job, job by job, ties by symbol and then by beam; jobs are of beams."""
    job = jobs[candidates.beams]
    order = np.lexsort((candidates.beams, candidates.symbols, -candidates.scores, job))
    return candidates.chosen(order[rank_in_group(job[order]) < n])


def nth_best(scores: Doubles, jobs: Ints, n_jobs: int, n: int) -> Doubles:
    """The n-th best score of each job, -inf where there are fewer, float64 [n_jobs]."""
    order = np.lexsort((-scores, jobs))
    last = order[rank_in_group(jobs[order]) == n - 1]
    found = np.full(n_jobs, -np.inf)
    found[jobs[last]] = scores[last]
    return found
