"""What a score is said to be made of adds up to it and lies where it should, whatever the keys."""

from __future__ import annotations

import operator
from functools import reduce
from math import fsum
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.config import preset
from seal_ir.explanation.values import rounding_of
from seal_ir.rank import standing as standings
from seal_ir.rank.ranker import Streams, rank
from seal_ir.rank.standing import standing
from seal_ir.rank.taken import account, places
from seal_ir.rank.weights import WeightedQuery, reduced, weigh, weights_of
from seal_ir.records import UNIGRAM
from tests.helpers.examples import examples
from tests.helpers.streams import SCAN, StreamIndex
from tests.property.test_rank import ALL, Case, _query_keys, cases

FEW = examples(60)


def _weighed(index: StreamIndex, case: Case) -> WeightedQuery:
    keys = _query_keys(index, case)
    n = index.n_tokens
    return WeightedQuery.of(weigh(keys, case.config, n), keys.unigrams, case.config, n)


@FEW
@given(case=cases())
def test_shares_add_up_to_the_score_to_the_bit(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    for item in reduced(rank(index, _query_keys(index, case), case.config, ALL)):
        shares = [part.weight for part in item.matched]
        assert reduce(operator.add, shares, 0.0) == item.score
        assert fsum([*shares, rounding_of(item.score, shares)]) == item.score


@given(shares=st.lists(st.floats(1e-12, 1e6), max_size=60))
def test_what_rounding_took_is_told_exactly(shares: list[float]) -> None:
    score = reduce(operator.add, shares, 0.0)
    assert fsum([*shares, rounding_of(score, shares)]) == score
    assert abs(rounding_of(score, shares)) <= 1e-13 * score


@FEW
@given(case=cases())
def test_keys_lie_at_their_places_and_none_over_another(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    for item in rank(index, _query_keys(index, case), case.config, ALL):
        stream = case.streams[item.document]
        taken: list[int] = []
        found = places(item.matched, np.array(stream, np.uint32))
        assert len(found) == len(item.matched)
        for part, ends in zip(item.matched, found, strict=True):
            symbols = part.key.symbols
            assert len(ends)
            for end in ends.tolist():
                assert tuple(stream[end - len(symbols) : end]) == symbols
            taken += {at for end in ends.tolist() for at in range(end - len(symbols), end)}
        assert len(taken) == len(set(taken))


@FEW
@given(case=cases())
def test_an_account_of_any_document_is_that_of_the_ranking(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    query = _weighed(index, case)
    ranked = {item.document: item for item in rank(index, _query_keys(index, case), case.config, ALL)}
    for number, stream in enumerate(case.streams):
        found = account(query, case.config, np.array(stream, np.uint32))
        if number in ranked:
            assert (found.score, found.matched) == (ranked[number].score, ranked[number].matched)
            again = places(found.matched, np.array(stream, np.uint32))
            assert [ends.tolist() for ends in found.places] == [ends.tolist() for ends in again]
        text = " ".join(map(str, stream))
        held = [
            i
            for i, item in enumerate(query.keys)
            if f" {' '.join(map(str, item.key.symbols))} " in f" {text} "
        ]
        assert found.held.tolist() == held


@FEW
@given(case=cases(), n_hits=st.integers(1, 6), chunk=st.sampled_from([1, 2, 4096]))
def test_a_documents_standing_is_its_rank(case: Case, n_hits: int, chunk: int) -> None:
    """However many candidates are scored at a time."""
    index = StreamIndex(case.streams, 2, engine=SCAN)
    query, keys = _weighed(index, case), _query_keys(index, case)
    ranking = [item.document for item in rank(index, keys, case.config, n_hits)]
    streams = Streams(index, 0)
    for number, stream in enumerate(case.streams):
        score = account(query, case.config, np.array(stream, np.uint32)).score
        with patch.object(standings, "_CHUNK", chunk):
            found = standing(index, query, case.config, n_hits, number, score, streams)
        assert found.n_candidates >= len(ranking)
        if number in ranking:
            assert found.candidate
            assert found.rank == 1 + ranking.index(number)
        elif found.candidate:
            assert found.rank > len(ranking)


@FEW
@given(case=cases())
def test_weights_of_keys_are_those_they_were_ranked_by(case: Case) -> None:
    index = StreamIndex(case.streams, engine=SCAN)
    query = _weighed(index, case)
    expected = [item.weight for item in query.keys]
    assert weights_of([item.key for item in query.keys], case.config, index.n_tokens).tolist() == expected
    unigrams = [query.part(len(expected) + i) for i in range(len(query.unigram_weights))]
    assert all(key.kind == UNIGRAM for key in unigrams)
    power = case.config.alpha if case.config.unigram_alpha else 1.0
    weights = weights_of(unigrams, case.config, index.n_tokens)
    assert (weights**power).tolist() == query.unigram_weights.tolist()


def test_places_refuse_another_documents_stream() -> None:
    index = StreamIndex([[1, 2, 16, 17], [1, 2, 18, 19]], engine=SCAN)
    case = Case([[1, 2, 16, 17], [1, 2, 18, 19]], [((16, 17), -0.1, "body")], {}, preset("paper").rank)
    (found,) = rank(index, _query_keys(index, case), case.config, 1)
    with pytest.raises(ValueError, match="0 of 1 keys"):
        places(found.matched, np.array([1, 2, 18, 19], np.uint32))
