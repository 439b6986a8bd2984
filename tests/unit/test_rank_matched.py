"""What a score is made of, as values: parts that are made when looked at, and no more kept than they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from seal_ir.config import RankConfig
from seal_ir.rank import standing as standings
from seal_ir.rank.ranker import Streams
from seal_ir.rank.standing import standing
from seal_ir.rank.taken import account
from seal_ir.rank.weights import Matched, WeightedQuery, reduced, trust_in, weigh
from seal_ir.records import BODY, QUERY, UNIGRAM, Key, QueryKeys, Range, Ranked, ScoredKey, Unigrams
from tests.helpers.streams import SCAN, StreamIndex

N_TOKENS = 1_000
KEYS = [Key((20 + i, 30 + i), -0.1 - i, 3, (Range(i, i + 3),), BODY) for i in range(4)]
UNIGRAMS = Unigrams(np.array([16, 17, 18], np.uint32), np.array([-2.0, -1.0, -9.0]), np.array([5, 6, 999]))


def _query(config: RankConfig) -> WeightedQuery:
    keys = weigh(QueryKeys(tuple(KEYS), UNIGRAMS), config, N_TOKENS)
    return WeightedQuery.of(keys, UNIGRAMS, config, N_TOKENS)


@pytest.fixture
def query() -> WeightedQuery:
    return _query(RankConfig(alpha=2.0))


def _matched(query: WeightedQuery, *numbers: int) -> Matched:
    return Matched(query, np.array(numbers, dtype=np.int64), np.arange(1.0, 1 + len(numbers)))


def test_parts_are_keys_and_behind_them_unigrams_that_weigh_something(query: WeightedQuery) -> None:
    assert [query.part(number) for number in range(4)] == KEYS
    assert query.part(4) == Key((16,), -2.0, 5, (), UNIGRAM)
    assert query.part(5) == Key((17,), -1.0, 6, (), UNIGRAM)
    assert len(query.unigram_weights) == 2
    with pytest.raises(IndexError):
        query.part(6)


def test_matched_parts_are_a_sequence(query: WeightedQuery) -> None:
    matched = _matched(query, 2, 0, 5)
    parts = (ScoredKey(KEYS[2], 1.0), ScoredKey(KEYS[0], 2.0), ScoredKey(query.part(5), 3.0))
    assert tuple(matched) == parts
    assert (matched[0], matched[-1]) == (parts[0], parts[2])
    assert (matched[1:], matched[::2], matched[5:]) == (parts[1:], parts[::2], ())
    with pytest.raises(IndexError):
        matched[3]


def test_matched_parts_are_a_value_as_the_same_parts_in_a_tuple_are(query: WeightedQuery) -> None:
    matched = _matched(query, 2, 0)
    assert matched == tuple(matched)
    assert matched == _matched(query, 2, 0)
    assert hash(matched) == hash(tuple(matched))
    assert repr(matched) == repr(tuple(matched))
    assert matched != _matched(query, 0, 2)
    assert matched != _matched(query, 2)
    assert matched != 2


def test_a_query_can_be_reduced_to_some_of_its_parts(query: WeightedQuery) -> None:
    small = query.reduced(np.array([1, 3, 5]))
    assert small.keys == [query.keys[1], query.keys[3]]
    assert small.powers.tolist() == [query.powers[1], query.powers[3]]
    assert small.unigrams.symbols.tolist() == [17]
    assert small.unigrams.logprobs.tolist() == [-1.0]
    assert small.unigrams.counts.tolist() == [6]
    assert small.unigram_weights.tolist() == [query.unigram_weights[1]]
    assert [small.part(number) for number in range(3)] == [query.part(number) for number in (1, 3, 5)]


def test_hits_that_are_kept_hold_the_parts_of_their_scores_alone(query: WeightedQuery) -> None:
    rankings = [Ranked(7, 3.0, _matched(query, 3, 5)), Ranked(9, 1.0, _matched(query, 1))]
    kept = reduced(rankings)
    assert kept == rankings
    (own,) = {id(item.matched.query): item.matched.query for item in kept}.values()  # type: ignore[attr-defined]
    assert [item.key for item in own.keys] == [KEYS[1], KEYS[3]]
    assert own.unigrams.symbols.tolist() == [17]


@pytest.mark.parametrize("parts", [(), (ScoredKey(KEYS[0], 1.0),)])
def test_hits_with_parts_of_another_make_stay_as_they_are(
    query: WeightedQuery, parts: tuple[ScoredKey, ...]
) -> None:
    """Those of shards, say, which come over the network."""
    foreign = Ranked(1, 1.0, parts)
    rankings = [foreign, Ranked(7, 3.0, _matched(query, 3))]
    assert [id(item) for item in reduced(rankings)] == [id(item) for item in rankings]
    assert reduced([foreign])[0] is foreign
    assert reduced([]) == []


@pytest.mark.parametrize("score", ["intersective", "max"])
def test_powers_are_those_of_weights_above_zero(score: str) -> None:
    """LM ranks by log-probabilities, which are below zero and are never summed."""
    config = RankConfig(weight="lm", score="max", alpha=2.0, unigrams=False)
    assert _query(config).powers.tolist() == [key.logprob for key in KEYS]
    certain = [ScoredKey(replace(KEYS[0], logprob=0.0), 0.0)]
    assert WeightedQuery.of(certain, UNIGRAMS, replace(config, alpha=0.0), N_TOKENS).powers.tolist() == [0.0]
    config = RankConfig(score=score, alpha=0.5)
    found = _query(config)
    assert found.powers.tolist() == [item.weight**0.5 for item in found.keys]
    assert len(found.unigram_weights) == (0 if score == "max" else 2)


def test_unigrams_are_in_the_order_of_their_symbols() -> None:
    shuffled = Unigrams(*(column[[1, 0, 2]] for column in UNIGRAMS))
    config = RankConfig()
    found = WeightedQuery.of([], shuffled, config, N_TOKENS)
    assert found.unigrams.symbols.tolist() == [16, 17]
    assert found.unigrams.logprobs.tolist() == [-2.0, -1.0]
    assert found.unigrams.counts.tolist() == [5, 6]
    assert found.unigram_weights.tolist() == _query(config).unigram_weights.tolist()


def test_trust_in_the_smallest_collections() -> None:
    two = 0.7 ** (np.log(10_000_000) / np.log(2))
    assert trust_in(0.7, 2) == pytest.approx(two, rel=1e-12)
    assert trust_in(0.7, 1) == trust_in(0.7, 0) == trust_in(0.7, 2)


def test_equally_likely_keys_of_one_ngram_count_once_the_first_of_them() -> None:
    keys = (KEYS[0], replace(KEYS[0], kind=QUERY))
    assert [item.key for item in weigh(QueryKeys(keys, UNIGRAMS), RankConfig(), N_TOKENS)] == [KEYS[0]]


@pytest.mark.parametrize("chunk", [1, 2, 3, 4096])
def test_documents_that_tie_stand_in_the_order_of_their_ids(
    monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """Whichever of them are scored together: a better one, five that tie, a worse one, and no candidate."""
    monkeypatch.setattr(standings, "_CHUNK", chunk)
    tied, docids = [[1, 2, 16, 17, 19]] * 5, ["f", "c", "z", "a", "b", "d", "g", "e"]
    streams = [[1, 2, 18, 18, 18], *tied[:3], [1, 2, 16, 17, 18], *tied[3:], [1, 2, 20, 20, 20]]
    index = StreamIndex(streams, 2, docids=docids, engine=SCAN)
    keys = []
    for symbols, logprob in ([16, 17], -0.2), ([18], -0.9):
        ranges = index.find(symbols)
        keys.append(Key(tuple(symbols), logprob, sum(hi - lo for lo, hi in ranges), ranges, BODY))
    config, n = RankConfig(smoothing=0.0, unigrams=False), index.n_tokens
    nothing = Unigrams(*(column[:0] for column in UNIGRAMS))
    query = WeightedQuery.of(weigh(QueryKeys(tuple(keys), nothing), config, n), nothing, config, n)
    found = {}
    for number, docid in enumerate(docids):
        stream = np.array(streams[number], np.uint32)
        score = account(query, config, stream).score
        found[docid] = standing(index, query, config, 9, number, score, Streams(index, 0))
    order = ["b", "a", "c", "d", "g", "z", "f"]
    assert [(docid, found[docid].rank) for docid in order] == list(zip(order, range(1, 8), strict=True))
    assert found["e"] == (False, 7, 8)
    assert {item.n_candidates for item in found.values()} == {7}
    assert all(found[docid].candidate for docid in order)
