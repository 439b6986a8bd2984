"""Texts that ranking reads: kept where that saves asking, and never believed where they are wrong."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from seal_ir.arrays import Ints, Symbols
from seal_ir.config import RankConfig
from seal_ir.errors import IndexDirError
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import BODY, Key, QueryKeys, Unigrams
from tests.helpers.streams import SCAN, StreamIndex

STREAMS = [[1, 2, 16, 17, 18], [1, 2, 17], [1, 2, 18, 16]]


class Remote(StreamIndex):
    """An index in shards, which keep texts themselves."""

    is_remote = True


class Counted(StreamIndex):
    """An index that notes which texts it was asked for."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.asked: list[list[int]] = []

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        self.asked.append(documents.tolist())
        return super().extract(documents)


class CountedRemote(Counted, Remote):
    """Both."""


def _read(streams: Streams, *documents: int) -> dict[int, list[int]]:
    found = {}
    for numbers, offsets, symbols in streams.read(np.array(documents, dtype=np.int64)):
        for at, number in enumerate(numbers.tolist()):
            found[number] = symbols[offsets[at] : offsets[at + 1]].tolist()
    return found


def test_a_text_is_asked_for_once() -> None:
    index = Counted(STREAMS, engine=SCAN)
    streams = Streams(index, 100_000)
    assert _read(streams, 2, 0) == {2: STREAMS[2], 0: STREAMS[0]}
    assert _read(streams, 0, 1, 2) == dict(enumerate(STREAMS))
    assert _read(streams, 1) == {1: STREAMS[1]}
    assert index.asked == [[2, 0], [1]]


def test_by_default_texts_are_kept() -> None:
    index = Counted(STREAMS, engine=SCAN)
    streams = Streams(index)
    for _ in range(2):
        assert _read(streams, 0, 1, 2) == dict(enumerate(STREAMS))
    assert index.asked == [[0, 1, 2]]


@pytest.mark.parametrize("why", ["no memory", "token stores", "shards"])
def test_texts_are_not_kept_where_that_saves_nothing(why: str) -> None:
    index = (CountedRemote if why == "shards" else Counted)(STREAMS, engine=SCAN)
    if why == "token stores":
        index.stores = SimpleNamespace(extract=index.extract_indexed)
    streams = Streams(index, 0 if why == "no memory" else 100_000)
    for _ in range(2):
        assert _read(streams, 0, 2) == {0: STREAMS[0], 2: STREAMS[2]}
    assert index.asked == [[0, 2]] * 2


def test_a_text_without_the_key_that_was_found_in_it_is_told_with_its_index() -> None:
    index = StreamIndex(STREAMS, engine=SCAN)
    ranges = index.find([16, 17, 18])
    extract = index.extract
    index.extract = lambda documents: extract(documents + 1)  # type: ignore[method-assign]
    index.directory = "the/index"
    unigrams = Unigrams(np.array([17], np.uint32), np.array([-0.1]), np.array([2]))
    keys = QueryKeys((Key((16, 17, 18), -0.1, 1, ranges, BODY),), unigrams)
    with pytest.raises(IndexDirError) as told:
        rank(index, keys, RankConfig(smoothing=0.0), 3)
    why = "document 0 has 3 symbols, and a key was located beyond"
    assert str(told.value).startswith(f"the/index: damaged ({why}); rebuild it with ")
