"""Passages folded into pages, as Pyserini's writers do it."""

from __future__ import annotations

from pathlib import Path

import pytest

from seal_ir.formats.runs.pages import first_hits, fold_hits, page_of
from seal_ir.formats.runs.trec import RunWriter
from seal_ir.records import Hit


def hits(*docids: str) -> list[Hit]:
    return [Hit(docid, 10.0 - rank) for rank, docid in enumerate(docids)]


def pairs(results: list[Hit]) -> list[tuple[str, float]]:
    return [(hit.docid, hit.score) for hit in results]


@pytest.mark.parametrize(
    ("docid", "delimiter", "page"),
    [
        ("12#3", "#", "12"),
        ("12", "#", "12"),
        ("12#3#4", "#", "12"),
        ("Ab-3", "-", "Ab"),
        ("12-3-4", "#", "12-3-4"),
        ("enwiki:9", "::", "enwiki:9"),
        ("a::b", "::", "a"),
        ("#3", "#", "#3"),
        ("#", "#", "#"),
    ],
)
def test_a22_every_id_has_a_page_and_it_is_a_string(docid: str, delimiter: str, page: str) -> None:
    assert page_of(docid, delimiter) == page


def test_the_best_passage_stands_for_its_page() -> None:
    ranking = hits("12#1", "12#5", "34#2", "12#0", "56", "34#1")
    assert pairs(fold_hits(ranking, "#", 100)) == [("12", 10.0), ("34", 8.0), ("56", 6.0)]
    assert [hit.docid for hit in ranking] == ["12#1", "12#5", "34#2", "12#0", "56", "34#1"]


def test_pages_are_folded_before_the_cut() -> None:
    ranking = hits("12#1", "12#5", "34#2", "56#1")
    assert [hit.docid for hit in fold_hits(ranking, "#", 2)] == ["12", "34"]
    assert [hit.docid for hit in fold_hits(ranking[:2], "#", 2)] == ["12"]
    assert fold_hits([], "#", 2) == []


def test_an_empty_delimiter_is_a_bug() -> None:
    with pytest.raises(ValueError, match="empty separator"):
        fold_hits(hits("1#1"), "", 10)


def test_duplicates_go_and_the_first_stays() -> None:
    assert pairs(first_hits(hits("a", "b", "a", "b", "c"))) == [("a", 10.0), ("b", 9.0), ("c", 6.0)]


@pytest.mark.parametrize(
    ("output_format", "content"),
    [
        ("trec", "q Q0 12 1 10.000000 t\nq Q0 34 2 8.000000 t\n"),
        ("msmarco", "q\t12\t1\nq\t34\t2\n"),
        (
            "kilt",
            '{"id": "q", "input": "?", "output": [{"provenance": [{"wikipedia_id": "12"}, '
            '{"wikipedia_id": "34"}]}]}\n',
        ),
    ],
)
def test_files_of_pages(tmp_path: Path, output_format: str, content: str) -> None:
    path = tmp_path / "run"
    with RunWriter(path, tag="t", output_format=output_format, inputs={"q": "?"}) as writer:
        writer.write("q", fold_hits(hits("12#1", "12#5", "34#2", "56#7"), "#", 2))
    assert path.read_text(encoding="utf-8") == content
