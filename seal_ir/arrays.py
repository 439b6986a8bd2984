"""The arrays that travel between modules, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Symbols = NDArray[np.uint32]  # of the index alphabet: text/symbols.py
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Bools = NDArray[np.bool_]
