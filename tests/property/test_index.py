"""No answer depends on how the documents are cut into segments, and all of them agree with a scan."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.index.reader import Index
from seal_ir.records import Document, Range
from seal_ir.text.symbols import BOUNDARY, TITLE_END
from tests.helpers import oracle, tiny
from tests.helpers.examples import examples

MAX_LENGTH = 3
FEW = examples(6)  # an engine takes 25 ms to build, of any size

texts = st.lists(st.sampled_from(["a", "b", " a", " the", "\n", "é", "</s>"]), max_size=4).map("".join)
collections = st.lists(st.tuples(texts, texts), min_size=1, max_size=9).map(
    lambda pairs: [Document(f"d{len(pairs) - i}", *pair) for i, pair in enumerate(pairs)]
)


def _cuts(folder: Path, documents: list[Document]) -> list[Index]:
    """The same documents in one segment, in about two, and in about seven where there are so many."""
    whole = tiny.built(folder / "1", documents)
    longest = max(map(len, whole.streams(range(len(documents)))))
    limits = [max(longest, -(-whole.n_tokens // n)) for n in (2, 7)]
    return [whole, *(tiny.built(folder / str(limit), documents, limit) for limit in dict.fromkeys(limits))]


def _count(ranges: tuple[Range, ...]) -> int:
    return sum(hi - lo for lo, hi in ranges)


@FEW
@given(documents=collections)
def test_d12_segments_do_not_change_answers(documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for index in _cuts(Path(folder), documents):
            streams = [stream.tolist() for stream in index.streams(range(len(documents)))]
            assert index.documents(range(len(documents))) == documents
            assert [index.docid(number) for number in range(len(documents))] == [d.id for d in documents]
            assert [index.number(d.id) for d in documents] == list(range(len(documents)))
            assert index.n_documents == len(documents)
            assert index.n_tokens == sum(map(len, streams))
            assert len(index.everything) == len(index.manifest.segments)
            _check_against_scan(index, streams)


def _check_against_scan(index: Index, streams: list[list[int]]) -> None:
    ngrams = sorted(oracle.ngrams(streams, MAX_LENGTH))
    absent = [(*ngram[:-1], symbol) for ngram in ngrams[::7] for symbol in (BOUNDARY, TITLE_END, 0, 10**6)]
    found = [index.find(ngram) for ngram in (*ngrams, *absent)]
    assert list(map(_count, found)) == [oracle.count(streams, ngram) for ngram in (*ngrams, *absent)]

    located = index.locate(found)
    assert located.offsets.tolist() == np.cumsum([0, *map(_count, found)]).tolist()
    for i, ngram in enumerate((*ngrams, *absent)):
        lo, hi = located.offsets[i : i + 2]
        pairs = zip(located.documents[lo:hi].tolist(), located.ends[lo:hi].tolist(), strict=True)
        assert sorted(pairs) == oracle.occurrences(streams, ngram)

    after = index.successors(np.array([index.everything.tolist(), *found], dtype=np.int64))
    expected = [oracle.successors(streams, ngram) for ngram in ((), *ngrams, *absent)]
    for i, following in enumerate(expected):
        lo, hi = after.offsets[i : i + 2]
        sizes = (after.ranges[lo:hi, :, 1] - after.ranges[lo:hi, :, 0]).sum(axis=1)
        assert dict(zip(after.symbols[lo:hi].tolist(), sizes.tolist(), strict=True)) == following
        assert sorted(following) == after.symbols[lo:hi].tolist()


@FEW
@given(documents=collections)
def test_extend_verify_and_successors_agree(documents: list[Document]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for index in _cuts(Path(folder), documents):
            first = index.first_symbols
            ranges = np.concatenate([index.everything[None], first.ranges])
            after = index.successors(ranges)
            owner = np.repeat(np.arange(len(ranges)), np.diff(after.offsets))
            assert _sizes(index.extend(ranges[owner], after.symbols)) == _sizes(after.ranges)
            candidates = np.tile(first.symbols, (len(ranges), 1))
            verified = index.verify(ranges, candidates)
            assert verified.shape == (*candidates.shape, len(index.everything), 2)
            for i in range(candidates.shape[1]):
                assert _sizes(verified[:, i]) == _sizes(index.extend(ranges, candidates[:, i].copy()))


def _sizes(ranges: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> list[list[int]]:
    """Counts by segment; an empty range has no rows, wherever it lies."""
    sizes: list[list[int]] = (ranges[..., 1] - ranges[..., 0]).tolist()
    return sizes


def test_batches_of_nothing(tmp_path: Path) -> None:
    for limit in (1 << 30, 60):
        index = tiny.built(tmp_path / str(limit), max_segment_tokens=limit)
        nothing = np.empty((0, len(index.everything), 2), dtype=np.int64)
        assert index.extend(nothing, np.empty(0, np.uint32)).shape == nothing.shape
        assert index.successors(nothing).offsets.tolist() == [0]
        assert index.verify(nothing, np.empty((0, 3), np.uint32)).shape == (0, 3, len(index.everything), 2)
        found = index.locate([])
        assert (found.offsets.tolist(), len(found.documents), len(found.ends)) == ([0], 0, 0)
        assert index.streams([]) == []
