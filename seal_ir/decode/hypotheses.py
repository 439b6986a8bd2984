"""The values of a decoding step: hypotheses, the attested ways to continue them, and those yet to verify."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Doubles, Floats, Ints, Symbols
from seal_ir.lm.protocols import Read
from seal_ir.text.symbols import FIRST_TOKEN

_UNKNOWN, _ATTESTED, _ABSENT = 0, 1, 2  # what a pool knows of a continuation


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


def rank_in_group(groups: Ints) -> Ints:
    """For each entry of a sorted array, how many equal ones come before it, int64 [n]."""
    first = np.searchsorted(groups, groups, side="left")
    rank: Ints = np.arange(len(groups)) - first
    return rank


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


class Pool:
    """The best continuations of wide beams by the model's account, and what the index says of them.

    Attributes:
        beams: int64 [n], the beam of each continuation.
        symbols: uint32 [n].
    """

    def __init__(self, beams: Beams) -> None:
        """An empty pool for continuations of `beams`."""
        self._of = beams
        self.beams: Ints = np.empty(0, np.int64)
        self.symbols: Symbols = np.empty(0, np.uint32)
        self._tokens: Ints = np.empty(0, np.int64)
        self._scores: Doubles = np.empty(0)
        self._state = np.empty(0, np.uint8)
        # Of those that are verified, most of the pool never being so; `_places` says where each one's are.
        self._ranges: Ints = np.empty((0, *beams.ranges.shape[1:]), np.int64)
        self._places: Ints = np.empty(0, np.int64)
        # No continuation of a beam that is not in the pool scores higher; -inf: there is none.
        self._bound = np.full(len(beams.jobs), -np.inf)

    def add_ends(self, beams: Ints, title_end: int, logprobs: Floats) -> None:
        """The end of the field, for which the model writes `title_end`, as a continuation of beams [n]."""
        self._add(beams, self._of.ends[beams], np.full(len(beams), title_end), logprobs)

    def add_tops(self, beams: Ints, read: Read, n_vocabulary: int) -> None:
        """The best tokens [n, k] of beams [n] as continuations."""
        k = read.top_tokens.shape[1]
        symbols = (read.top_tokens.reshape(-1) + FIRST_TOKEN).astype(np.uint32)
        self._add(np.repeat(beams, k), symbols, read.top_tokens.reshape(-1), read.top_logprobs.reshape(-1))
        bound = self._of.logprobs[beams] + read.top_logprobs[:, -1]
        self._bound[beams] = np.where(np.isnan(bound) | (k == n_vocabulary), -np.inf, bound)

    def drop_tops(self, beams: Ints) -> None:
        """Forget the best tokens of some beams."""
        self._keep(~np.isin(self.beams, beams) | (self.symbols < FIRST_TOKEN))

    def drop(self, beams: Ints) -> None:
        """Forget all of some beams; they are dealt with elsewhere."""
        self._keep(~np.isin(self.beams, beams))
        self._bound[beams] = -np.inf

    @property
    def attested(self) -> Candidates:
        """The continuations that occur."""
        which = np.flatnonzero(self._state == _ATTESTED)
        beams, symbols, tokens = self.beams[which], self.symbols[which], self._tokens[which]
        return Candidates(beams, symbols, tokens, self._scores[which], self._ranges[self._places[which]])

    def due(self, least: Doubles, n: int) -> Ints:
        """Of each decoding, up to n of the best that are not verified and reach `least` of their beam."""
        open_ = np.flatnonzero((self._state == _UNKNOWN) & (self._scores >= least[self.beams]))
        jobs = self._of.jobs[self.beams[open_]]
        order = np.lexsort((-self._scores[open_], jobs))
        chosen: Ints = open_[order[rank_in_group(jobs[order]) < n]]
        return chosen

    def settle(self, which: Ints, ranges: Ints) -> None:
        """What the index says: the rows of continuations, none where one does not occur."""
        present = (ranges[..., 1] > ranges[..., 0]).any(axis=1)
        self._state[which] = np.where(present, _ATTESTED, _ABSENT)
        self._places[which] = len(self._ranges) + np.arange(len(which))
        self._ranges = np.concatenate([self._ranges, ranges])

    def uncertain(self, least: Doubles) -> Ints:
        """Beams that may have continuations outside the pool that reach `least`."""
        return np.flatnonzero((self._bound >= least) & (self._bound > -np.inf))

    def _add(self, beams: Ints, symbols: Symbols, tokens: Ints, logprobs: Floats) -> None:
        scores = self._of.logprobs[beams] + logprobs
        real = np.isfinite(scores)
        n = int(real.sum())
        self.beams = np.concatenate([self.beams, beams[real]])
        self.symbols = np.concatenate([self.symbols, symbols[real]])
        self._tokens = np.concatenate([self._tokens, tokens[real]])
        self._scores = np.concatenate([self._scores, scores[real]])
        self._state = np.concatenate([self._state, np.zeros(n, np.uint8)])
        self._places = np.concatenate([self._places, np.zeros(n, np.int64)])

    def _keep(self, which: Bools) -> None:
        self.beams, self.symbols, self._tokens = self.beams[which], self.symbols[which], self._tokens[which]
        self._scores, self._state = self._scores[which], self._state[which]
        self._places = self._places[which]
