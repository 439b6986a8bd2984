"""Every engine agrees with a scan of the text, and keeps the laws of an FM-index."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import oracle
from tests.helpers.engines import BOUNDARY, FACTORIES, MODULES, Factory, Probe
from tests.helpers.examples import examples

MAX_LENGTH = 6
FEW = examples(40)  # the sdsl engine takes 25 ms to build an index of any size
ALPHABETS = [(2, 3), (2, 3, 4, 5), (2, 7, 9, 300), (5, 60_000, 65_535, 70_000), (2, 4_294_967_295)]


@pytest.fixture(params=sorted(FACTORIES), scope="module")
def engine_factory(request: pytest.FixtureRequest) -> Factory:
    pytest.importorskip(MODULES[request.param])
    return FACTORIES[request.param]


def _documents(alphabet: tuple[int, ...]) -> st.SearchStrategy[list[list[int]]]:
    body = st.lists(st.sampled_from(alphabet), max_size=12)
    several = st.lists(body, min_size=1, max_size=8)
    repeated = st.tuples(body, st.integers(2, 5)).map(lambda pair: [pair[0]] * pair[1])
    return st.one_of(several, repeated).map(lambda bodies: [[BOUNDARY, *body] for body in bodies])


corpora = st.sampled_from(ALPHABETS).flatmap(_documents)


@st.composite
def probes(draw: st.DrawFn) -> tuple[list[list[int]], list[tuple[int, ...]]]:
    """Documents, and n-grams that occur, that nearly occur, and that do not."""
    documents = draw(corpora)
    alphabet = sorted({symbol for document in documents for symbol in document} | {0, 6, 4_000_000_000})
    present = sorted(oracle.ngrams(documents, MAX_LENGTH))
    absent = st.lists(st.sampled_from(alphabet), min_size=1, max_size=MAX_LENGTH).map(tuple)
    nearly = st.builds(
        lambda ngram, symbol: (*ngram, symbol), st.sampled_from(present), st.sampled_from(alphabet)
    )
    ngrams = st.lists(st.one_of(st.sampled_from(present), nearly, absent), min_size=1, max_size=20)
    return documents, draw(ngrams)


@FEW
@given(case=probes())
def test_d4_count_and_locate_agree_with_the_scan(engine_factory, case) -> None:
    documents, ngrams = case
    probe = engine_factory(documents)
    for ngram in ngrams:
        assert probe.count(ngram) == oracle.count(documents, ngram)
        assert probe.occurrences(ngram) == oracle.occurrences(documents, ngram)


@pytest.mark.slow
@FEW
@given(case=probes())
def test_successors_agree_with_the_scan_and_with_extend(engine_factory, case) -> None:
    documents, ngrams = case
    probe = engine_factory(documents)
    for ngram in [(), *ngrams]:
        found = probe.successors(ngram)
        assert {symbol: hi - lo for symbol, (lo, hi) in found.items()} == oracle.successors(documents, ngram)
        assert list(found) == sorted(found)
        for symbol, extended in found.items():
            assert extended == probe.range((*ngram, symbol))


@FEW
@given(documents=corpora, seed=st.integers(0, 2**32))
def test_extract_returns_the_streams_in_any_order(engine_factory, documents, seed) -> None:
    probe = engine_factory(documents)
    wanted = random.Random(seed).choices(range(len(documents)), k=len(documents) + 1)
    assert probe.extract(range(len(documents))) == documents
    assert probe.extract(wanted) == [documents[number] for number in wanted]
    assert probe.extract([]) == []


@FEW
@given(documents=corpora, seed=st.integers(0, 2**32))
def test_rows_are_those_of_every_symbol(engine_factory, documents, seed) -> None:
    engine = engine_factory(documents).engine
    wanted = random.Random(seed).choices(range(len(documents)), k=len(documents))
    rows = engine.rows(np.array(wanted, dtype=np.int64))
    places = [[number, end] for number in wanted for end in range(1, len(documents[number]) + 1)]
    assert engine.locate(rows).tolist() == places


@pytest.mark.slow
@FEW
@given(documents=corpora, data=st.data())
def test_a_view_of_a_view_answers_like_an_index_of_its_documents(engine_factory, documents, data) -> None:
    probe = engine_factory(documents)
    for way in data.draw(st.lists(st.sampled_from(["only", "without"]), max_size=3)):
        numbers = range(len(documents))
        named = data.draw(st.lists(st.sampled_from(numbers), unique=True) if numbers else st.just([]))
        probe = Probe(getattr(probe.engine, way)(np.array(named, dtype=np.int64)))
        documents = [documents[n] for n in numbers if (n in named) == (way == "only")]
    assert probe.engine.n_documents == len(documents)
    assert probe.engine.n_rows == sum(map(len, documents)) + 1
    assert probe.extract(range(len(documents))) == documents
    for ngram in [(), *sorted(oracle.ngrams(documents, 3))]:
        found = {symbol: hi - lo for symbol, (lo, hi) in probe.successors(ngram).items()}
        assert found == oracle.successors(documents, ngram)
        if ngram:
            assert probe.occurrences(ngram) == oracle.occurrences(documents, ngram)


@pytest.mark.slow
@FEW
@given(case=probes())
def test_verify_is_extend_of_each_candidate(engine_factory, case) -> None:
    documents, ngrams = case
    probe = engine_factory(documents)
    alphabet = sorted({symbol for document in documents for symbol in document} | {0, 6, 4_000_000_000})
    ranges = np.array([probe.range(ngram) for ngram in [(), *ngrams]], dtype=np.int64)
    candidates = np.tile(np.array(alphabet, dtype=np.uint32), (len(ranges), 1))
    verified = probe.engine.verify(ranges, candidates)
    assert verified.shape == (len(ranges), len(alphabet), 2)
    extended = probe.engine.extend(np.repeat(ranges, len(alphabet), axis=0), candidates.reshape(-1))
    assert np.array_equal(verified.reshape(-1, 2), extended)


@pytest.mark.slow
@FEW
@given(case=probes())
def test_batches_answer_like_single_calls(engine_factory, case) -> None:
    documents, ngrams = case
    probe = engine_factory(documents)
    ranges = np.array([probe.range(ngram) for ngram in [(), *ngrams]], dtype=np.int64)
    offsets, symbols, extended = probe.engine.successors(ranges)
    assert len(offsets) == len(ranges) + 1
    assert offsets[-1] == len(symbols) == len(extended)
    for number, ngram in enumerate([(), *ngrams]):
        part = slice(offsets[number], offsets[number + 1])
        pairs = dict(zip(symbols[part].tolist(), map(tuple, extended[part].tolist()), strict=True))
        assert pairs == probe.successors(ngram)


@pytest.mark.slow
@FEW
@given(case=probes(), cut=st.integers(0, MAX_LENGTH))
def test_extending_twice_is_the_range_of_the_whole(engine_factory, case, cut) -> None:
    documents, ngrams = case
    probe = engine_factory(documents)
    for ngram in ngrams:
        assert probe.range(ngram[cut:], start=probe.range(ngram[:cut])) == probe.range(ngram)


@pytest.mark.slow
@FEW
@given(case=probes(), seed=st.integers(0, 2**32))
def test_permuting_documents_permutes_answers(engine_factory, case, seed) -> None:
    documents, ngrams = case
    order = random.Random(seed).sample(range(len(documents)), len(documents))
    probe, permuted = engine_factory(documents), engine_factory([documents[number] for number in order])
    for ngram in ngrams:
        assert permuted.count(ngram) == probe.count(ngram)
        back = sorted((order[number], end) for number, end in permuted.occurrences(ngram))
        assert back == probe.occurrences(ngram)


@pytest.mark.slow
@FEW
@given(documents=corpora)
def test_boundary_counts_documents_and_nothing_crosses_it(engine_factory, documents) -> None:
    probe = engine_factory(documents)
    engine = probe.engine
    assert probe.count((BOUNDARY,)) == engine.n_documents == len(documents)
    assert engine.boundary == BOUNDARY
    assert engine.n_rows == sum(map(len, documents)) + 1
    for left, right in zip(documents, documents[1:], strict=False):
        assert probe.count((left[-1], *right[:2])) == 0
        assert BOUNDARY not in probe.successors((left[-1],))
    assert probe.successors(())[BOUNDARY] == probe.range((BOUNDARY,))


@pytest.mark.slow
@FEW
@given(case=probes())
def test_empty_ranges_are_zero_zero_and_stay_empty(engine_factory, case) -> None:
    documents, ngrams = case
    probe = engine_factory(documents)
    for ngram in ngrams:
        lo, hi = probe.range(ngram)
        if lo == hi:
            assert (lo, hi) == (0, 0)
            assert probe.range((2,), start=(lo, hi)) == (0, 0)
            assert probe.successors(ngram) == {}


def test_symbols_that_are_not_in_the_index_have_empty_ranges(engine_factory) -> None:
    probe = engine_factory([[BOUNDARY, 5, 9], [BOUNDARY, 9]])
    for symbol in (0, 2, 6, 10, 65_536, 2**32 - 1):
        assert probe.range((symbol,)) == (0, 0)
        assert probe.range((9, symbol)) == (0, 0)


@examples(5)
@given(seed=st.integers(0, 2**32))
def test_longer_texts_agree_with_the_scan(engine_factory, seed) -> None:
    source = random.Random(seed)
    words = [int(2 + 400 * source.random() ** 3) for _ in range(3000)]
    cuts = sorted(source.sample(range(3000), 40))
    documents = [[BOUNDARY, *words[lo:hi]] for lo, hi in zip([0, *cuts], [*cuts, 3000], strict=True)]
    probe = engine_factory(documents)
    assert probe.extract(range(len(documents))) == documents
    assert {s: hi - lo for s, (lo, hi) in probe.successors(()).items()} == oracle.successors(documents, ())
    for ngram in source.sample(sorted(oracle.ngrams(documents, 2)), 20):
        assert probe.occurrences(ngram) == oracle.occurrences(documents, ngram)
        found = {symbol: hi - lo for symbol, (lo, hi) in probe.successors(ngram).items()}
        assert found == oracle.successors(documents, ngram)
