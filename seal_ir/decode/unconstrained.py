"""What may follow each beam when nothing is forbidden: the paper's ablation of the constraint.

The model writes what it likes and ranges are carried along, so that what does not occur is known by its empty
range; the keys that are left are those that happen to be in the corpus.
"""

from __future__ import annotations

import numpy as np

from seal_ir.arrays import Floats, Ints
from seal_ir.decode.constraint import NO_PAIRS, Known
from seal_ir.decode.hypotheses import Beams, Candidates, best_of_each
from seal_ir.index.reader import Index
from seal_ir.lm.protocols import NextTokens, Read
from seal_ir.text.symbols import FIRST_TOKEN


class Unconstrained:
    """The best continuations of beams by the model's account alone; stands in for a `Constraint`."""

    def __init__(self, index: Index, title_end: int, n_best: int) -> None:
        """Of `index`; see `Constraint`."""
        self._index, self._title_end, self._n_best = index, title_end, n_best

    def known(self, beams: Beams, n_vocabulary: int) -> Known:
        """Nothing is known before the model is asked."""
        return Known(np.arange(len(beams.jobs)), NO_PAIRS, beams.ranges[:0])

    def living(self, beams: Beams, n_vocabulary: int) -> tuple[Beams, Known, Ints]:
        """All beams, which may always go on; see `Constraint.living`."""
        return beams, self.known(beams, n_vocabulary), np.arange(len(beams.jobs))

    def best(
        self, beams: Beams, known: Known, following: NextTokens, rows: Ints, tokens: Ints
    ) -> tuple[Candidates, Floats]:
        """See `Constraint.best`; ranges of what does not occur are empty.

        A field written whole ends with its first `title_end`, and does not begin with it.
        """
        read = self._read(known, following, rows, tokens)
        k = read.top_tokens.shape[1]
        beam = np.repeat(known.wide, k)
        written, logprobs = read.top_tokens.reshape(-1), read.top_logprobs.reshape(-1)
        anchored = beams.ends[beam] > 0
        ends = anchored & (written == self._title_end)
        symbols = np.where(ends, beams.ends[beam], written + FIRST_TOKEN).astype(np.uint32)
        scores = beams.logprobs[beam] + logprobs
        kept = np.flatnonzero(np.isfinite(scores) & (beams.may_end[beam] | ~ends))
        nowhere = np.zeros((len(kept), *beams.ranges.shape[1:]), np.int64)
        candidates = Candidates(beam[kept], symbols[kept], written[kept], scores[kept], nowhere)
        best = best_of_each(candidates, beams.jobs, self._n_best)
        ranges = self._index.extend(np.ascontiguousarray(beams.ranges[best.beams]), best.symbols)
        return best._replace(ranges=ranges), read.logprobs

    def _read(self, known: Known, following: NextTokens, rows: Ints, tokens: Ints) -> Read:
        """As many of each beam's best tokens as can matter, and all that tie with the last of them."""
        n = self._n_best + 1  # one may be an end that comes too early
        k = min(n + 1, following.n_vocabulary)
        while True:
            read = following.read(rows, tokens, known.wide, k)
            last = read.top_logprobs[:, -1]
            tied = (read.top_logprobs[:, min(n, k) - 1] == last) & np.isfinite(last)
            if k == following.n_vocabulary or not tied.any():
                return read
            k = min(2 * k, following.n_vocabulary)
