"""Lengths of values from the places of the symbols around them, a piece of the places at a time."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from seal_ir.arrays import Ints
from seal_ir.index import value_lengths as module
from seal_ir.index.engine import Occurrences
from seal_ir.index.value_lengths import longest, value_lengths
from seal_ir.text.symbols import BOUNDARY, TITLE_END, Marks

# Documents and ends of each symbol's occurrences, in the order of their rows.
TITLE_ENDS = [(0, 3), (2, 5), (1, 3), (3, 1)]
STARTS, ENDS = [(1, 9), (0, 4), (1, 20)], [(1, 22), (1, 12), (0, 5)]
MARKS = Marks(7, 8)


def lengths_of(places: dict[int, list[tuple[int, int]]], marks: Marks, size: int) -> Ints:
    """Through stubs of `Index.find` and `Index.locate`, `size` places at a time."""

    def find(symbols: list[int]) -> tuple[tuple[int, int], ...]:
        (symbol,) = symbols
        return ((symbol * 100, symbol * 100 + len(places[symbol])),)

    def pieces(found: tuple[tuple[int, int], ...]) -> list[SimpleNamespace]:
        ((lo, hi),) = found
        return [SimpleNamespace(ranges=((at, min(at + size, hi)),)) for at in range(lo, hi, size)]

    def locate(asked: list[tuple[tuple[int, int], ...]]) -> Occurrences:
        (((lo, hi),),) = asked
        chosen = places[lo // 100][lo % 100 : hi - lo // 100 * 100]
        documents, ends = (np.array([place[i] for place in chosen], dtype=np.int64) for i in range(2))
        return Occurrences(np.array([0, len(chosen)]), documents, ends)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "pieces", pieces)
        return value_lengths(find, locate, marks)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 2, 10])
def test_values_of_each_length_are_counted_over_all_pieces(size: int) -> None:
    titles = lengths_of({TITLE_END: TITLE_ENDS}, Marks(BOUNDARY, TITLE_END), size)
    assert (titles.tolist(), titles.dtype) == ([1, 0, 2, 0, 1], np.int64)
    further = lengths_of({7: STARTS, 8: ENDS}, MARKS, size)
    assert (further.tolist(), further.dtype) == ([0, 1, 1, 1], np.int64)


def test_a_field_that_no_document_has() -> None:
    for marks in (Marks(BOUNDARY, TITLE_END), MARKS):
        assert lengths_of(dict.fromkeys(marks, []), marks, 2).tolist() == [0]


def test_the_longest_of_some_fields() -> None:
    counts = {"title": [0, 3, 0, 1], "tag": [0, 0, 5], "none": [0]}
    index = SimpleNamespace(whole_fields=counts, value_lengths=lambda name: np.array(counts[name]))
    asked = [["title", "tag"], ["tag"], ["none"], ["absent"], [], ["absent", "tag"]]
    assert [longest(index, names) for names in asked] == [3, 2, 1, 1, 1, 2]
