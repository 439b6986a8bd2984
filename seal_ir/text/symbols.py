"""The index alphabet: control symbols first, then the tokenizer's ids shifted past them.

A document's stream is `BOUNDARY title TITLE_END body`, then each value of its further fields between a start
and an end symbol of that field. Control symbols lie outside the tokenizer's vocabulary, so nothing that a
document or a query says can move a boundary, and one index serves every model that has the same tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Symbols

SENTINEL = 0  # ends the text inside the FM-index; never in a stream
BOUNDARY = 1  # starts every document
TITLE_END = 2
FIRST_TOKEN = 16  # symbol of token id 0
MAX_FURTHER = (FIRST_TOKEN - TITLE_END - 1) // 2  # fields beside title and body, with two symbols each


class Marks(NamedTuple):
    """The symbols around a field that is written whole."""

    start: int
    end: int


TITLE_MARKS = Marks(BOUNDARY, TITLE_END)


def further_marks(number: int) -> Marks:
    """The symbols around the values of a further field, by its number in [0, MAX_FURTHER)."""
    start = TITLE_END + 1 + 2 * number
    return Marks(start, start + 1)


def to_symbols(token_ids: Sequence[int]) -> Symbols:
    """The symbols of token ids."""
    return np.asarray(token_ids, dtype=np.uint32) + np.uint32(FIRST_TOKEN)


def to_tokens(symbols: Sequence[int] | Symbols) -> list[int]:
    """The token ids of symbols, control symbols left out."""
    return [int(symbol) - FIRST_TOKEN for symbol in symbols if symbol >= FIRST_TOKEN]


def stream(
    title: Sequence[int], body: Sequence[int], further: Iterable[tuple[Marks, Sequence[int]]] = ()
) -> Symbols:
    """One document's stream from the token ids of its fields."""
    parts = [_control(BOUNDARY), to_symbols(title), _control(TITLE_END), to_symbols(body)]
    for marks, value in further:
        parts += [_control(marks.start), to_symbols(value), _control(marks.end)]
    return np.concatenate(parts)


def packed_stream(title: bytes, body: bytes, further: Iterable[tuple[Marks, bytes]] = ()) -> Symbols:
    """`stream` from the symbols of the fields, as bytes; read-only."""
    parts = [_BOUNDARY, title, _TITLE_END, body]
    for marks, value in further:
        parts += [_control(marks.start).tobytes(), value, _control(marks.end).tobytes()]
    return np.frombuffer(b"".join(parts), np.uint32)


def split_stream(symbols: Symbols) -> tuple[Symbols, Symbols]:
    """Title and body symbols of one document's stream."""
    title_end, *others = np.flatnonzero(symbols[1:] < FIRST_TOKEN).tolist()
    body_end = others[0] if others else len(symbols) - 1
    return symbols[1 : title_end + 1], symbols[title_end + 2 : body_end + 1]


def split_further(symbols: Symbols) -> list[tuple[int, Symbols]]:
    """Start symbol and value of each further field in one document's stream, in order."""
    controls = np.flatnonzero(symbols < FIRST_TOKEN)[2:].reshape(-1, 2)
    return [(int(symbols[start]), symbols[start + 1 : end]) for start, end in controls.tolist()]


def _control(symbol: int) -> Symbols:
    return np.array([symbol], dtype=np.uint32)


_BOUNDARY, _TITLE_END = _control(BOUNDARY).tobytes(), _control(TITLE_END).tobytes()
