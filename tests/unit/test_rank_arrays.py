"""seal_ir._rank on its own: what it refuses, what the cache keeps, and threads."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from seal_ir._rank import Cache, Query, Ranking
from seal_ir.config import RankConfig
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import BODY, Key, QueryKeys, Unigrams
from tests.helpers import plain_rank
from tests.helpers.streams import SCAN, StreamIndex

Lists = list[list[int]]


def _ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def _symbols(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def _query(offsets: tuple[int, ...] = (0, 2, 3), unigrams: tuple[int, ...] = (5, 7)) -> Query:
    weights = np.ones(2)
    return Query(
        _symbols(20, 21, 22), _ints(*offsets), np.array([9.0, 4.0]), _symbols(*unigrams), weights, 0.8
    )


def _rows(*rows: tuple[int, int]) -> np.ndarray:
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _ranking(query: Query | None = None, n_hits: int = 3, further: tuple[int, ...] = ()) -> Ranking:
    rows = _rows((4, 3), (1, 5))
    return Ranking(query or _query(), _ints(0, 2, 2), rows, _ints(*further), False, n_hits)


def _flat(streams: Lists) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *map(len, streams)]).astype(np.int64)
    return offsets, _symbols(*(symbol for stream in streams for symbol in stream))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: _ranking(_query(offsets=(0, 2, 4))), "do not cut 3 symbols into 2 keys"),
        (lambda: _ranking(_query(offsets=(0, 3))), "do not cut 3 symbols into 2 keys"),
        (lambda: _ranking(_query(offsets=(0, 3, 3))), "key 1 has no symbols"),
        (lambda: _ranking(_query(unigrams=(7, 5))), r"unigrams\[1\] is not above"),
        (lambda: _ranking(_query(unigrams=(7,))), "1 unigrams have 2 weights"),
        (lambda: _ranking(n_hits=0), "n_hits is 0"),
        (
            lambda: Ranking(_query(), _ints(0, 2, 1), _rows((4, 3)), _ints(), False, 1),
            "row offsets do not cut",
        ),
        (lambda: Ranking(_query(), _ints(0, 1), _rows((4, 3)), _ints(), False, 1), "into 2 keys"),
        (
            lambda: Ranking(_query(), _ints(0, 1, 1), _rows((4, 1)), _ints(), False, 1),
            r"ends\[0\] is 1, no place",
        ),
        (
            lambda: Ranking(_query(), _ints(0, 1, 1), _rows((4, 1 << 40)), _ints(), False, 1),
            "no place for a key",
        ),
        (lambda: _ranking(further=(3, 2)), r"further\[1\] is document 2, which is not above the one before"),
        (lambda: _ranking(further=(2, 2)), r"further\[1\] is document 2, which is not above the one before"),
        (lambda: _ranking(further=(0, 4)), r"further\[1\] is document 4, .* or holds a located key"),
        (lambda: Ranking(_query(), _ints(0, 1, 2), _rows((4, 3), (1, 5)), _ints(2), True, 1), "1 further"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_texts_that_were_not_asked_for_are_refused() -> None:
    ranking = _ranking()
    assert ranking.n_candidates == 2
    assert ranking.next(9).tolist() == [1, 4]
    offsets, symbols = _flat([[1, 2, 3, 4, 5]])
    for documents, cuts, message in (
        (_ints(2), offsets, "document 2 was not asked for"),
        (_ints(1, 4), offsets, "do not cut 5 symbols into 2 documents"),
        (_ints(1), _ints(0, 4), "do not cut 5 symbols into 1 documents"),
        (_ints(1), _ints(1, 5), "do not cut 5 symbols into 1 documents"),
    ):
        with pytest.raises(ValueError, match=message):
            ranking.score(documents, cuts, symbols)
    with pytest.raises(ValueError, match="document 1 has 4 symbols, and a key was located beyond"):
        ranking.score(_ints(1), _ints(0, 4), symbols[:4])


def test_a_further_document_without_any_key_has_no_best_one() -> None:
    ranking = Ranking(_query(), _ints(0, 0, 0), _rows(), _ints(3), True, 1)
    assert ranking.next(9).tolist() == [3]
    with pytest.raises(ValueError, match="document 3 holds no key"):
        ranking.score(_ints(3), *_flat([[5, 7, 20, 22 + 1]]))


def test_a_further_document_without_any_key_has_the_score_of_its_unigrams() -> None:
    ranking = Ranking(_query(), _ints(0, 0, 0), _rows(), _ints(3), False, 1)
    ranking.next(9)
    ranking.score(_ints(3), *_flat([[5, 7, 20, 22 + 1]]))
    documents, scores, offsets, parts, shares = ranking.hits()
    assert documents.tolist() == [3]
    assert scores[0] == shares.sum()
    assert len(parts) == offsets[1]


def test_arrays_of_other_types_are_refused() -> None:
    with pytest.raises(TypeError):
        Cache(100).get(_symbols(1))
    with pytest.raises(TypeError):
        Ranking(_query(), _symbols(0, 1), _rows((4, 3)), _ints(), False, 1)


def _get(cache: Cache, documents: list[int]) -> tuple[dict[int, list[int]], list[int]]:
    found, offsets, symbols, absent = cache.get(_ints(*documents))
    streams = [symbols[lo:hi].tolist() for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]
    return dict(zip(found.tolist(), streams, strict=True)), absent.tolist()


def _put(cache: Cache, documents: dict[int, list[int]]) -> None:
    cache.put(_ints(*documents), *_flat(list(documents.values())))


def test_the_cache_gives_back_what_it_was_given() -> None:
    cache = Cache(100_000)
    documents = {7: [1, 2, 65_535], 1 << 40: [1, 65_536, 4_294_967_295, 0], 3: [1], 9: []}
    _put(cache, documents)
    found, absent = _get(cache, [8, 3, 1 << 40, 7, 9, 3, -1])
    assert (found, absent) == (documents, [8, -1])
    assert list(found) == [3, 1 << 40, 7, 9]


@pytest.mark.parametrize("n_bytes", [0, 100, 3_000, 20_000, 150_000])
def test_the_cache_stays_within_its_size_and_never_errs(n_bytes: int) -> None:
    """Documents come and go many times over; what is found is right, and the newest are there."""
    cache = Cache(n_bytes)
    assert cache.size_in_bytes() <= n_bytes
    rng = random.Random(5)
    texts = {d: [rng.choice([17, 70_000]) + d] * rng.randrange(120) for d in range(900)}
    for _ in range(40):
        chosen = {d: texts[d] for d in rng.sample(range(900), 30)}
        _, new = _get(cache, list(chosen))
        _put(cache, chosen)
        found, absent = _get(cache, list(texts))
        assert all(texts[document] == stream for document, stream in found.items())
        assert sorted([*found, *absent]) == list(texts)
        if n_bytes >= 20_000:
            assert set(new[-5:]) <= set(found)
    if n_bytes < 3_000:
        assert absent == list(texts)


def test_the_cache_passes_over_a_text_longer_than_a_quarter_of_it() -> None:
    cache = Cache(4_000)
    _put(cache, {1: [17] * 5_000, 2: [17] * 5})
    assert _get(cache, [1, 2]) == ({2: [17] * 5}, [1])


def _case(rng: random.Random) -> tuple[StreamIndex, list[QueryKeys]]:
    streams = [[1, 2, *(rng.randrange(16, 28) for _ in range(rng.randrange(30)))] for _ in range(150)]
    index = StreamIndex(streams, 2, engine=SCAN)
    queries = []
    for _ in range(12):
        picked = [rng.choice(streams[:50]) for _ in range(25)]
        ngrams = {
            tuple(s[at : at + n]) for s in picked if (n := rng.randint(1, 4)) if (at := rng.randint(2, 9))
        }
        keys = []
        for symbols in sorted(ngrams - {()}):
            ranges = index.find(symbols)
            count = sum(hi - lo for lo, hi in ranges)
            keys.append(Key(symbols, -6 * rng.random() - 0.01, count, ranges, BODY))
        counts = [sum(hi - lo for lo, hi in index.find([s])) for s in range(16, 28)]
        logprobs = np.array([-4 * rng.random() - 0.1 for _ in counts])
        unigrams = Unigrams(np.arange(16, 28, dtype=np.uint32), logprobs, np.array(counts))
        queries.append(QueryKeys(tuple(keys), unigrams))
    return index, queries


def test_threads_share_texts_and_rank_as_one_does() -> None:
    index, queries = _case(random.Random(1))
    config = RankConfig(max_count=40, smoothing=0.0)
    streams = Streams(index, n_bytes=20_000)  # texts are dropped and read again all the time
    expected = [rank(index, keys, config, 10) for keys in queries]
    assert any(expected)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda keys: rank(index, keys, config, 10, streams=streams), queries * 5))
    assert found == expected * 5


def test_many_candidates_are_ranked_as_the_plain_scorer_does() -> None:
    index, queries = _case(random.Random(2))
    for keys in queries:
        config = RankConfig(max_count=60, smoothing=0.0)
        exact = plain_rank.scores(index, keys, config, 20)
        ranked = rank(index, keys, config, 20)
        assert len(ranked) == min(20, len(exact))
        best = sorted(exact.values(), reverse=True)[:20]
        assert [item.score for item in ranked] == pytest.approx(best, rel=1e-9)
        assert [exact[item.document] for item in ranked] == pytest.approx(best, rel=1e-9)
