"""What an open index says of streams that are damaged and of conditions that do not fit, and single rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from seal_ir.errors import ArgumentError, IndexDirError
from seal_ir.index.reader import Index
from seal_ir.records import Document
from seal_ir.text.symbols import BOUNDARY, TITLE_END, further_marks
from tests.helpers import tiny


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    documents = [d._replace(further=(("tag", f"t{n}"), ("tag", "x"))) for n, d in enumerate(tiny.DOCUMENTS)]
    directory = tmp_path_factory.mktemp("reader") / "index"
    return tiny.built(directory, documents, 70, fields=("tag",))


def test_further_fields_come_back_with_the_documents(index: Index) -> None:
    found = index.documents([6, 0])
    assert [d.further for d in found] == [(("tag", "t6"), ("tag", "x")), (("tag", "t0"), ("tag", "x"))]
    assert found[1] == tiny.DOCUMENTS[0]._replace(further=found[1].further)
    assert isinstance(found[0], Document)


@pytest.mark.parametrize(
    "stream",
    [[50, 51], [BOUNDARY, 50], [BOUNDARY, TITLE_END, 50, further_marks(5).start, 51, further_marks(5).end]],
)
def test_streams_that_are_no_documents_are_damage(
    index: Index, monkeypatch: pytest.MonkeyPatch, stream: list[int]
) -> None:
    monkeypatch.setattr(Index, "streams", lambda self, numbers: [np.array(stream, dtype=np.uint32)])
    with pytest.raises(IndexDirError) as error:
        index.documents([0])
    assert str(error.value) == (
        f"{index.directory}: damaged (the text of a document); rebuild it with python -m seal_ir.index"
    )


def test_beginnings_are_found_with_what_they_begin(index: Index) -> None:
    assert list(index.find_all([])) == [()]
    a, b, *_ = tiny.stream_of(" the capital of")
    found = index.find_all([(a, b), (b,), ()])
    assert set(found) == {(), (a,), (a, b), (b,)}
    assert found[()].tolist() == index.everything.tolist()
    for ngram in [(a,), (a, b), (b,)]:
        assert tuple(map(tuple, found[ngram].tolist())) == index.find(list(ngram))


def test_single_rows_are_those_of_all(index: Index) -> None:
    (symbol, *_) = tiny.stream_of(" the")
    ranges = index.find([symbol])
    located = index.locate([ranges])
    expected = sorted(zip(located.documents.tolist(), located.ends.tolist(), strict=True))
    rows = [(segment, row) for segment, (lo, hi) in enumerate(ranges) for row in range(lo, hi)]
    assert sorted(index.locate_row(segment, row) for segment, row in rows) == expected
    assert len(expected) > 3


def test_a_condition_that_does_not_fit_is_told_with_the_fields(index: Index, tmp_path: Path) -> None:
    stored = tiny.built(tmp_path / "index", store=("year:int", "lang"))
    for opened, fields in ((index, "none"), (stored, "year (int), lang (string)")):
        with pytest.raises(ArgumentError) as error:
            opened.matching(pc.field("month") > 5)
        assert str(error.value) == (
            f"{opened.directory}: the filter '(month > 5)' does not fit: No match for FieldRef.Name(month);"
            f" the stored fields are id and {fields} (--store, when indexing, adds others)"
        )


@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("find", "symbols"),
        ("streams", "documents"),
        ("documents", "documents"),
        ("stored_values", "documents"),
        ("raws", "documents"),
    ],
)
def test_what_is_no_number_is_told_by_its_argument(index: Index, method: str, name: str) -> None:
    with pytest.raises(ArgumentError, match=rf"^{name}\[1\] is 'x' \(str\)"):
        getattr(index, method)([1, "x"])


def test_sizes_are_of_all_segments_together(index: Index) -> None:
    parts = [engine.size_in_bytes() for engine in index._engines]
    assert len(parts) > 1
    assert index.engine_sizes() == {name: sum(part[name] for part in parts) for name in parts[0]}
    assert min(index.engine_sizes().values()) > 0
