"""An index of the published system becomes one of ours, or is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seal_ir.convert.published_index import PublishedCollection
from seal_ir.errors import InputError, ModelError
from seal_ir.records import Document
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import published, tiny
from tests.helpers.published import EOS, token_list

_sdsl = pytest.importorskip("seal_ir._sdsl")

LISTS = [token_list(document) for document in tiny.DOCUMENTS]
LABELS = [document.id for document in tiny.DOCUMENTS]


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "corpus.fm_index"


def read(prefix: Path) -> list[Document]:
    return list(PublishedCollection(prefix, tiny.tokenizer()))


def refused(prefix: Path) -> str:
    with pytest.raises(InputError) as error:
        read(prefix)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("protocol", range(6))
def test_documents_come_back(prefix: Path, protocol: int) -> None:
    published.write(prefix, LISTS, LABELS, protocol=protocol)
    assert read(prefix) == tiny.DOCUMENTS


def test_the_last_beginning_may_be_missing(prefix: Path) -> None:
    published.write(prefix, LISTS, LABELS, lambda side: (side[0][:-1], side[1], side[2]))
    assert read(prefix) == tiny.DOCUMENTS


def test_documents_without_labels_are_numbered(prefix: Path) -> None:
    published.write(prefix, LISTS, None)
    assert [document.id for document in read(prefix)] == [str(i) for i in range(len(LISTS))]


def test_documents_reversed_one_by_one_are_told_by_their_ends(prefix: Path) -> None:
    """Their text, read backwards, has the last document first; `beginnings` are those of the stored text."""
    beginnings = [0]
    for tokens in LISTS:
        beginnings.append(beginnings[-1] + len(tokens))
    published.write(prefix, LISTS[::-1], None, lambda side: (beginnings, side[1], LABELS))
    assert read(prefix) == tiny.DOCUMENTS[::-1]


def test_many_documents_are_read_in_parts(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seal_ir.convert.published_index._CHUNK", 7)
    monkeypatch.setattr("seal_ir.convert.published_index._BATCH", 2)
    published.write(prefix, LISTS, LABELS)
    assert read(prefix) == tiny.DOCUMENTS


def test_an_empty_document_is_left_out_and_counted(prefix: Path) -> None:
    delimiter = tiny.tokenizer().encode(" @@")
    published.write(prefix, [*LISTS, [*delimiter, EOS]], [*LABELS, "blank"])
    collection = PublishedCollection(prefix, tiny.tokenizer())
    assert list(collection) == tiny.DOCUMENTS
    assert collection.empty_ids == ["blank"]
    assert (collection.counts.read, collection.counts.indexed) == (8, 7)
    assert collection.counts.balanced


def test_a_document_without_a_delimiter_has_no_title(prefix: Path) -> None:
    plain = tiny.tokenizer().encode(" The Seine.")
    published.write(prefix, [*LISTS, [*plain, EOS]], [*LABELS, "plain"])
    assert read(prefix)[-1] == Document("plain", "", "The Seine.")


BAD_LISTS: dict[str, tuple[list[list[int]], str]] = {
    "no end of text": ([[*tokens[:-1], 5] for tokens in LISTS], "do not end with the end of text"),
    "no token": ([[5000, *LISTS[0]]], "the symbol 5010, which is no token of --model"),
    "below the shift": ([[-3, *LISTS[0]]], "the symbol 7, which is no token of --model"),
    "start of text": ([[0, *LISTS[0]]], "document 'd1' begins with the start of text"),
    "no delimiter": ([[300, 301, EOS]], "none of its first 1 documents has the title delimiter ' @@'"),
}


@pytest.mark.parametrize("name", BAD_LISTS)
def test_a_text_that_is_none_of_a_published_index_is_refused(prefix: Path, name: str) -> None:
    lists, message = BAD_LISTS[name]
    published.write(prefix, lists, LABELS[: len(lists)])
    assert message in refused(prefix)


SIDES: dict[str, tuple[Callable[[tuple], object], str]] = {  # type: ignore[type-arg]
    "other": (lambda side: side[0], "expected beginnings, occurring symbols and labels"),
    "two": (lambda side: side[:2], "expected beginnings, occurring symbols and labels"),
    "strings": (lambda side: (["0"], *side[1:]), "its beginnings are ['0']"),
    "huge": (lambda side: ([0, 1 << 70], *side[1:]), "its beginnings are no positions"),
    "not from 0": (lambda side: (side[0][1:], *side[1:]), "do not ascend from 0"),
    "not ascending": (lambda side: ([0, 5, 5], *side[1:]), "do not ascend from 0"),
    "occurring": (lambda side: (side[0], "abc", side[2]), "its occurring symbols are 'abc'"),
    "labels": (lambda side: (*side[:2], [1, 2]), "its labels are [1, 2]"),
    "few labels": (lambda side: (*side[:2], side[2][:3]), "3 labels for 8 beginnings"),
    "twice": (lambda side: (*side[:2], ["x"] * 7), "label 'x' comes twice"),
    "space": (lambda side: (*side[:2], ["a b", *side[2][1:]]), "label 0 has white space (seen 'a b')"),
    "beyond": (lambda side: ([*side[0][:-1], 10**9], *side[1:]), "do not fit"),
    "another's": (lambda side: ([*range(7), side[0][-1]], *side[1:]), "do not end with the end of text"),
}


@pytest.mark.parametrize("name", SIDES)
def test_a_side_file_that_does_not_fit_is_refused(prefix: Path, name: str) -> None:
    change, message = SIDES[name]
    published.write(prefix, LISTS, LABELS, change)
    assert message in refused(prefix)


def test_a_missing_file_is_named(prefix: Path) -> None:
    assert "corpus.fm_index.fmi: no such file" in refused(prefix)
    published.write(prefix, LISTS, LABELS)
    prefix.with_name("corpus.fm_index.oth").unlink()
    assert "corpus.fm_index.oth: cannot be opened" in refused(prefix)


def test_a_model_without_an_end_of_text_is_refused(prefix: Path) -> None:
    published.write(prefix, LISTS, LABELS)
    bare = TextTokenizer(json.dumps({**json.loads(tiny.definition()), "post_processor": None}))
    with pytest.raises(ModelError, match="end with no token"):
        PublishedCollection(prefix, bare)
