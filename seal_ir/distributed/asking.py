"""Questions to all shards about n-grams, as few as can be: one round trip for a step of decoding.

A step asks twice: whether what the model would write occurs, and, of the n-grams that go on, what follows
them. So with the first answer shards tell what follows those that may go on, and the second question is
answered from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seal_ir.arrays import Bools, Ints, Symbols
from seal_ir.distributed.messages import (
    ALWAYS,
    MOST_ROWS,
    NARROW,
    NEVER,
    Answered,
    Asked,
    Shards,
    Within,
    joined,
    narrowed,
)
from seal_ir.distributed.tree import ROOT, NGramTree, as_ranges, numbers_of
from seal_ir.index.engine import Successors
from seal_ir.text.symbols import FIRST_TOKEN

_NOTHING = np.empty(0, np.int64)


class Asking:
    """What has been asked of shards, and what is known from their answers.

    Attributes:
        tree: the n-grams that were met.
    """

    def __init__(self, shards: Shards, within: Within, allowed: Sequence[Any]) -> None:
        """Nothing is known yet.

        Args:
            shards: who answers.
            within: of which documents.
            allowed: what each shard is given of these.
        """
        self._shards, self._within, self._allowed = shards, within, allowed
        self.tree = NGramTree()
        self._first: list[tuple[Symbols, Ints]] = []  # all symbols and their counts, once they are known
        self._expected: Ints | None = None
        self._following: dict[bytes, tuple[Symbols, Ints]] = {}

    def session(self) -> Asking:
        """The same shards with a tree of their own, for one batch."""
        made = Asking(self._shards, self._within, self._allowed)
        made._first = self._first
        return made

    def expect(self, ranges: Ints) -> None:
        """Take what follows these along with the next answer; see `Index.expect`."""
        self._following = {}  # of the step before
        numbers = numbers_of(ranges)
        counts = ranges[:, 0, 1] - numbers
        _, last = self.tree.last(numbers)
        self._expected = numbers[(counts > 0) & (counts <= MOST_ROWS) & (last >= FIRST_TOKEN)]

    def first_symbols(self) -> Successors:
        """See `Index.first_symbols`."""
        symbols, counts = self._all_first()
        numbers = self.tree.add(np.full(len(symbols), ROOT), symbols)
        offsets = np.array([0, len(symbols)], dtype=np.int64)
        return Successors(offsets, symbols, as_ranges(numbers, counts))

    def extend(self, ranges: Ints, symbols: Symbols) -> Ints:
        """See `Index.extend`."""
        prefixes, occurs = numbers_of(ranges), ranges[:, 0, 1] > ranges[:, 0, 0]
        counts = np.zeros(len(prefixes), dtype=np.int64)
        of_root = occurs & (prefixes == ROOT)
        if of_root.any():
            counts[of_root] = self._first_counts(symbols[of_root])
        asked = np.flatnonzero(occurs & ~of_root)
        if len(asked):
            counts[asked] = self._counted(prefixes[asked], symbols[asked])
        return as_ranges(self.tree.add(prefixes, symbols), counts)

    def successors(self, ranges: Ints) -> Successors:
        """See `Index.successors`."""
        numbers = numbers_of(ranges)
        occurs = np.flatnonzero(ranges[:, 0, 1] > ranges[:, 0, 0])
        names = dict(zip(occurs.tolist(), self.tree.names(numbers[occurs]), strict=True))
        known = self._following
        if any(not name for name in names.values()):
            known[b""] = self._all_first()
        new: dict[bytes, int] = {name: int(numbers[i]) for i, name in names.items() if name not in known}
        if new:
            prefixes, last = self.tree.last(np.array(list(new.values()), dtype=np.int64))
            answered = self._continued(prefixes, last, np.full(len(last), ALWAYS, np.uint8))
            known.update(zip(new, _following(answered, range(len(new))), strict=True))
        nothing = np.empty(0, np.uint32), _NOTHING
        each = [known[names[i]] if i in names else nothing for i in range(len(numbers))]
        sizes = np.array([len(symbols) for symbols, _ in each], dtype=np.int64)
        symbols = np.concatenate([nothing[0], *(symbols for symbols, _ in each)])
        counts = np.concatenate([_NOTHING, *(counts for _, counts in each)])
        added = self.tree.add(np.repeat(numbers, sizes), symbols)
        return Successors(np.cumsum([0, *sizes.tolist()]), symbols, as_ranges(added, counts))

    def find_all(self, ngrams: Iterable[tuple[int, ...]]) -> dict[tuple[int, ...], Ints]:
        """See `Index.find_all`; without the empty one."""
        prefixes = {ngram[:length] for ngram in ngrams for length in range(1, len(ngram) + 1)}
        numbers: dict[tuple[int, ...], int] = {(): ROOT}
        by_length: dict[int, list[tuple[int, ...]]] = {}
        for prefix in sorted(prefixes):
            by_length.setdefault(len(prefix), []).append(prefix)
        known: list[tuple[int, ...]] = []
        for length in sorted(by_length):
            here = by_length[length]
            before = np.array([numbers[prefix[:-1]] for prefix in here], dtype=np.int64)
            last = np.array([prefix[-1] for prefix in here], dtype=np.uint32)
            numbers.update(zip(here, self.tree.add(before, last).tolist(), strict=True))
            known += here
        if not known:
            return {}
        which = np.array([numbers[prefix] for prefix in known], dtype=np.int64)
        answers = self._ask("counted", self.tree.ngrams(which))
        counts = np.sum([answer.astype(np.int64) for answer in answers], axis=0)
        return dict(zip(known, as_ranges(which, counts), strict=True))

    def _counted(self, prefixes: Ints, symbols: Symbols) -> Ints:
        """Counts of n-grams; what follows those that may go on is kept for `successors`."""
        n, expected = len(prefixes), self._expected
        opened = np.full(n, NEVER, np.uint8)
        if expected is not None:
            before, last = self.tree.last(expected)
            opened = np.r_[np.where(symbols >= FIRST_TOKEN, NARROW, NEVER), np.full(len(last), NARROW)]
            prefixes, symbols = np.r_[prefixes, before], np.r_[symbols, last]
            self._expected = _NOTHING
        answered = self._continued(prefixes, symbols, opened.astype(np.uint8))
        return answered.counts[:n].astype(np.int64)

    def _continued(self, prefixes: Ints, symbols: Symbols, opened: NDArray[np.uint8]) -> Answered:
        distinct, owners = np.unique(prefixes, return_inverse=True)
        ngrams = self.tree.ngrams(distinct)
        asked = Asked(ngrams, narrowed(owners.reshape(-1)), symbols, opened)
        answers: list[Answered] = self._ask("continued", asked)
        answered = joined(answers)
        whole = np.flatnonzero((opened == NARROW) & _complete(answers) & (answered.counts > 0))
        if len(whole):
            names = ngrams.names
            these = [names[owners[i]] + symbols[i].tobytes() for i in whole.tolist()]
            self._following.update(zip(these, _following(answered, whole.tolist()), strict=True))
        return answered

    def _first_counts(self, symbols: Symbols) -> Ints:
        known, counts = self._all_first()
        at = np.minimum(np.searchsorted(known, symbols), len(known) - 1)
        return np.where(known[at] == symbols, counts[at], 0)

    def _all_first(self) -> tuple[Symbols, Ints]:
        if not self._first:
            parts = self._ask("first_symbols")
            one = [
                Answered(np.ones(1, np.int64), np.array([0, len(symbols)]), symbols, counts)
                for symbols, counts in parts
            ]
            whole = joined(one)
            self._first.append((whole.symbols, whole.follows.astype(np.int64)))
        return self._first[0]

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        return self._shards.ask(method, [(self._within, allowed, *arguments) for allowed in self._allowed])


def _complete(answers: Sequence[Answered]) -> Bools:
    """Of which n-grams every shard has told what follows, [n]."""
    complete: Bools = np.all([answer.counts <= MOST_ROWS for answer in answers], axis=0)
    return complete


def _following(answered: Answered, which: Sequence[int]) -> list[tuple[Symbols, Ints]]:
    """What follows some n-grams, and how often."""
    offsets, follows = answered.offsets.tolist(), answered.follows.astype(np.int64)
    return [
        (answered.symbols[offsets[i] : offsets[i + 1]], follows[offsets[i] : offsets[i + 1]]) for i in which
    ]
