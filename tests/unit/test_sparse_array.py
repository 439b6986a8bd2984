"""Ranges that are an array only as far as they are asked for: whatever is asked is the array's answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from seal_ir.arrays import Ints
from seal_ir.index.sparse import SparseRanges

ROWS = np.arange(5 * 3 * 2).reshape(5, 3, 2)


class Compiled:
    """Stands for `SuccessorRanges`; asked for entries that it has, one-dimensional and contiguous."""

    def __len__(self) -> int:
        return len(ROWS)

    def take(self, entries: Ints) -> Ints:
        assert entries.ndim == 1
        assert entries.flags.c_contiguous
        taken: Ints = ROWS[entries].reshape(-1)
        return taken


ASKED: list[Any] = [
    0,
    -1,
    slice(None),
    slice(1, 4, 2),
    slice(3, 3),
    [3, 0, 3],
    np.array([[1, 2], [4, 0]]),
    np.array([True, False, True, False, True]),
    (2, 1),
    (slice(1, 4), 0),
    (slice(None), slice(1, 3), 1),
    (np.array([1, 2]), 2, 0),
]


@pytest.mark.parametrize("which", ASKED, ids=str)
def test_what_is_asked_for_is_the_arrays(which: Any) -> None:
    found = SparseRanges(Compiled(), 3)[which]
    assert np.array_equal(found, ROWS[which])


def test_all_of_them() -> None:
    ranges = SparseRanges(Compiled(), 3)
    assert (len(ranges), ranges.shape) == (5, (5, 3, 2))
    assert ranges.tolist() == ROWS.tolist()
    assert np.array_equal(np.asarray(ranges), ROWS)
    assert np.asarray(ranges, dtype=np.float64).dtype == np.float64
    assert np.asarray(ranges).dtype == ROWS.dtype
