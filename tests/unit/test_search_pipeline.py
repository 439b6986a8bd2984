"""The way from queries to rankings: lazy, one batch ahead, under several configs, from a model or a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.config import preset
from seal_ir.decode.beam import Decoded
from seal_ir.decode.prompts import CutQueries
from seal_ir.errors import ArgumentError
from seal_ir.records import Query
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.stubbed import Stubbed
from tests.helpers.threads import no_thread_left

TOPICS = [Query(f"q{i}", sentence) for i, sentence in enumerate(tiny.SENTENCES[:5])]
CONFIGS = [preset("paper"), preset("lm-fm")]


@pytest.fixture
def searcher(stubbed: Stubbed, tiny_index: Path) -> SealSearcher:
    return SealSearcher(tiny_index, preset="paper", batch_size=2)


def test_a_batch_is_decoded_when_it_is_asked_for(searcher: SealSearcher, stubbed: Stubbed) -> None:
    begun: list[int] = []
    stubbed.before_batch = begun.append
    batches = searcher.key_batches(TOPICS, CutQueries())
    assert begun == []
    first = next(batches)
    n_first = len(begun)
    assert list(first.queries) == TOPICS[:2]
    expected = searcher.decode([topic.text for topic in TOPICS[:2]])
    assert [found.keys for found in first.keys] == [found.keys for found in expected]
    del begun[:]
    assert [len(batch.queries) for batch in batches] == [2, 1]
    assert len(begun) == 2 * n_first


def test_rankings_are_one_batch_ahead_and_leave_no_thread(searcher: SealSearcher, stubbed: Stubbed) -> None:
    decoded: list[list[str]] = []

    def decode(batch: object) -> Decoded:
        assert isinstance(batch, list)
        decoded.append([topic.id for topic in batch])
        return searcher.decode_counted([topic.text for topic in batch])

    with no_thread_left():
        batches = searcher.ranked_batches(TOPICS, 3, CutQueries(), threads=2, decode=decode)
        assert decoded == []
        assert list(next(batches).queries) == TOPICS[:2]
        assert decoded == [["q0", "q1"], ["q2", "q3"]]
        batches.close()


@pytest.mark.parametrize("threads", [1, 3])
def test_one_decoding_ranks_under_every_config(searcher: SealSearcher, threads: int) -> None:
    found = list(searcher.ranked_batches(TOPICS, 4, CutQueries(), CONFIGS, threads=threads))
    assert [topic for batch in found for topic in batch.queries] == TOPICS
    n_ranked = 0
    for batch in found:
        for keys, rankings in zip(batch.keys, batch.rankings, strict=True):
            assert rankings == [searcher.rank(keys, 4, config) for config in CONFIGS]
            n_ranked += sum(map(len, rankings))
    assert n_ranked > len(TOPICS)
    (own, *_), *_ = (batch.rankings for batch in searcher.ranked_batches(TOPICS, 4, CutQueries()))
    assert own == found[0].rankings[0][:1]


def test_cut_queries_are_counted_over_batches(searcher: SealSearcher) -> None:
    cut = CutQueries()
    topics = [Query("long", "whale " * 600), *TOPICS, Query("longer", "whale " * 700)]
    assert sum(len(batch.queries) for batch in searcher.ranked_batches(topics, 1, cut)) == 7
    assert cut.sentence().startswith("2 of 7 queries were longer than ")
    assert cut.sentence().endswith(" tokens and were cut: topics long, longer")


@pytest.mark.parametrize(("k", "threads"), [(0, 1), (1, 0)])
def test_numbers_that_mean_nothing_are_refused(searcher: SealSearcher, k: int, threads: int) -> None:
    with pytest.raises(ArgumentError, match="is 0; it must be at least 1"):
        next(searcher.ranked_batches(TOPICS, k, CutQueries(), threads=threads))
