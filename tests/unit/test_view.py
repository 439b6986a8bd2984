"""A view's own answers: which documents it allows, its N, and what it takes from the whole index."""

from __future__ import annotations

import numpy as np
import pytest

from seal_ir.index.reader import Index
from seal_ir.index.view import View
from tests.helpers import tiny

N = len(tiny.DOCUMENTS)


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    opened = tiny.built(tmp_path_factory.mktemp("view") / "index", max_segment_tokens=70)
    assert len(opened.manifest.segments) > 2
    return opened


@pytest.mark.parametrize("chosen", [[], [0], [6], [0, 1, 2, 3, 4, 5], [1, 3, 4], list(range(N))], ids=str)
def test_what_a_view_allows_and_counts(index: Index, chosen: list[int]) -> None:
    lengths = [len(symbols) for symbols in index.streams(range(N))]
    allowed = np.array(chosen, dtype=np.int64)
    for counts, n_tokens in (("filter", sum(lengths[n] for n in chosen)), ("collection", sum(lengths))):
        view = View(index, allowed, counts)  # type: ignore[arg-type]
        assert (view.counts, view.n_tokens, view.n_documents) == (counts, n_tokens, N)
        assert [n for n in range(N) if view.allows(index.docid(n))] == chosen
        assert not view.allows("none")
        rows = view.everything
        assert (rows[:, 1] - rows[:, 0]).sum() >= sum(lengths[n] for n in chosen)
        found = view.locate([view.find(tiny.stream_of(" the"))])
        assert set(found.documents.tolist()) <= set(chosen)
    assert View(index, allowed).counts == "collection"


def test_documents_are_those_of_the_whole_index(index: Index) -> None:
    view = View(index, np.array([1, 3], dtype=np.int64), "filter")
    every = np.arange(N)
    for found, expected in zip(view.extract(every), index.extract(every), strict=True):
        assert found.tolist() == expected.tolist()
    assert view.value_lengths("title").tolist() == index.value_lengths("title").tolist()
    assert view.documents(range(N)) == tiny.DOCUMENTS
    assert view.tokenizer is index.tokenizer
