"""The index alphabet: control symbols first, then the tokenizer's ids shifted past them.

A document's stream is `BOUNDARY title TITLE_END body`. Control symbols lie outside the tokenizer's
vocabulary, so nothing that a document or a query says can move a boundary, and one index serves every
model that has the same tokenizer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SENTINEL = 0  # ends the text inside the FM-index; never in a stream
BOUNDARY = 1  # starts every document
TITLE_END = 2
FIRST_TOKEN = 16  # symbol of token id 0; 3..15 are free for further fields

Symbols = NDArray[np.uint32]


def to_symbols(token_ids: Sequence[int]) -> Symbols:
    """The symbols of token ids."""
    return np.asarray(token_ids, dtype=np.uint32) + np.uint32(FIRST_TOKEN)


def to_tokens(symbols: Sequence[int] | Symbols) -> list[int]:
    """The token ids of symbols, control symbols left out."""
    return [int(symbol) - FIRST_TOKEN for symbol in symbols if symbol >= FIRST_TOKEN]


def stream(title: Sequence[int], body: Sequence[int]) -> Symbols:
    """One document's stream from the token ids of its fields."""
    return np.concatenate(
        [
            np.array([BOUNDARY], dtype=np.uint32),
            to_symbols(title),
            np.array([TITLE_END], dtype=np.uint32),
            to_symbols(body),
        ]
    )


def split_stream(symbols: Symbols) -> tuple[Symbols, Symbols]:
    """Title and body symbols of one document's stream."""
    end = int(np.flatnonzero(symbols == TITLE_END)[0])
    return symbols[1:end], symbols[end + 1 :]
