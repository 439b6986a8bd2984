"""Ranking's corner cases, each with the numbers worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from seal_ir.config import RankConfig, preset
from seal_ir.extensions import SDSL
from seal_ir.rank.ranker import rank
from seal_ir.rank.weights import log_odds, weigh
from seal_ir.records import BODY, QUERY, TITLE, UNIGRAM, Key, QueryKeys, Unigrams
from tests.helpers.streams import StreamIndex

A, B, C, D, E, F = range(16, 22)
LM = preset("lm").rank
NONE = Unigrams(np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))


def _key(index: StreamIndex, symbols: list[int], logprob: float, kind: str = BODY) -> Key:
    ranges = index.find(symbols)
    return Key(tuple(symbols), logprob, sum(hi - lo for lo, hi in ranges), ranges, kind)


def _unigrams(*rows: tuple[int, float, int]) -> Unigrams:
    symbols, logprobs, counts = zip(*rows, strict=True)
    return Unigrams(np.array(symbols, np.uint32), np.array(logprobs), np.array(counts, np.int64))


def _weight(key: Key, index: StreamIndex, smoothing: float = 5.0) -> float:
    return float(log_odds(np.array([key.logprob]), np.array([key.count]), index.n_tokens, smoothing)[0])


@pytest.fixture(scope="module")
def index() -> StreamIndex:
    streams = [[1, 2, A, B, C, D], [1, 2, A, B, C, E], [1, 2, B, C, D, E], [1, F, 2, A, B]]
    return StreamIndex([*streams, *[[1, 2, F, F, F]] * 8], engine=SDSL)


def _ranked(index: StreamIndex, keys: list[Key], config: RankConfig, n: int = 99) -> list[tuple[int, float]]:
    return [(item.document, item.score) for item in rank(index, QueryKeys(tuple(keys), NONE), config, n)]


def _ranked_with(
    index: StreamIndex, keys: list[Key], unigrams: Unigrams, config: RankConfig
) -> list[tuple[int, float]]:
    return [(item.document, item.score) for item in rank(index, QueryKeys(tuple(keys), unigrams), config, 99)]


def test_lm_ranks_by_the_most_likely_body_key_of_one_length(index: StreamIndex) -> None:
    config = RankConfig(weight="lm", score="max", kinds=(BODY,), length=3, unigrams=False)
    keys = [
        _key(index, [A, B, C], -2.0),
        _key(index, [B, C, D], -1.0),
        _key(index, [B, C, E], -5.0),
        _key(index, [A, B], -0.1),  # too short
        _key(index, [B, C, D, E], -0.1),  # too long
        _key(index, [1, F, 2], -0.1, TITLE),
        _key(index, [A, B, C], -0.01, QUERY),
    ]
    assert _ranked(index, keys, config) == [(0, -1.0), (2, -1.0), (1, -2.0)]
    assert _ranked(index, keys, config, n=1) == [(0, -1.0)]


def test_a_key_of_probability_zero_says_nothing(index: StreamIndex) -> None:
    keys = [_key(index, [A, B, C, D], -math.inf), _key(index, [A, B], -3.0)]
    config = RankConfig(weight="lm", score="max", unigrams=False)
    assert _ranked(index, keys, config) == [(0, -3.0), (1, -3.0), (3, -3.0)]
    assert _ranked(index, keys[:1], config) == []
    assert _ranked(index, keys[:1], RankConfig()) == []


def test_the_more_likely_of_equal_keys_counts(index: StreamIndex) -> None:
    keys = [_key(index, [A, B], -3.0), _key(index, [A, B], -1.0, QUERY), _key(index, [A, B], -2.0)]
    assert [item.key for item in weigh(QueryKeys(tuple(keys), NONE), RankConfig(), index.n_tokens)] == [
        keys[1]
    ]


def test_keys_of_equal_weight_are_ordered_by_symbols(index: StreamIndex) -> None:
    keys = [_key(index, [C, E], -1.0), _key(index, [C, D, E], -1.0)]
    scored = weigh(QueryKeys(tuple(keys), NONE), RankConfig(), index.n_tokens)
    assert [item.key.symbols for item in scored] == [(C, D, E), (C, E)]


def test_ties_are_broken_by_docid_in_code_point_order() -> None:
    docids = ["b", "a10", "a9", "é", "Z", "😀", "～"]  # noqa: RUF001
    index = StreamIndex(
        [[1, 2, A, B, C]] * len(docids) + [[1, 2, *[D] * 30]] * 3, docids=[*docids, "x", "y", "z"]
    )
    keys = [_key(index, [A, B], -1.0)]
    for config in (RankConfig(), RankConfig(score="max"), RankConfig(weight="lm", score="max")):
        hits = rank(index, QueryKeys(tuple(keys), NONE), config, 3)
        assert [index.docid(hit.document) for hit in hits] == ["Z", "a10", "a9"]
        assert len({hit.score for hit in hits}) == 1
        hits = rank(index, QueryKeys(tuple(keys), NONE), config, 99)
        assert [index.docid(hit.document) for hit in hits] == sorted(docids)


def test_frequent_keys_make_no_candidates_where_rare_ones_suffice(index: StreamIndex) -> None:
    rare, frequent = _key(index, [A, B, C, D], -0.1), _key(index, [B, C], -0.5)
    assert (rare.count, frequent.count) == (1, 3)
    other = _key(index, [E], -0.7)
    assert other.count == 2
    config = RankConfig(max_count=1, unigrams=False)
    w_rare, w_frequent = (_weight(key, index) for key in (rare, frequent))
    assert w_rare > w_frequent
    # [B, C] overlaps the rare key in its only document: it adds nothing there, and nothing is found by it.
    assert _ranked(index, [rare, frequent, other], config, n=1) == [(0, pytest.approx(w_rare**2))]
    both = RankConfig(max_count=2, unigrams=False)
    w_other = _weight(other, index)
    expected = {
        0: w_rare**2,
        1: max(w_other, w_frequent) ** 2 + min(w_other, w_frequent) ** 2,
        2: w_other**2 + w_frequent**2,
    }
    assert dict(_ranked(index, [rare, frequent, other], both)) == pytest.approx(expected)


def test_a_frequent_key_can_be_the_best_of_a_candidate(index: StreamIndex) -> None:
    rare, frequent = _key(index, [C, D, E], -1.5), _key(index, [B, C], -0.01)
    config = RankConfig(score="max", alpha=1.0, max_count=1, unigrams=False)
    assert _weight(frequent, index) > _weight(rare, index) > 0
    assert _ranked(index, [rare, frequent], config, n=1) == [(2, pytest.approx(_weight(frequent, index)))]


def test_the_best_of_several_frequent_keys_decides_whether_texts_are_read(index: StreamIndex) -> None:
    """One frequent key lies above the rare one in the order, another below it."""
    rare = _key(index, [C, D, E], -1.5)
    above, below = _key(index, [B, C], -0.01), _key(index, [C], -1.5)
    weights = [_weight(key, index) for key in (above, rare, below)]
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] > 0
    config = RankConfig(score="max", alpha=1.0, max_count=1, unigrams=False)
    assert _ranked(index, [below, rare, above], config, n=1) == [(2, pytest.approx(weights[0]))]


def test_a_frequent_key_longer_than_all_candidates() -> None:
    """Its occurrences are looked for in a text that is shorter than the key."""
    long = [F, E, A, B, D, A, B]
    index = StreamIndex([[1, 2, *long]] * 3 + [[1, 2, C, F, E]] + [[1, 2, D, D, D]] * 20)
    keys = [_key(index, long, -0.1), _key(index, [C], -0.1)]
    for config in (RankConfig(max_count=1), RankConfig(max_count=1, score="max")):
        assert [document for document, _ in _ranked(index, keys, config, n=1)] == [3]


def test_a_frequent_key_does_not_run_into_the_next_document() -> None:
    streams = [[1, 2, A, B], [1, 2, C, A], [1, 2, D]]
    index = StreamIndex(streams + [[1, 2, B, D, D, A, D]] * 3 + [[1, 2, F, F, F, F]] * 9)
    keys = [_key(index, [A, B], -1.0), _key(index, [C, A], -1.0), _key(index, [A, D], -0.1)]
    hits = rank(index, QueryKeys(tuple(keys), NONE), RankConfig(max_count=1, unigrams=False), 2)
    assert [[part.key.symbols for part in hit.matched] for hit in hits] == [[(A, B)], [(C, A)]]


def test_all_free_occurrences_of_a_key_are_taken() -> None:
    """[A, A] in A A A A: all three occurrences are free of earlier keys, so no unigram A is left."""
    index = StreamIndex([[1, 2, A, A, A, A], *[[1, 2, B, B, B]] * 5])
    key = _key(index, [A, A], -0.5)
    assert key.count == 3
    (hit,) = rank(index, QueryKeys((key,), _unigrams((A, -0.5, 4))), RankConfig(), 9)
    assert [part.key.kind for part in hit.matched] == [BODY]
    assert hit.score == pytest.approx(_weight(key, index) ** 2)


def test_cover_discounts_symbols_that_earlier_keys_had() -> None:
    index = StreamIndex([[1, 2, A, B, C, A, D], *[[1, 2, E, E, E, E]] * 6])
    first, second = _key(index, [A, B], -0.5), _key(index, [A, D], -1.0)
    w_first, w_second = _weight(first, index), _weight(second, index)
    ((_, score),) = _ranked(index, [second, first], RankConfig(alpha=2.0, beta=0.8))
    assert score == pytest.approx(w_first**2 + w_second**2 * (1 - 0.8 + 0.8 / 2))


@pytest.mark.parametrize("unigram_alpha", [False, True])
def test_unigrams_fill_free_types_once_and_pay_for_known_ones(unigram_alpha: bool) -> None:
    index = StreamIndex([[1, 2, A, B, A, D, D, C], *[[1, 2, E, E, E, E]] * 6])
    key = _key(index, [A, B], -0.5)
    query_keys = QueryKeys(
        (key,), _unigrams((A, -1.0, 2), (B, -1.0, 1), (C, -30.0, 1), (D, -1.2, 2), (F, -0.1, 1))
    )
    (hit,) = rank(index, query_keys, RankConfig(unigram_alpha=unigram_alpha), 9)
    power = 2 if unigram_alpha else 1
    w_a, w_d = (
        float(log_odds(np.array([lp]), np.array([2]), index.n_tokens, 5.0)[0]) ** power for lp in (-1.0, -1.2)
    )
    expected = [_weight(key, index) ** 2, w_a * (1 - 0.8), w_d]  # C has weight 0, B is covered
    assert [part.weight for part in hit.matched] == pytest.approx(expected)
    assert [(part.key.symbols, part.key.kind) for part in hit.matched[1:]] == [
        ((A,), UNIGRAM),
        ((D,), UNIGRAM),
    ]
    assert hit.score == pytest.approx(sum(expected))


def test_the_querys_own_ngrams_have_a_scale_and_a_trust(index: StreamIndex) -> None:
    """w = scale * max(0, log odds of P(n|q)^trust against P(n)), then w^alpha; other kinds as they are."""
    own, other = _key(index, [A, B, C, D], -3.0, QUERY), _key(index, [C, D, E], -0.5)
    config = RankConfig(unigrams=False, query_scale=1.5, query_trust=0.9)
    p = (own.count + 5) / (index.n_tokens + 5)
    q = math.exp(-3.0) ** (0.9 ** (math.log(1e7) / math.log(index.n_tokens)))
    w_own = 1.5 * math.log(q / (1 - q) * (1 - p) / p)
    expected = {0: w_own**2, 2: _weight(other, index) ** 2}
    assert w_own > 1.5 * _weight(own, index)
    assert dict(_ranked(index, [own, other], config)) == pytest.approx(expected, rel=1e-12)


def test_scales_decide_which_key_is_taken_first(index: StreamIndex) -> None:
    """[A, B] and [B, C] overlap: the heavier one of the two counts, after scaling."""
    own, other = _key(index, [A, B], -1.2, QUERY), _key(index, [B, C], -0.5)
    for scale, taken in ((1.0, other), (9.0, own)):
        config = RankConfig(unigrams=False, query_scale=scale)
        (first,) = (
            hit for hit in rank(index, QueryKeys((own, other), NONE), config, 99) if hit.document == 0
        )
        assert [part.key for part in first.matched] == [taken]


def test_a_scale_of_zero_leaves_the_kind_out(index: StreamIndex) -> None:
    own, other = _key(index, [A, B, C, D], -0.1, QUERY), _key(index, [C, D, E], -0.5)
    config = RankConfig(unigrams=False, query_scale=0.0)
    assert _ranked(index, [own, other], config) == _ranked(index, [other], config)
    fill = _unigrams((F, -0.2, 25), (E, -0.2, 2))
    for score in ("max", "intersective"):
        with_fill = rank(index, QueryKeys((other,), fill), RankConfig(score=score, unigram_scale=0.0), 9)
        assert with_fill == rank(index, QueryKeys((other,), NONE), RankConfig(score=score), 9)


def test_the_heavier_of_equal_keys_of_two_kinds_counts(index: StreamIndex) -> None:
    """The more likely one where kinds are treated alike."""
    keys = [_key(index, [A, B], -1.0), _key(index, [A, B], -1.5, QUERY)]
    for config, heavier in (
        (RankConfig(), 0),
        (RankConfig(query_scale=3.0), 1),
        (RankConfig(query_trust=0.2), 1),
    ):
        (item,) = weigh(QueryKeys(tuple(keys), NONE), config, index.n_tokens)
        assert item.key == keys[heavier]


def test_trust_in_an_impossible_ngram_does_not_make_it_possible(index: StreamIndex) -> None:
    keys = [_key(index, [A, B, C, D], -math.inf, QUERY), _key(index, [A, B], -3.0, QUERY)]
    for trust in (0.0, 0.5):
        config = RankConfig(query_trust=trust)
        (item,) = weigh(QueryKeys(tuple(keys), NONE), config, index.n_tokens)
        assert item.key == keys[1]


def test_unigrams_have_a_scale(index: StreamIndex) -> None:
    key, fill = _key(index, [A, B, C, D], -0.1), _unigrams((E, -1.0, 2), (F, -1.0, 25))
    other = _key(index, [A, B], -0.3)
    for unigram_alpha in (False, True):
        config = RankConfig(unigram_scale=3.0, unigram_alpha=unigram_alpha)
        found = dict(_ranked_with(index, [key, other], fill, config))
        w = float(log_odds(np.array([-1.0]), np.array([2]), index.n_tokens, 5.0)[0])
        assert found[1] == pytest.approx(_weight(other, index) ** 2 + (3 * w) ** (2 if unigram_alpha else 1))


def test_title_keys_count_with_their_control_symbols(index: StreamIndex) -> None:
    title = _key(index, [1, F, 2], -0.5, TITLE)
    assert title.count == 1
    ((document, score),) = _ranked(index, [title], RankConfig(unigrams=False))
    assert (document, score) == (3, pytest.approx(_weight(title, index) ** 2))


def test_no_keys_no_hits(index: StreamIndex) -> None:
    for config in (LM, RankConfig(), preset("lm-fm").rank, preset("paper").rank):
        assert _ranked(index, [], config) == []
        assert rank(index, QueryKeys((), _unigrams((A, -0.1, 3))), config, 9) == []
