"""Ranking equals exhaustive scoring by the specification, whatever the corpus, keys and settings."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.config import PRESETS, RankConfig
from seal_ir.index import engines
from seal_ir.rank import ranker
from seal_ir.rank.ranker import Streams, rank
from seal_ir.rank.weights import weigh
from seal_ir.records import BODY, QUERY, TITLE, UNIGRAM, Key, QueryKeys, Ranked, Unigrams
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END
from tests.helpers import oracle, plain_rank, reference
from tests.helpers.examples import examples
from tests.helpers.streams import SCAN, StreamIndex

FEW = examples(40)
ALPHABET = range(FIRST_TOKEN, FIRST_TOKEN + 6)
ALL = 10_000
Wish = tuple[tuple[int, ...], float, str]  # symbols, log-probability, kind


class Case(NamedTuple):
    """A corpus, what a model might have written, and settings."""

    streams: list[list[int]]
    wishes: list[Wish]
    unigrams: dict[int, float]
    config: RankConfig


logprobs = st.floats(-9, -0.01)
fields = st.lists(st.sampled_from(ALPHABET), max_size=9)


@st.composite
def corpora(draw: st.DrawFn) -> list[list[int]]:
    pairs = draw(
        st.lists(st.tuples(st.lists(st.sampled_from(ALPHABET), max_size=2), fields), min_size=1, max_size=7)
    )
    if draw(st.booleans()):
        pairs += draw(st.lists(st.sampled_from(pairs), max_size=3))  # equal documents tie
    return [[BOUNDARY, *title, TITLE_END, *body] for title, body in pairs]


@st.composite
def configs(draw: st.DrawFn) -> RankConfig:
    name = draw(st.sampled_from([*PRESETS, "random"]))
    config = (
        PRESETS[name].rank
        if name in PRESETS
        else RankConfig(
            alpha=draw(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.3])),
            beta=draw(st.sampled_from([0.0, 0.3, 0.8, 1.0])),
            smoothing=draw(st.sampled_from([0.0, 1.5, 5.0])),
            unigrams=draw(st.booleans()),
            unigram_alpha=draw(st.booleans()),
            kinds=tuple(sorted(draw(st.sets(st.sampled_from([BODY, TITLE, QUERY]), min_size=1)))),
            score=draw(st.sampled_from(["max", "intersective"])),
            query_scale=draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])),
            query_trust=draw(st.sampled_from([0.7, 0.9, 1.0])),
            unigram_scale=draw(st.sampled_from([0.0, 0.5, 1.0, 3.0])),
        )
    )
    if config.length:
        config = replace(config, length=draw(st.integers(1, 3)))
    return replace(config, max_count=draw(st.sampled_from([1, 2, 4, 1500])))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    streams = draw(corpora())
    free = sorted(n for n in oracle.ngrams(streams, 4) if min(n) >= FIRST_TOKEN)
    titles = sorted({tuple(stream[: stream.index(TITLE_END) + 1]) for stream in streams})
    body = (
        st.tuples(st.sampled_from(free), logprobs, st.sampled_from([BODY, QUERY])) if free else st.nothing()
    )
    title = st.tuples(st.sampled_from(titles), logprobs, st.just(TITLE))
    wishes = draw(st.lists(st.one_of(body, body, body, title), max_size=15))
    unigrams = draw(st.dictionaries(st.sampled_from(ALPHABET), logprobs))
    present = {symbol for stream in streams for symbol in stream}
    return Case(streams, wishes, {s: p for s, p in unigrams.items() if s in present}, draw(configs()))


def _query_keys(index: StreamIndex, case: Case) -> QueryKeys:
    keys = []
    for symbols, logprob, kind in case.wishes:
        ranges = index.find(symbols)
        keys.append(Key(symbols, logprob, sum(hi - lo for lo, hi in ranges), ranges, kind))
    symbols = sorted(case.unigrams)
    counts = [oracle.count(case.streams, (symbol,)) for symbol in symbols]
    values = [case.unigrams[symbol] for symbol in symbols]
    unigrams = Unigrams(np.array(symbols, np.uint32), np.array(values, float), np.array(counts, np.int64))
    return QueryKeys(tuple(keys), unigrams)


def _counting(case: Case) -> list[Wish]:
    """The keys that count under the case's settings, equal ones among them."""
    counting = []
    for symbols, logprob, kind in case.wishes:
        fits = not case.config.length or (kind == BODY and len(symbols) == case.config.length)
        if kind in case.config.kinds and fits:
            counting.append((symbols, logprob, kind))
    return counting


