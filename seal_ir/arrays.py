"""The arrays that travel between modules, by what they hold, and arithmetic on groups of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Symbols = NDArray[np.uint32]  # of the index alphabet: text/symbols.py
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]


def rank_in_group(groups: Ints) -> Ints:
    """For each entry of a sorted array, how many equal ones come before it, int64 [n]."""
    first = np.searchsorted(groups, groups, side="left")
    rank: Ints = np.arange(len(groups)) - first
    return rank
