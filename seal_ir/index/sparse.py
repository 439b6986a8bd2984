"""Ranges of which most are empty: arrays only as far as someone asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from seal_ir.arrays import Bools, Ints


class SparseRanges:
    """Ranges int64 [m, n_segments, 2] of which most are empty; an array only as far as it is asked for.

    `ranges[which]` is the array of some, `np.asarray(ranges)` that of all.
    """

    def __init__(self, compiled: Any, n_segments: int) -> None:
        """Args: compiled: `SuccessorRanges` of an extension module; n_segments: of the index."""
        self._compiled = compiled
        self.shape = (len(compiled), n_segments, 2)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Ints | Bools | slice | int | tuple[Any, ...]) -> Ints:
        if isinstance(which, tuple):
            return self[which[0]][:, *which[1:]] if isinstance(which[0], slice) else np.asarray(self)[which]
        entries = np.arange(len(self))[which]
        taken: Ints = self._compiled.take(np.ascontiguousarray(entries.reshape(-1)))
        return taken.reshape(*entries.shape, *self.shape[1:])

    def tolist(self) -> list[list[list[int]]]:
        """All of them, as the array's own."""
        found: list[list[list[int]]] = self[:].tolist()
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Ints:
        return np.asarray(self[:], dtype)


Ranges = Ints | SparseRanges
