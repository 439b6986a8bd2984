"""The rows of n-grams in a shard: those asked for lately are remembered, others are found from the start."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.index.engine import Successors
from seal_ir.index.reader import Index
from seal_ir.index.sparse import Ranges

_MOST = 1 << 18  # n-grams to remember; about 80 MB
_SYMBOL = 4  # bytes of one in an n-gram's name


class Rows:
    """Rows by the n-gram, for an index or a view of one. Safe to use from several threads.

    Nothing of it is needed for a right answer: a step of decoding asks for n-grams by one symbol longer than
    those of the step before, which are remembered, and a lost memory costs a search from the first symbol.

    Attributes:
        index: whose rows.
    """

    def __init__(self, index: Index) -> None:
        """Remember nothing yet."""
        self.index = index
        self._known: dict[bytes, Ints] = {b"": index.everything}

    def of(self, names: Sequence[bytes]) -> Ints:
        """Rows of n-grams, int64 [n, n_segments, 2].

        Args:
            names: the bytes of each one's symbols.
        """
        found: dict[bytes, Ints] = {}
        missing: dict[int, list[bytes]] = {}  # by length
        for name in names:
            while name not in found:
                known = self._known.get(name)
                if known is not None:
                    found[name] = known
                    break
                found[name] = self.index.everything  # until it is looked up
                missing.setdefault(len(name), []).append(name)
                name = name[:-_SYMBOL]
        for length in sorted(missing):
            new = missing[length]
            before = np.stack([found[name[:-_SYMBOL]] for name in new])
            last = np.frombuffer(b"".join(name[-_SYMBOL:] for name in new), dtype=np.uint32)
            found.update(zip(new, self.index.extend(before, last), strict=True))
        self._remember(found)
        return np.stack([found[name] for name in names]) if names else self.index.everything[None][:0]

    def extended(self, names: Sequence[bytes], owners: Ints, symbols: Symbols, kept: Ints) -> Ints:
        """Rows of n-grams with a symbol appended, int64 [n, n_segments, 2].

        Args:
            names: of distinct n-grams.
            owners: which of them is extended, int64 [n].
            symbols: uint32 [n].
            kept: which of the results are to be remembered.
        """
        if not len(owners):
            return self.index.everything[None][:0]
        ranges = self.index.extend(np.ascontiguousarray(self.of(names)[owners]), symbols)
        new = {
            names[owner] + symbol.tobytes(): ranges[i]
            for i, owner, symbol in zip(kept.tolist(), owners[kept].tolist(), symbols[kept], strict=True)
        }
        self._remember(new)
        return ranges

    def successors(self, ranges: Ints) -> Successors:
        """See `Index.successors`; of rows as they are given here."""
        return self.index.successors(np.ascontiguousarray(ranges))

    def _remember(self, found: dict[bytes, Ints]) -> None:
        if len(self._known) + len(found) > _MOST:
            self._known = {b"": self.index.everything}
        self._known.update(found)


def counts_of(ranges: Ranges) -> Ints:
    """F of n-grams with ranges [..., n_segments, 2]."""
    whole = np.asarray(ranges)
    counts: Ints = (whole[..., 1] - whole[..., 0]).sum(axis=-1)
    return counts
