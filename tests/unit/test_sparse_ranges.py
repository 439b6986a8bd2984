"""Ranges of many segments as tuples and in pieces: what is empty shares one value, and no row is lost."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.index import engines
from seal_ir.index.engines import as_tuples, pieces
from seal_ir.records import Range

ranges = st.tuples(st.integers(0, 30), st.integers(0, 9)).map(lambda pair: Range(pair[0], sum(pair)))
some = st.just(Range(0, 0)) | ranges
rows = st.lists(some, min_size=1, max_size=7)


@given(st.integers(1, 5).flatmap(lambda n: st.lists(st.tuples(*[some] * n), max_size=6)))
def test_tuples_are_those_of_the_array(ngrams: list[tuple[Range, ...]]) -> None:
    n_segments = len(ngrams[0]) if ngrams else 3
    found = as_tuples(np.array(ngrams, dtype=np.int64).reshape(len(ngrams), n_segments, 2))
    assert found == ngrams
    assert all(type(part) is Range for ngram in found for part in ngram)
    assert all(type(end) is int for ngram in found for part in ngram for end in part)


def test_empty_ranges_share_one_value() -> None:
    found = as_tuples(np.zeros((3, 64, 2), dtype=np.int64))
    assert len({id(part) for ngram in found for part in ngram}) == 1


@pytest.mark.parametrize("piece", [1, 3, 100])
@given(rows)
def test_pieces_have_every_row_once_and_tell_where_a_segment_begins(piece: int, ngram: list[Range]) -> None:
    with patch.object(engines, "PIECE", piece):
        found = list(pieces(ngram))
    seen = []
    for some, begins in found:
        assert len(some) == len(ngram)
        assert 0 < sum(hi - lo for lo, hi in some) <= piece
        own = [(s, row) for s, part in enumerate(some) for row in range(*part)]
        first, row = own[0]
        assert begins == (row == ngram[first].lo)
        seen += own
    assert seen == [(s, row) for s, part in enumerate(ngram) for row in range(*part)]
    assert all(sum(hi - lo for lo, hi in some.ranges) == piece for some in found[:-1])
