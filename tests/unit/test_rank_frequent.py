"""Documents whose every key is frequent: near-duplicates are found, in exact order, in bounded memory."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from seal_ir import SealSearcher
from seal_ir.config import PRESETS, RankConfig
from seal_ir.errors import UsageError
from seal_ir.extensions import SDSL
from seal_ir.index import engines
from seal_ir.rank import ranker
from seal_ir.rank.ranker import in_order_taken, rank, rare_of
from seal_ir.records import BODY, TITLE, Document, Key, QueryKeys, Range, Unigrams
from tests.helpers import plain_rank, tiny
from tests.helpers.streams import StreamIndex

TEXT = [1, 40, 41, 2, *range(50, 62)]  # of all copies
OTHERS = [
    [1, 42, 2, 50, 51, 52, 70, 71, 72],  # shares a key with the copies
    [1, 42, 2, 80, 81, 82, 83],  # shares none
    [1, 43, 2, 70, 71, 73],
    [1, 44, 2, 90, 90, 90, 90, 90],  # holds nothing that a query wants
]
KEYS = [
    ([1, 40, 41, 2], -1.0, TITLE),
    ([50, 51, 52], -0.2, BODY),
    ([53, 54, 55, 56], -0.1, BODY),
    ([58], -0.5, BODY),
    ([70, 71], -0.7, BODY),
    ([80, 81, 82], -1.5, BODY),
]
MANY = pytest.param(20_000, marks=pytest.mark.slow)
CONFIGS = {name: replace(PRESETS[name].rank, smoothing=0.0) for name in ("intersective", "lm-fm")}


@cache
def _index(n_copies: int, n_segments: int = 2) -> StreamIndex:
    """Copies around the others; docids run against the numbers, so that ties tell the two apart."""
    streams = [*OTHERS[:2], *[TEXT] * n_copies, *OTHERS[2:]]
    docids = [f"{len(streams) - i:06d}" for i in range(len(streams))]
    return StreamIndex(streams, n_segments, docids=docids, engine=SDSL)


def _keys(index: StreamIndex, which: slice = slice(None)) -> QueryKeys:
    keys = []
    for symbols, logprob, kind in KEYS[which]:
        ranges = index.find(symbols)
        keys.append(Key(tuple(symbols), logprob, sum(hi - lo for lo, hi in ranges), ranges, kind))
    counts = [sum(hi - lo for lo, hi in index.find([s])) for s in (57, 71, 83)]
    symbols = np.array([57, 71, 83], np.uint32)
    return QueryKeys(tuple(keys), Unigrams(symbols, np.full(3, -1.2), np.array(counts, np.int64)))


def _expected(
    index: StreamIndex, keys: QueryKeys, config: RankConfig, n_hits: int
) -> list[tuple[int, float]]:
    exact = plain_rank.scores(index, keys, config, n_hits)
    ordered = sorted(exact.items(), key=lambda pair: (-round(pair[1], 9), index.docid(pair[0])))
    return [(document, pytest.approx(score, rel=1e-9)) for document, score in ordered[:n_hits]]


def _found(index: StreamIndex, keys: QueryKeys, config: RankConfig, n_hits: int) -> list[tuple[int, float]]:
    return [(item.document, item.score) for item in rank(index, keys, config, n_hits)]


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("n_copies", [10, 1_600, MANY])
def test_i3_near_duplicates_do_not_hide_each_other(n_copies: int, config: RankConfig) -> None:
    """Not 1,600 of them, whose every key occurs more often than `max_count`, and not 20,000."""
    index = _index(n_copies)
    keys = _keys(index)
    for n_hits in (1, 10, 100, n_copies + 10):
        found = _found(index, keys, config, n_hits)
        assert found == _expected(index, keys, config, n_hits)
        assert len(found) == min(n_hits, n_copies + 3)
        assert index.n_documents - 1 not in dict(found)


@pytest.mark.parametrize("n_copies", [1_600, MANY])
def test_i3_copies_are_found_by_frequent_keys_alone(n_copies: int) -> None:
    index = _index(n_copies)
    keys = _keys(index, slice(0, 4))
    for config in (*CONFIGS.values(), PRESETS["genre"].rank):
        found = _found(index, keys, config, 100)
        assert found == _expected(index, keys, config, 100)
        assert len(found) == 100


def test_the_rarest_of_the_frequent_keys_comes_first_and_only_while_hits_are_missing() -> None:
    streams = [[1, 2, 20, 30], *[[1, 2, 20, 31]] * 3, *[[1, 2, 20, 32]] * 5, *[[1, 2, 33, 33]] * 9]
    index = StreamIndex(streams, 2, engine=SDSL)
    keys = []
    for symbol in (32, 30, 20, 31):
        ranges = index.find([symbol])
        keys.append(Key((symbol,), -0.5, sum(hi - lo for lo, hi in ranges), ranges, BODY))
    config = RankConfig(max_count=1, smoothing=0.0, unigrams=False)
    for n_hits, n_candidates in ((1, 1), (2, 4), (4, 4), (5, 9), (9, 9), (99, 9)):
        ranked = rank(index, QueryKeys(tuple(keys), Unigrams(*_NO_UNIGRAMS)), config, n_hits)
        every = rank(
            index, QueryKeys(tuple(keys), Unigrams(*_NO_UNIGRAMS)), replace(config, max_count=99), 99
        )
        assert ranked == [item for item in every if item.document < n_candidates][:n_hits]


_NO_UNIGRAMS = (np.empty(0, np.uint32), np.empty(0), np.empty(0, np.int64))


def test_a_document_that_holds_unigrams_only_is_no_candidate() -> None:
    index = _index(10)
    assert rank(index, QueryKeys((), _keys(index).unigrams), CONFIGS["intersective"], 10) == []


@pytest.mark.parametrize("n_segments", [1, 2, 7])
@pytest.mark.parametrize("piece", [1, 64, 1 << 17])
def test_beyond_the_limit_the_first_documents_count_and_it_is_said(
    n_segments: int, piece: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the segments and pieces; as many as are wanted are found in any case."""
    index = _index(300, n_segments)
    keys = _keys(index, slice(2, 3))
    config = replace(CONFIGS["intersective"], max_count=100)
    with patch.object(ranker, "MOST_FURTHER", 40), patch.object(engines, "PIECE", piece):
        for n_hits, n_scored in ((10, 40), (40, 40), (70, 70)):
            caplog.clear()
            found = rank(index, keys, config, n_hits)
            assert [item.document for item in found] == list(range(2, 2 + n_scored))[::-1][:n_hits]
            (record,) = caplog.records
            assert record.levelno == logging.WARNING
            assert record.getMessage() == (
                f"a query's rare keys are in 0 documents, {n_hits} are wanted, and the next key occurs 300"
                f" times: only the first {n_scored} documents with it were scored; [rank] max_count = 300, in"
                " a --config file, has all of them scored"
            )
        caplog.clear()
        assert len(rank(index, keys, config, 300)) == len(rank(index, keys, config, 301)) == 300
        assert len(rank(index, keys, replace(config, max_count=300), 10)) == 10
    assert not caplog.records


