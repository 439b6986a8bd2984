"""What may follow each beam: exactly the best attested continuations, without looking at all of them.

Beam search keeps the best 2 x beam attested continuations of a decoding and no others. Where a range has
few rows, its successors are enumerated and the model is asked for just those. Where it has many, the model
names its best tokens and the index verifies them, best first, until no continuation that has not been
looked at can be among the best 2 x beam. Log-probabilities are over the whole vocabulary and never
renormalised over what is allowed, so that both ways give the same numbers, and this the same candidates as
a mask over the vocabulary would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Bools, Floats, Ints, Symbols
from seal_ir.decode.hypotheses import Beams, Candidates, Pool, best_of_each, joined, nth_best
from seal_ir.index.reader import Index
from seal_ir.index.sparse import Ranges
from seal_ir.lm.protocols import NextTokens
from seal_ir.text.symbols import FIRST_TOKEN


@dataclass(frozen=True, slots=True)
class CostRule:
    """When to enumerate and when to verify; changes the time, never the result.

    Attributes:
        narrow: rows of a range up to which its successors are enumerated.
        tops: tokens that the model names for a wide range, in the first and in each further attempt; when
            these do not suffice, its successors are enumerated after all.
        verified: continuations of one decoding that are verified at a time; four times as many each further
            time where the index lies elsewhere, as each is a round trip.
    """

    narrow: int = 4096
    tops: tuple[int, ...] = (64, 448)
    verified: int = 64


class Pairs(NamedTuple):
    """Enumerated continuations."""

    beams: Ints  # [m], ascending
    symbols: Symbols  # [m]
    tokens: Ints  # [m], what the model writes for the symbol
    entries: Ints  # [m], into the ranges of what is known

    def chosen(self, which: Ints | Bools) -> Pairs:
        """Some of them."""
        return Pairs._make(column[which] for column in self)


_NOTHING = np.empty(0, np.int64)
NO_PAIRS = Pairs(_NOTHING, _NOTHING.astype(np.uint32), _NOTHING, _NOTHING)


class Known(NamedTuple):
    """What is known of the continuations before the model is asked."""

    wide: Ints  # beams whose continuations are verified, not enumerated
    pairs: Pairs  # the enumerated ones of all others
    ranges: Ranges  # [n_successors, n_segments, 2]


class Constraint:
    """The best attested continuations of beams."""

    def __init__(self, index: Index, title_end: int, n_best: int, rule: CostRule) -> None:
        """Of `index`.

        Args:
            index: what is attested.
            title_end: the token that the model writes where a title or a further field ends.
            n_best: continuations wanted of each decoding.
            rule: see `CostRule`.
        """
        self._index, self._title_end, self._n_best, self._rule = index, title_end, n_best, rule

    def known(self, beams: Beams, n_vocabulary: int) -> Known:
        """Enumerate what follows narrow beams and the model, with its `n_vocabulary` tokens, can write."""
        narrow = (beams.ranges[..., 1] - beams.ranges[..., 0]).sum(axis=1) <= self._rule.narrow
        pairs, ranges = self._enumerated(beams, np.flatnonzero(narrow), n_vocabulary)
        return Known(np.flatnonzero(~narrow), pairs, ranges)

    def living(self, beams: Beams, n_vocabulary: int) -> tuple[Beams, Known, Ints]:
        """The beams that something may follow, what is known of it, and which of `beams` they are."""
        known = self.known(beams, n_vocabulary)
        alive = np.zeros(len(beams.jobs), dtype=bool)
        alive[known.wide] = alive[known.pairs.beams] = True
        renumbered = np.cumsum(alive) - 1
        pairs = known.pairs._replace(beams=renumbered[known.pairs.beams])
        which = np.flatnonzero(alive)
        return beams.chosen(which), Known(renumbered[known.wide], pairs, known.ranges), which

    def best(
        self, beams: Beams, known: Known, following: NextTokens, rows: Ints, tokens: Ints
    ) -> tuple[Candidates, Floats]:
        """The best attested continuations of each decoding, and what else is to be read in the same go.

        Args:
            beams: all beams.
            known: what `known` says about them.
            following: the distributions of their next tokens.
            rows: of pairs of row and token whose log-probabilities are wanted too.
            tokens: of the same.

        Returns:
            Candidates decoding by decoding and best first, ties by symbol and then by beam; and the
            log-probabilities float32 [len(rows)].
        """
        pairs = known.pairs
        ends = known.wide[beams.may_end[known.wide]]
        ends = ends if self._title_end < following.n_vocabulary else ends[:0]
        read = following.read(
            np.concatenate([pairs.beams, ends, rows]),
            np.concatenate([pairs.tokens, np.full(len(ends), self._title_end), tokens]),
            known.wide,
            min(self._rule.tops[0], following.n_vocabulary),
        )
        n, m = len(pairs.beams), len(pairs.beams) + len(ends)
        found = self._scored(beams, pairs, known.ranges, read.logprobs[:n])
        if len(known.wide):
            self._index.expect(found.ranges)
            pool = Pool(beams)
            pool.add_ends(ends, self._title_end, read.logprobs[n:m])
            pool.add_tops(known.wide, read, following.n_vocabulary)
            found = self._verified(beams, found, pool, following)
        return best_of_each(found, beams.jobs, self._n_best), read.logprobs[m:]

    def _verified(self, beams: Beams, found: Candidates, pool: Pool, following: NextTokens) -> Candidates:
        """`found`, and from the pool all that can be among the best with it."""
        n_jobs = int(beams.jobs[-1]) + 1
        attempts, n_verified = np.zeros(len(beams.jobs), dtype=np.int64), self._rule.verified
        while True:
            so_far = joined([found, pool.attested])
            # What ties with the last of the best is looked at too: symbols decide between them.
            least = nth_best(so_far.scores, beams.jobs[so_far.beams], n_jobs, self._n_best)[beams.jobs]
            due = pool.due(least, n_verified)
            if len(due):
                n_verified *= 4 if self._index.is_remote else 1
                ranges = np.ascontiguousarray(beams.ranges[pool.beams[due]])
                pool.settle(due, self._index.extend(ranges, pool.symbols[due]))
                continue
            uncertain = pool.uncertain(least)
            if not len(uncertain):
                return so_far
            attempts[uncertain] += 1
            for level, k in enumerate(self._rule.tops[1:], start=1):
                self._widen(pool, uncertain[attempts[uncertain] == level], k, following)
            hopeless = uncertain[attempts[uncertain] >= len(self._rule.tops)]
            if len(hopeless):
                pool.drop(hopeless)
                found = joined([found, self._all_of(beams, hopeless, following)])

    def _widen(self, pool: Pool, beams: Ints, k: int, following: NextTokens) -> None:
        """Read more of the best tokens of some beams."""
        if len(beams):
            nothing = np.empty(0, np.int64)
            read = following.read(nothing, nothing, beams, min(k, following.n_vocabulary))
            pool.drop_tops(beams)
            pool.add_tops(beams, read, following.n_vocabulary)

    def _all_of(self, beams: Beams, which: Ints, following: NextTokens) -> Candidates:
        """The best of all that follows some beams, enumerated after all."""
        pairs, ranges = self._enumerated(beams, which, following.n_vocabulary)
        read = following.read(pairs.beams, pairs.tokens, np.empty(0, np.int64), 1)
        return self._scored(beams, pairs, ranges, read.logprobs)

    def _enumerated(self, beams: Beams, which: Ints, n_vocabulary: int) -> tuple[Pairs, Ranges]:
        """All that may follow some beams: any token inside a field, or the end of one that has begun."""
        if not len(which):
            return NO_PAIRS, beams.ranges[:0]
        # Beams of different queries often share a range: ask once.
        ranges, group = np.unique(beams.ranges[which], axis=0, return_inverse=True)
        successors = self._index.successors(np.ascontiguousarray(ranges))
        owner, entries = _expanded(successors.offsets, group.reshape(-1))
        symbols = successors.symbols[entries]
        ends = symbols == beams.ends[which][owner]
        inside = symbols >= FIRST_TOKEN
        tokens = np.where(inside, symbols.astype(np.int64) - FIRST_TOKEN, self._title_end)
        allowed = inside | (ends & beams.may_end[which][owner])
        allowed &= tokens < n_vocabulary
        return Pairs(which[owner], symbols, tokens, entries).chosen(allowed), successors.ranges

    def _scored(self, beams: Beams, pairs: Pairs, ranges: Ranges, logprobs: Floats) -> Candidates:
        """Enumerated continuations with their scores, without those that are surely not among the best."""
        scores = beams.logprobs[pairs.beams] + logprobs
        kept = np.isfinite(scores)
        scores[~kept] = -np.inf
        bounds = np.searchsorted(beams.jobs[pairs.beams], np.arange(beams.jobs.max(initial=-1) + 2))
        for lo, hi in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            if hi - lo > self._n_best:
                kept[lo:hi] &= scores[lo:hi] >= np.partition(scores[lo:hi], -self._n_best)[-self._n_best]
        beam, symbols, tokens, entries = pairs.chosen(kept)
        return Candidates(beam, symbols, tokens, scores[kept], ranges[entries])


def _expanded(offsets: Ints, which: Ints) -> tuple[Ints, Ints]:
    """For owners that each point to a group of entries: owner and entry of every pair."""
    sizes = np.diff(offsets)[which]
    owner = np.repeat(np.arange(len(which)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return owner, np.repeat(offsets[which], sizes) + within
