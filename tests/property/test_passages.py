"""Passages come back as they were written, in every format, whatever they hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.formats.runs.others import read_ranked
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS, Asked, Passage
from tests.helpers.examples import examples
from tests.helpers.passages import write
from tests.property.test_formats import ID, TEXT

SCORE = st.floats(-1e37, 1e37, allow_nan=False)
LINE = TEXT.filter(lambda text: "\n" not in text)
PASSAGE = st.builds(Passage, ID, st.integers(-1, 9), SCORE, LINE, TEXT)
TOPICS = st.dictionaries(
    ID, st.lists(PASSAGE, unique_by=lambda passage: passage.docid, max_size=4), max_size=4
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("passages")


@examples(40)  # each writes a file
@given(TOPICS, st.sampled_from(PASSAGE_FORMATS))
def test_what_is_written_comes_back(
    folder: Path, topics: dict[str, list[Passage]], output_format: str
) -> None:
    asked = {qid: Asked(qid, f"question {n}") for n, qid in enumerate(topics)}
    path = write(folder / "p", output_format, *((asked[qid], found) for qid, found in topics.items()))
    run = read_ranked(path, {qid: topic.question for qid, topic in asked.items()})
    assert run.rankings == {
        qid: [(passage.docid, passage.score) for passage in found] for qid, found in topics.items()
    }
    first: dict[str, tuple[str, str]] = {}
    for found in topics.values():
        for passage in found:
            first.setdefault(passage.docid, (passage.title, passage.text))
    assert run.texts == first
