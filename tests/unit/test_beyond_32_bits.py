"""Rows, counts, positions and numbers of documents beyond 2^31 and 2^32: on files that are mostly holes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.arrays import Ints, Symbols
from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.index.engine import EngineSpec, Occurrences, build_engine
from seal_ir.index.engines import Engines, joined, open_engine
from seal_ir.index.memory import Budget
from seal_ir.index.native import MAX_SUFFIXES, build_native
from seal_ir.index.reader import Index
from seal_ir.index.segmenting import Cutter, Tokenised
from seal_ir.index.value_lengths import value_lengths
from seal_ir.rank.ranker import find_candidates
from seal_ir.records import Document, Key, Range
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.symbols import BOUNDARY, Marks
from tests.helpers import sparse, tiny

_native = pytest.importorskip("seal_ir._native")
_rank = pytest.importorskip("seal_ir._rank")
MANY = (1 << 32) + 5  # documents


@pytest.fixture(autouse=True)
def _holes(tmp_path: Path) -> None:
    if not sparse.has_holes(tmp_path):
        pytest.skip("this file system has no holes")


@pytest.fixture
def engine(tmp_path: Path) -> Any:
    sparse.write_native(tmp_path / "fm.bin")
    return open_engine("native", tmp_path / "fm.bin")


@pytest.mark.slow
def test_a_segment_as_large_as_any(engine: Any) -> None:
    """Counted by hand: tests/helpers/sparse.py says what the documents are."""
    m, word, both = sparse.LONG, sparse.WORD, sparse.BOUNDARY
    everything = np.array([[0, engine.n_rows]])
    assert engine.n_rows == (1 << 31) - 1
    ranges, expected = everything, [m + 3, m, m - 2, m - 3]
    for length, count in enumerate(expected, start=1):
        after = engine.successors(ranges)
        ranges = engine.extend(ranges, np.array([word], dtype=np.uint32))
        assert ranges.tolist() == [[1, 1 + count]]
        assert after[1].tolist() == ([word, both] if length == 1 else [word])
        assert after[2][0].tolist() == ranges[0].tolist()
    starts = engine.verify(everything, np.array([[both, word, 7]], dtype=np.uint32))
    assert starts.tolist() == [[[m + 4, m + 7], [1, m + 4], [0, 0]]]
    assert engine.extend(starts[0, :1], np.array([word], dtype=np.uint32)).tolist() == [[m + 1, m + 4]]
    places = [[0, 3], [1, 3], [0, 2], [1, 2], [2, 2], [0, 1], [1, 1], [2, 1]]
    far = (1 << 31) - (1 << 16) + 2  # a suffix: two steps behind the last one that is kept
    rows = np.array([*range(m - 1, m + 7), far - 4])
    assert engine.locate(rows).tolist() == [*places, [0, sparse.N - far]]
    assert engine.extract(np.array([1, 2]))[1].tolist() == [s for stream in sparse.STREAMS for s in stream]
    assert engine.only(np.array([2])).n_rows == 3
    assert engine.without(np.array([1, 2])).n_rows == m + 2


class Shifted:
    """Engines as one behind so many documents; cpp/tests/segments_test.cpp has the compiled sum."""

    def __init__(self, engines: Engines, first: int) -> None:
        self._engines, self._first = engines, first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines, name)

    def locate(self, ranges: Ints) -> Occurrences:
        found = self._engines.locate(ranges)
        return found._replace(documents=found.documents + self._first)

    def extract(self, documents: Ints) -> tuple[Ints, Symbols]:
        return self._engines.extract(documents - self._first)


class Several(Index):
    """An index of engines without files; documents numbered from `first`."""

    def __init__(self, engines: list[Any], first: int = 0) -> None:
        self._engines, self.directory = engines, Path("several")
        sizes = [engine.n_documents for engine in engines]
        self._bases = first + np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.n_documents = int(self._bases[-1])
        self._joined = Shifted(joined(engines), first)


def test_rows_of_several_segments_are_counted_beyond_2_to_the_32(engine: Any) -> None:
    index, m = Several([engine] * 5, first=MANY), sparse.LONG
    ranges = index.find([sparse.WORD])
    assert sum(hi - lo for lo, hi in ranges) == 5 * (m + 3) > 1 << 33
    after = index.successors(np.array([ranges], dtype=np.int64))
    assert np.diff(after.ranges, axis=2).sum(axis=(1, 2)).tolist() == [5 * m]
    starts = index.find([sparse.BOUNDARY])
    found = index.locate([starts])
    assert found.documents.tolist() == [MANY + i for i in range(15)]
    keys = [Key((sparse.WORD,), -1.0, 5 * (m + 3), ranges, "body"), Key((9,), -1.0, 15, starts, "title")]
    candidates = find_candidates(index, keys, 20, 10)
    assert candidates.rows[:, 0].tolist() == found.documents.tolist()


def test_d1_documents_beyond_2_to_the_32_are_searched_like_any(tmp_path: Path) -> None:
    """So many documents in front of an index, in a token store of holes: hits and scores stay the same."""
    tiny.build(tmp_path / "index", max_segment_tokens=70)
    searcher, expected = (SealSearcher(tmp_path / "index", tiny.generator()) for _ in range(2))
    index = searcher.index
    sparse.write_tokens(tmp_path / "tokens.bin", MANY, 1 << 33, [[BOUNDARY]])
    files = [tmp_path / "index" / segment.name / "tokens.bin" for segment in index.manifest.segments]
    paths = [tmp_path / "tokens.bin", *files]
    stores = _rank.TokenStores.open([str(path) for path in paths], [None] * len(paths))
    first = MANY + 1
    index._bases, index.n_documents = index._bases + first, index.n_documents + first
    index._joined = Shifted(joined(index._engines), first)
    assert index.stores is not None
    index.stores.compiled = stores
    query = "what is the capital of Japan"
    hits = searcher.search(query, k=5)
    assert [(hit.docid, hit.score) for hit in hits] == [
        (hit.docid, hit.score) for hit in expected.search(query, k=5)
    ]
    assert all(hit.lucene_docid >= first for hit in hits)
    assert index.documents([first + 4]) == [tiny.DOCUMENTS[4]]
    index.stores = None
    assert [(hit.docid, hit.score) for hit in searcher.search(query, k=5)] == [
        (hit.docid, hit.score) for hit in hits
    ]
    assert index.value_lengths("title").tolist() == expected.index.value_lengths("title").tolist()


def test_tokens_beyond_2_to_the_36_bits(tmp_path: Path) -> None:
    streams = [[BOUNDARY, 5, 70_000], [BOUNDARY, 6, 6, 6]]
    sparse.write_tokens(tmp_path / "tokens.bin", MANY, (1 << 36) + 3, streams)
    stores = _rank.TokenStores.open([str(tmp_path / "tokens.bin")], [None])
    assert stores.n_documents == MANY + 2
    offsets, symbols = stores.extract(np.array([MANY + 1, MANY]))
    assert offsets.tolist() == [0, 4, 7]
    assert symbols.tolist() == [*streams[1], *streams[0]]


@pytest.mark.parametrize("between", [1, 1 << 31, 1 << 32, 10**10])
def test_values_are_paired_whatever_the_numbers_of_their_documents(between: int) -> None:
    """A document with a value of 9 tokens, and a later one with values of 2 and 5, located in no order."""
    places = {20: [(between, 9), (0, 0), (between, 2)], 21: [(between, 4), (between, 14), (0, 9)]}

    def locate(wanted: list[tuple[Range, ...]]) -> Occurrences:
        documents, ends = zip(*places[wanted[0][0].lo], strict=True)
        return Occurrences(np.array([0, 3]), np.array(documents), np.array(ends))

    counts = value_lengths(lambda symbols: (Range(symbols[0], symbols[0] + 1),), locate, Marks(20, 21))
    assert np.flatnonzero(counts).tolist() == [2, 5, 9]


def test_more_rows_than_ranking_can_number_are_refused(engine: Any) -> None:
    index = Several([engine] * 3)
    key = Key((sparse.WORD,), -1.0, 3 * (sparse.LONG + 3), index.find([sparse.WORD]), "body")
    told = "rare keys occur 6,442,450,929 times together, of which 4,294,967,295 at most can be scored"
    with pytest.raises(UsageError, match=told):
        find_candidates(index, [key], 10**10, 10)


# What one segment cannot hold is refused before anything is read or allocated.


def nothing(n: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """An array of so many zeros that takes no memory before it is read."""
    return np.zeros(n, dtype=np.uint32)


def test_d1_a_text_beyond_the_limit_is_refused_at_once(tmp_path: Path) -> None:
    n = MAX_SUFFIXES // 2 + 1
    told = f"a segment holds at most 1,073,741,823 tokens, not {n:,}"
    with pytest.raises(ValueError, match=told):
        build_native(tmp_path / "fm.bin", nothing(n), np.zeros(1, np.int64), 8, lambda phase: None)
    with pytest.raises(ValueError, match=told):
        build_engine(EngineSpec(), tmp_path / "fm.bin", nothing(n), np.zeros(1, np.int64), tmp_path)
    assert not list(tmp_path.glob("fm.bin"))


@pytest.mark.parametrize("engine", ["native", "sdsl"])
def test_d1_a_document_beyond_the_limit_is_told_in_a_line(tmp_path: Path, engine: str) -> None:
    """However large segments may be by the user's word."""
    cutter = Cutter(1 << 40, Budget(EngineSpec(engine), 400))
    document = Tokenised(Document("long", "", ""), nothing((1 << 30) + 1), exact=True)
    with pytest.raises(InputError) as error:
        list(cutter.segments([document], tmp_path))
    limit = (1 << 30) - (engine == "native")
    told = f"document 'long' has {(1 << 30) + 1} tokens; a segment holds at most {limit}; split it (--split)"
    assert str(error.value) == told
    assert not list(tmp_path.iterdir())


def test_a_file_that_claims_more_rows_than_the_engine_numbers(tmp_path: Path) -> None:
    path = tmp_path / "fm.bin"
    sparse.write_native(path)
    with path.open("rb") as file:
        head = bytearray(file.read(320))
    head[16:24] = ((1 << 31) - 1).to_bytes(8, "little")
    head[312:] = sparse.fnv(bytes(head[:312])).to_bytes(8, "little")
    with path.open("r+b") as file:
        file.write(head)
    with pytest.raises(IndexDirError, match="header makes no sense"):
        open_engine("native", path)
