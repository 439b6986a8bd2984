"""The intersective score of one document: keys in descending weight, none overlapping an earlier one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from seal_ir.text.symbols import Symbols


class WeightedKey(NamedTuple):
    """A key as the score sees it: w^alpha, its length and its distinct symbols."""

    weight: float
    length: int
    symbols: frozenset[int]


class Coverage(NamedTuple):
    """The keys that a document's score is made of.

    Attributes:
        taken: position of each counted key in the list of keys, with its share of the score.
        symbols: C, all symbols of the counted keys.
        occupied: bool per position of the document, whether a counted key covers it.
    """

    taken: list[tuple[int, float]]
    symbols: set[int]
    occupied: bytearray

    @property
    def score(self) -> float:
        """Sum of the shares."""
        return sum(share for _, share in self.taken)


def cover(
    keys: Sequence[WeightedKey], occurrences: Sequence[tuple[int, int]], length: int, beta: float
) -> Coverage:
    """Take a document's keys in descending weight (the paper's equation 4).

    A key counts if at least one of its occurrences overlaps no occurrence already taken; all such
    occurrences are taken. Its share is w^alpha * (1 - beta + beta * |set(n) - C| / |set(n)|), where C
    holds the symbols of the keys counted before. A key whose share is zero takes nothing.

    Args:
        keys: all keys of the query, by descending weight.
        occurrences: (position in `keys`, exclusive end) of every occurrence, ascending.
        length: number of symbols of the document's stream.
        beta: see above.
    """
    result = Coverage([], set(), bytearray(length))
    occupied = result.occupied
    i = 0
    while i < len(occurrences):
        number = occurrences[i][0]
        key = keys[number]
        free = []
        while i < len(occurrences) and occurrences[i][0] == number:
            end = occurrences[i][1]
            if not any(occupied[end - key.length : end]):
                free.append(end)
            i += 1
        if not free:
            continue
        new = len(key.symbols - result.symbols) / len(key.symbols)
        share = key.weight * (1.0 - beta + beta * new)
        if share <= 0.0:
            continue
        for end in free:
            occupied[end - key.length : end] = b"\1" * key.length
        result.symbols.update(key.symbols)
        result.taken.append((number, share))
    return result


def fill(
    coverage: Coverage, stream: Symbols, weights: NDArray[np.float64], beta: float
) -> list[tuple[int, float]]:
    """Symbols at positions that no key has taken, each once, with their shares.

    Args:
        coverage: what the keys have taken.
        stream: the document, uint32 [length].
        weights: by symbol; 0 for symbols that do not count.
        beta: a symbol of C counts 1 - beta of its weight.
    """
    free = np.frombuffer(coverage.occupied, dtype=np.uint8) == 0
    symbols = np.unique(stream[free])
    symbols = symbols[symbols < len(weights)]
    shares = []
    for symbol, weight in zip(symbols.tolist(), weights[symbols].tolist(), strict=True):
        share = weight * (1.0 - beta) if symbol in coverage.symbols else weight
        if share > 0.0:
            shares.append((symbol, share))
    return shares