def _exhaustive(case: Case, n_hits: int = ALL) -> dict[int, float]:
    return reference.scores(case.streams, _counting(case), case.unigrams, case.config, n_hits=n_hits)


def _values(ranked: Sequence[Ranked]) -> list[tuple[int, float]]:
    return [(item.document, item.score) for item in ranked]


@FEW
@given(case=cases(), n_segments=st.sampled_from([1, 2, 7]), n_hits=st.integers(1, 9))
def test_rank_is_exhaustive_scoring(case: Case, n_segments: int, n_hits: int) -> None:
    index = StreamIndex(case.streams, n_segments, engine=SCAN)
    ranked = rank(index, _query_keys(index, case), case.config, ALL)
    expected = _exhaustive(case)
    assert {item.document for item in ranked} == set(expected)
    for item in ranked:
        assert item.score == pytest.approx(expected[item.document], rel=1e-9, abs=1e-12)
    assert _values(ranked) == sorted(_values(ranked), key=lambda pair: (-pair[1], index.docid(pair[0])))
    fewer = _exhaustive(case, n_hits)  # where rare keys suffice, frequent ones make no candidates
    assert (
        rank(index, _query_keys(index, case), case.config, n_hits)
        == [item for item in ranked if item.document in fewer][:n_hits]
    )


@FEW
@given(case=cases())
def test_matched_keys_make_the_score_and_occur_in_the_document(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    for item in rank(index, _query_keys(index, case), case.config, ALL):
        assert item.matched
        assert item.score == pytest.approx(sum(part.weight for part in item.matched), rel=1e-12)
        for part in item.matched:
            assert oracle.count([case.streams[item.document]], part.key.symbols)
        kinds = [part.key.kind for part in item.matched]
        assert kinds == sorted(kinds, key=lambda kind: kind == UNIGRAM), "unigrams come last"


@FEW
@given(case=cases(), seed=st.integers(0, 2**32))
def test_permuting_documents_permutes_hits(case: Case, seed: int) -> None:
    n = len(case.streams)
    order = random.Random(seed).sample(range(n), n)
    docids = [f"d{number:03d}" for number in range(n)]
    index = StreamIndex(case.streams, docids=docids, engine=SCAN)
    shuffled = [case.streams[i] for i in order]
    permuted = StreamIndex(shuffled, 2, docids=[docids[i] for i in order], engine=SCAN)
    for n_hits in (ALL, 2):
        ours = rank(index, _query_keys(index, case), case.config, n_hits)
        theirs = rank(permuted, _query_keys(permuted, case), case.config, n_hits)
        assert [(permuted.docid(d), score) for d, score in _values(theirs)] == [
            (index.docid(d), score) for d, score in _values(ours)
        ]


@FEW
@given(
    case=cases(),
    batch=st.sampled_from([1, 2, 3]),
    n_hits=st.integers(1, 4),
    n_bytes=st.sampled_from([0, 10_000]),
)
def test_batches_and_kept_texts_change_nothing(case: Case, batch: int, n_hits: int, n_bytes: int) -> None:
    """Small batches let the bound end the search early, and cached streams take the place of the index's."""
    index = StreamIndex(case.streams, 2, engine=SCAN)
    keys = _query_keys(index, case)
    expected = rank(index, keys, case.config, n_hits)
    streams = Streams(index, n_bytes)
    with patch.object(ranker, "_BATCH", batch), patch.object(engines, "PIECE", batch):
        for _ in range(2):
            assert rank(index, keys, case.config, n_hits, streams=streams) == expected


@FEW
@given(case=cases())
def test_the_plain_scorer_of_the_other_tests_is_the_reference(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    for n_hits in (0, 2, ALL):
        plain = plain_rank.scores(index, _query_keys(index, case), case.config, n_hits)
        assert plain == pytest.approx(_exhaustive(case, n_hits), rel=1e-9, abs=1e-12)


@FEW
@given(case=cases())
def test_weigh_orders_and_filters(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    scored = weigh(_query_keys(index, case), case.config, index.n_tokens)
    assert scored == sorted(scored, key=lambda item: (-item.weight, item.key.symbols))
    symbols = [item.key.symbols for item in scored]
    assert len(set(symbols)) == len(symbols)
    counting = _counting(case)
    assert {(item.key.symbols, item.key.logprob, item.key.kind) for item in scored} <= set(counting)
    if not case.config.by_kind:  # then the more likely of equals counts
        likely = {wish[0]: wish[1] for wish in sorted(counting)}
        assert all(item.key.logprob == likely[item.key.symbols] for item in scored)
    if case.config.weight == "lm":
        assert set(symbols) == {wish[0] for wish in counting}
    else:
        assert all(item.weight > 0 for item in scored)