def _occurring(*counts: int) -> list[Key]:
    return [Key((16 + i,), -0.1, count, (), BODY) for i, count in enumerate(counts)]


def test_rare_keys_occur_at_most_so_often_the_others_are_taken_by_count() -> None:
    """However much they weigh; equal ones in the order given."""
    keys = _occurring(9, 3, 4, 7, 1, 4, 7)
    assert rare_of(keys, 3) == [1, 4]
    assert in_order_taken(keys, [1, 4]) == [2, 5, 3, 6, 0]
    assert (rare_of(keys, 0), rare_of(keys, 9)) == ([], list(range(7)))
    assert in_order_taken(keys, range(7)) == []


def test_rare_keys_with_more_occurrences_than_can_be_numbered_are_refused() -> None:
    most = (1 << 32) - 1
    assert rare_of(_occurring(most - 5, 5), most) == [0, 1]
    with pytest.raises(UsageError) as told:
        rare_of(_occurring(most - 5, 6, 5_000_000_000), most)
    assert str(told.value) == (
        "[rank] max_count = 4294967295: a query's rare keys occur 4,294,967,296 times together, of which"
        " 4,294,967,295 at most can be scored; lower it"
    )


def test_rows_are_located_a_limited_number_at_a_time() -> None:
    """Memory does not grow with the occurrences of a key."""
    index = _index(1_600)
    sizes = []
    locate = StreamIndex.locate

    def told(self: StreamIndex, ranges: list[tuple[Range, ...]]) -> object:
        asked = list(ranges)
        sizes.append(sum(hi - lo for ngram in asked for lo, hi in ngram))
        return locate(self, asked)

    with patch.object(StreamIndex, "locate", told), patch.object(engines, "PIECE", 100):
        rank(index, _keys(index, slice(2, 3)), CONFIGS["intersective"], 2_000)
    assert sum(sizes) == 1_600
    assert max(sizes) == 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["intersective", "paper", "lm-fm", "lm"])
def test_a_search_over_copies_finds_as_many_as_are_asked_for(
    copies: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """1,600 identical passages and four others: of the copies none was ever returned, at any depth."""
    searcher = SealSearcher(copies, tiny.generator(), preset=name)
    for k in (10, 100, 1_600):
        hits = searcher.search(TEXTS[0], k=k)
        found = [hit.docid for hit in hits if hit.docid.startswith("c")]
        assert len(hits) == k
        assert found == [f"c{i:04d}" for i in range(len(found))]
        assert len(found) >= k - 4
    # One hit is found by rare keys, which stay the rule where they suffice.
    assert [hit.docid[0] for hit in searcher.search(TEXTS[0], k=1)] == ["o"]
    assert not caplog.records


TEXTS = [tiny.SENTENCES[0], *tiny.SENTENCES[1:5]]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("copies") / "index"
    others = [Document(f"o{i}", "", text) for i, text in enumerate(TEXTS[1:])]
    tiny.build(directory, [*others, *(Document(f"c{i:04d}", "", TEXTS[0]) for i in range(1_600))])
    return directory
