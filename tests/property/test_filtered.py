"""A search within a filter is the search of an index of the allowed documents alone."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.config import SearchConfig, preset
from seal_ir.index.engine import EngineSpec
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.view import View
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.examples import examples
from tests.helpers.filtered import QUERIES, compare_whole, compare_within

TEXTS = [*tiny.SENTENCES, tiny.LITERAL, "", "Paris", "the capital of the sea", "two  spaces"]
UNCONSTRAINED = "unconstrained"
ALLOWED, OTHER, DELETED = "allowed", "other", "deleted"
PARTS = st.tuples(
    st.sampled_from(["", "Paris", "Tokyo", "</s>"]),
    st.sampled_from(TEXTS),
    st.sampled_from(["", "city", "sea life"]),
    st.sampled_from([ALLOWED, ALLOWED, OTHER, OTHER, DELETED]),
)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "sdsl"])
@given(
    parts=st.lists(PARTS, min_size=1, max_size=10),
    cut=st.sampled_from([70, 120, 1 << 30]),
    name=st.sampled_from(["intersective", "lm", "lm-fm", "published", UNCONSTRAINED]),
)
@examples(40)
def test_what_is_allowed_is_searched_as_if_there_were_no_other_documents(
    engine: str, parts: list[tuple[str, str, str, str]], cut: int, name: str
) -> None:
    made = [(_document(number, *part), part[3]) for number, part in enumerate(parts)]
    deleted = [document.id for document, kind in made if kind == DELETED]
    allowed = [document for document, kind in made if kind == ALLOWED]
    with tempfile.TemporaryDirectory() as folder, patch.object(os, "fsync", lambda handle: None):
        place, fresh = Path(folder, "index"), Path(folder, "fresh")
        documents = [document for document, _ in made]
        tiny.build(place, documents, cut, engine=EngineSpec(engine), fields=("tag",))
        if 0 < len(deleted) < len(documents):
            with SealIndexer(place) as writer:
                writer.delete(deleted)
        searcher = SealSearcher(place, tiny.generator(), config=_config(name))
        within = searcher.make_filter([document.id for document in reversed(allowed)], counts="filter")
        whole = searcher.make_filter({document.id for document in allowed})
        assert within.n_documents == whole.n_documents == len(allowed)
        if not allowed:
            nothing: dict[str, list[object]] = {query: [] for query in QUERIES}
            assert searcher.batch_search(QUERIES, QUERIES, filter=within) == nothing
            assert searcher.batch_search(QUERIES, QUERIES, filter=whole) == nothing
            return
        tiny.build(fresh, allowed, fields=("tag",))
        alone = SealSearcher(fresh, tiny.generator(), config=_config(name))
        compare_within(searcher, within, alone)
        compare_whole(searcher, whole, alone)


def _config(name: str) -> SearchConfig:
    if name != UNCONSTRAINED:
        return preset(name)
    usual = preset("intersective")
    return replace(usual, decode=replace(usual.decode, constrained=False))


def _document(number: int, title: str, text: str, tag: str, _: str) -> Document:
    # Ids in another order than the documents: they decide between equal scores.
    return Document(f"d{7 * number % 10}", title, text, None, (("tag", tag),) if tag else ())


def test_a_view_places_ngrams_where_the_index_has_them(tmp_path: Path) -> None:
    index = tiny.built(tmp_path / "index", max_segment_tokens=70)
    view = View(index, index.numbers_of(["d4", "d1", "d6"]))
    of_all = index.locate([index.find([symbol]) for symbol in tiny.stream_of(" the capital")])
    of_view = view.locate([view.find([symbol]) for symbol in tiny.stream_of(" the capital")])
    allowed = set(view.allowed.tolist())
    expected = [pair for pair in _places(of_all) if pair[1] in allowed]
    assert expected
    assert _places(of_view) == expected


def _places(found: object) -> list[tuple[int, int, int]]:
    offsets, documents, ends = (column.tolist() for column in found)  # type: ignore[attr-defined]
    owners = [i for i in range(len(offsets) - 1) for _ in range(offsets[i], offsets[i + 1])]
    return sorted(zip(owners, documents, ends, strict=True))
