"""Passages of long documents: nothing of a text is lost, and each passage knows where it stood."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from seal_ir.errors import InputError
from seal_ir.formats.collections.splitting import POSITIONS, Split, passages
from seal_ir.index.builder import BuildOptions
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.examples import examples
from tests.helpers.indexes import content

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
SPACED = [
    "word",
    "wörter,",
    "слово",
    "λέξη",
    "كلمة",
    "שלום",
    "शब्द",
    "낱말",
    "คำ",
    "e\u0301",
    "👩\u200d🔬",
    "</s>",
    "#0",
]
UNSPACED = ["東京", "は", "日本。", "カタカナ、", "𠀀", "がか\u3099"]
SPLITS = st.integers(1, 7).flatmap(lambda n: st.builds(Split, st.just(n), st.integers(0, n - 1)))


def of(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=40).map("".join)


SPACED_TEXTS = of([*SPACED, *SPACES, *[" "] * len(SPACES)])
TEXTS = st.one_of(st.text(), SPACED_TEXTS, of([*SPACED, *UNSPACED, *SPACES, " ", "\n\n"]))


def test_white_space_of_all_kinds_is_tried() -> None:
    assert {" ", "\n", "\r", "\t", "\x0b", "\x1c", "\x85", "\u00a0", "\u2003", "\u2028", "\u3000"} < set(
        SPACES
    )


@given(TEXTS, st.integers(1, 7))
@examples(300)
def test_passages_without_overlap_are_the_text(text: str, n_words: int) -> None:
    found = list(passages(Document("d", "", text), Split(n_words)))
    assert "".join(passage.text for passage in found) == text


@given(TEXTS, SPLITS)
@examples(300)
def test_places_are_right_and_leave_nothing_out(text: str, split: Split) -> None:
    document = Document("d", "Title", text, None, (("tag", "x"),), (("year", 1),))
    found = list(passages(document, split))
    assert [passage.id for passage in found] == [f"d#{number}" for number in range(len(found))]
    places = []
    for passage in found:
        assert (passage.title, passage.further) == ("Title", document.further)
        assert [name for name, _ in passage.stored] == ["year", *(field.name for field in POSITIONS)]
        stored = dict(passage.stored)
        start, end = int(stored["passage_start"]), int(stored["passage_end"])
        assert text[start:end] == passage.text
        places.append((start, end))
    assert (places[0][0], places[-1][1]) == (0, len(text))
    for (start, end), (after, last) in zip(places[:-1], places[1:], strict=True):
        assert start < after <= end < last or (not split.n_overlap and start < after == end <= last)
    # By the places alone: what begins the next passage is dropped from each one.
    starts = [*(start for start, _ in places[1:]), len(text)]
    assert "".join(text[at:to] for (at, _), to in zip(places, starts, strict=True)) == text


@given(SPACED_TEXTS, SPLITS)
@examples(300)
def test_words_between_white_space_are_counted(text: str, split: Split) -> None:
    words, step = text.split(), split.n_words - split.n_overlap
    found = [passage.text.split() for passage in passages(Document("d", "", text), split)]
    for number, passage in enumerate(found):
        assert passage == words[number * step : number * step + split.n_words]
    covered = [range(number * step, number * step + len(passage)) for number, passage in enumerate(found)]
    assert {at for part in covered for at in part} == set(range(len(words)))
    assert all(before.stop < after.stop for before, after in zip(covered[:-1], covered[1:], strict=True))


@given(st.text("東京は日本の首都カナ", max_size=50), SPLITS)
@examples(100)
def test_characters_of_text_without_white_space_are_counted(text: str, split: Split) -> None:
    step = split.n_words - split.n_overlap
    for number, passage in enumerate(passages(Document("d", "", text), split)):
        assert passage.text == text[number * step : number * step + split.n_words]


@given(of([*SPACED, *UNSPACED, " "]), st.integers(1, 5))
@examples(200)
def test_marks_stay_with_what_stands_before_them(text: str, n_words: int) -> None:
    found = [passage.text for passage in passages(Document("d", "", text), Split(n_words))]
    marks = ("。", "、", "\u3099", "\u0301", ",")
    assume(len(found) > 1)
    assert not any(passage.startswith(marks) for passage in found[1:])


IDS = st.sampled_from(["a", "b", "c", "ab"])
LENGTHS = st.integers(0, 12)  # words
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(st.tuples(IDS, LENGTHS), min_size=1, max_size=3)),
        st.tuples(st.just("delete"), st.lists(IDS, min_size=1, max_size=2)),
        st.tuples(st.just("refused"), st.tuples(IDS, LENGTHS)),
        st.tuples(st.just("commit"), st.none()),
        st.tuples(st.just("merge"), st.none()),
    ),
    max_size=8,
)


def document_of(docid: str, n_words: int, serial: int) -> Document:
    text = " ".join(f"{docid}{serial} {number}" for number in range(n_words))
    return Document(docid, docid.upper(), text, None, (), (("year", serial),))


def rows(index: Index) -> list[tuple[Document, object]]:
    numbers = range(index.n_documents)
    return list(zip(index.documents(numbers), index.stored_values(numbers), strict=True))


def digests(directory: Path) -> set[str]:
    return {name.split("/")[0].split("-")[2] for name in content(directory) if name.startswith("segment")}


@pytest.mark.slow
@pytest.mark.parametrize("max_segment_tokens", [40, 1 << 30])
@given(CHANGES, SPLITS)
@examples(40)
def test_split_documents_are_changed_as_a_whole(
    max_segment_tokens: int, changes: list[tuple[str, list[tuple[str, int]]]], split: Split
) -> None:
    """Whatever is done, the index is like a fresh one of the documents that are left, with all passages."""
    options = BuildOptions(max_segment_tokens=max_segment_tokens, store=("year:int",), split=str(split))
    now = {"z": document_of("z", 9, 0)}
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder, "index")
        with SealIndexer(directory, tiny.tokenizer(), options=options) as writer:
            writer.add(now.values())
            for serial, (what, value) in enumerate(changes, 1):
                if what == "put":
                    documents = [document_of(docid, n, serial) for docid, n in value]
                    writer.add(documents, duplicates="last")
                    for document in documents:
                        now.pop(document.id, None)
                        now[document.id] = document
                elif what == "delete":
                    writer.delete(value, missing="skip")  # type: ignore[arg-type]
                    for docid in value:
                        now.pop(docid, None)  # type: ignore[call-overload]
                elif what == "refused":
                    docid, n = value
                    good = document_of(docid, n, serial)  # type: ignore[arg-type]
                    with pytest.raises(InputError, match="holds '#'"):
                        writer.add([good, good._replace(id="x#1")], duplicates="last")
                elif what == "commit":
                    writer.commit()
                else:
                    writer.merge()
        fresh = Path(folder, "fresh")
        tiny.build(fresh, now.values(), max_segment_tokens, store=("year:int",), split=str(split))
        assert rows(Index(directory)) == rows(Index(fresh))
        with SealIndexer(directory) as writer:
            writer.merge()
            assert writer.n_documents == Index(fresh).n_documents
        if max_segment_tokens > 40:  # one segment: the same bytes, by its name
            assert digests(directory) == digests(fresh)
