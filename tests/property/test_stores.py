"""Token stores give every stream back as engines do, and rankings do not notice them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.config import RankConfig
from seal_ir.index.value_lengths import value_lengths
from seal_ir.rank.ranker import rank
from seal_ir.records import BODY, Key, QueryKeys, Range, Unigrams
from seal_ir.text.symbols import TITLE_MARKS, further_marks
from tests.helpers.engines import BOUNDARY, FACTORIES, MODULES, integers
from tests.helpers.examples import examples
from tests.helpers.stores import token_stores, with_stores
from tests.helpers.streams import SCAN, StreamIndex

FEW = examples(40)
# Of two symbols, of many, of such that need a table of 2^24 entries, and the largest that there are.
ALPHABETS = [(2, 3), tuple(range(2, 40)), (5, 60_000, 70_000, 16_777_215), (2, 16_777_216, 4_294_967_295)]


def _documents(alphabet: tuple[int, ...]) -> st.SearchStrategy[list[list[int]]]:
    body = st.lists(st.sampled_from(alphabet), max_size=40)
    return st.lists(body.map(lambda symbols: [BOUNDARY, *symbols]), min_size=1, max_size=12)


corpora = st.sampled_from(ALPHABETS).flatmap(_documents)


def _extracted(stores: object, documents: list[int]) -> list[list[int]]:
    offsets, symbols = stores.extract(integers(*documents))  # type: ignore[attr-defined]
    return [symbols[lo:hi].tolist() for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]


@pytest.mark.slow
@FEW
@given(segments=st.lists(corpora, min_size=1, max_size=3), seed=st.integers(0, 2**32))
def test_stores_give_the_streams_back_in_any_order(segments: list[list[list[int]]], seed: int) -> None:
    stores = token_stores(segments)
    streams = [stream for segment in segments for stream in segment]
    assert stores.n_documents == len(streams)
    assert stores.sizes == [(len(segment), sum(map(len, segment))) for segment in segments]
    wanted = random.Random(seed).choices(range(len(streams)), k=len(streams) + 1)
    assert _extracted(stores, list(range(len(streams)))) == streams
    assert _extracted(stores, wanted) == [streams[number] for number in wanted]
    assert _extracted(stores, []) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", sorted(FACTORIES))
@FEW
@given(documents=corpora)
def test_stores_say_what_each_engine_extracts(engine: str, documents: list[list[int]]) -> None:
    pytest.importorskip(MODULES[engine])
    everyone = integers(*range(len(documents)))
    extracted = FACTORIES[engine](documents).engine.extract(everyone)
    for ours, theirs in zip(token_stores([documents]).extract(everyone), extracted, strict=True):
        assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())


@st.composite
def values(draw: st.DrawFn) -> list[list[int]]:
    """Streams with a title and some values of a further field."""
    start, end = further_marks(0)
    text = st.lists(st.integers(16, 19), max_size=5)
    several = st.lists(text, max_size=3).map(lambda found: [s for v in found for s in (start, *v, end)])
    stream = st.tuples(text, text, several).map(lambda parts: [1, *parts[0], 2, *parts[1], *parts[2]])
    return draw(st.lists(stream, min_size=1, max_size=8))


@FEW
@given(streams=values(), n_segments=st.integers(1, 3))
def test_values_have_the_lengths_that_locating_them_finds(streams: list[list[int]], n_segments: int) -> None:
    index = StreamIndex(streams, n_segments, engine=SCAN, further_fields=("f",))
    stores = with_stores(index, streams).stores.compiled
    for marks in (TITLE_MARKS, further_marks(0), further_marks(1)):
        expected = value_lengths(index.find, index.locate, marks).tolist()
        assert stores.value_lengths(*marks, marks.start == BOUNDARY).tolist() == expected


@st.composite
def queries(draw: st.DrawFn) -> tuple[list[list[int]], list[list[int]]]:
    """Streams, and n-grams of them as keys."""
    body = st.lists(st.integers(16, 24), min_size=1, max_size=25)
    streams = draw(st.lists(body.map(lambda symbols: [1, 2, *symbols]), min_size=1, max_size=30))
    ngram = st.tuples(st.sampled_from(streams), st.integers(2, 20), st.integers(1, 4))
    drawn = draw(st.lists(ngram, min_size=1, max_size=12))
    return streams, [part for stream, at, n in drawn if (part := stream[at : at + n])]


@FEW
@given(
    case=queries(),
    max_count=st.integers(1, 20),
    score=st.sampled_from(["intersective", "max"]),
    n_segments=st.integers(1, 3),
    n_hits=st.integers(1, 30),
)
def test_rankings_with_and_without_stores_are_the_same(
    case: tuple[list[list[int]], list[list[int]]], max_count: int, score: str, n_segments: int, n_hits: int
) -> None:
    streams, ngrams = case
    index = StreamIndex(streams, n_segments, engine=SCAN)

    def ranges_of(ngram: list[int]) -> tuple[Range, ...]:
        return index.find(ngram)

    distinct = sorted(set(map(tuple, ngrams)))
    keys = [
        Key(ngram, -1.0 - i, sum(hi - lo for lo, hi in ranges_of(list(ngram))), ranges_of(list(ngram)), BODY)
        for i, ngram in enumerate(distinct)
    ]
    symbols = [symbol for symbol in range(16, 24) if any(lo < hi for lo, hi in index.find([symbol]))]
    counts = np.array([sum(hi - lo for lo, hi in index.find([symbol])) for symbol in symbols], dtype=np.int64)
    unigrams = Unigrams(np.array(symbols, dtype=np.uint32), np.full(len(symbols), -2.0), counts)
    asked = QueryKeys(tuple(keys), unigrams)
    config = RankConfig(max_count=max_count, smoothing=0.0, score=score)  # type: ignore[arg-type]
    expected = rank(index, asked, config, n_hits)
    assert rank(with_stores(index, streams), asked, config, n_hits) == expected
