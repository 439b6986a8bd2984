"""KILT's knowledge source as a collection: pages, their passages, and places of paragraphs in them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.collections.knowledge import Page
from seal_ir.formats.collections.splitting import Split, passages
from seal_ir.records import Document

PAGE = {
    "_id": "1101759",
    "wikipedia_id": "1101759",
    "wikipedia_title": "Email marketing",
    "text": [
        "Email marketing\n",
        "Email marketing is sending mail.\n",
        "Section::::Types.\n",
        "BULLET::::- Transactional\n",
        "BULLET::::2. Direct\n",
        "\n",
        "  It is old.\n",
    ],
    "anchors": [{"text": "mail", "href": "Mail", "paragraph_id": 1, "start": 27, "end": 31}],
    "categories": "Marketing,Email",
    "history": {"pageid": "1101759"},
}
TEXT = "Email marketing is sending mail. Transactional Direct It is old."


def source(folder: Path, *pages: object, name: str = "kilt_knowledgesource.json") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(page)}\n" for page in pages), encoding="utf-8")
    return path


def test_a_page_is_a_document(tmp_path: Path) -> None:
    collection = Collection("KiltCollection", source(tmp_path, PAGE, {**PAGE, "wikipedia_id": 7}))
    assert list(collection) == [
        Document("1101759", "Email marketing", TEXT),
        Document("7", "Email marketing", TEXT),
    ]


def test_a_title_that_is_not_there_is_not_left_out(tmp_path: Path) -> None:
    page = {**PAGE, "text": ["Marketing\n", "by mail"]}
    assert [document.text for document in Collection("KiltCollection", source(tmp_path, page))] == [
        "Marketing by mail"
    ]


def test_passages_have_records_of_their_own(tmp_path: Path) -> None:
    """With further and stored fields; the page's text and anchors are not repeated in each."""
    options = ReadOptions(
        keep_raw=True, fields=("categories",), stored=(), will_split=True, include_ids=frozenset({"1101759"})
    )
    (document,) = Collection("KiltCollection", source(tmp_path, PAGE), options)
    found = list(passages(document, Split(4)))
    assert [passage.id for passage in found] == ["1101759#0", "1101759#1", "1101759#2"]
    assert "".join(passage.text for passage in found) == TEXT
    assert found[0].further == (("categories", "Marketing,Email"),)
    assert found[1].raw is not None
    record = json.loads(found[1].raw)
    assert (record["id"], record["text"]) == ("1101759#1", found[1].text)
    assert "anchors" not in record


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ({"wikipedia_title": "x", "text": []}, 'no "wikipedia_id"'),
        ({**PAGE, "wikipedia_id": "1 2"}, '"wikipedia_id" has white space'),
        ({**PAGE, "text": "x"}, 'page \'1101759\': "wikipedia_title" must be a string and "text" a list'),
        ({**PAGE, "text": ["x", None]}, "page '1101759'"),
        ({**PAGE, "wikipedia_title": None}, "page '1101759'"),
        ({**PAGE, "text": ["\ud83d"]}, "page '1101759': the text has half a surrogate pair"),
        ([PAGE], "a JSON object is needed"),
    ],
)
def test_what_is_malformed(tmp_path: Path, page: object, message: str) -> None:
    path = source(tmp_path, {**PAGE, "wikipedia_id": "3"}, page)
    with pytest.raises(InputError) as told:
        list(Collection("KiltCollection", path))
    assert f"kilt_knowledgesource.json:2: {message}" in str(told.value)
    skipped = Collection("KiltCollection", path, ReadOptions(malformed="skip"))
    assert [document.id for document in skipped] == ["3"]
    assert skipped.counts.malformed == 1


def test_places_of_paragraphs() -> None:
    page = Page("1", "Email marketing", tuple(PAGE["text"]))  # type: ignore[arg-type]
    assert page.text == TEXT
    assert TEXT[page.place(1, 0) : page.place(1, 15)] == "Email marketing"
    assert TEXT[page.place(3, 12) : page.place(3, 17)] == "Trans"
    assert TEXT[page.place(6, 2) : page.place(6, 12)] == "It is old."
    assert page.place(3, 0) == page.place(3, 5) == page.place(2, 4) == TEXT.index("Transactional")  # marks
    assert page.place(0, 3) == 0
    assert page.place(1, 999) == TEXT.index(" Transactional")
    assert page.place(99, 0) == page.place(6, 99) == len(TEXT)
    assert Page("1", "t", ("t",)).place(0, 0) == 0
    assert Page("1", "t", ()).place(1, 5) == 0


MARKS = st.sampled_from(["", "", "  ", "BULLET::::- ", "BULLET::::", "BULLET::::12. ", "Section::::"])
WORDS = st.text(alphabet="abé\U0001f600 .", max_size=12).map(str.strip)


@given(st.lists(st.tuples(MARKS, WORDS, st.sampled_from(["", "\n", " \n"])), max_size=6))
def test_places_are_of_the_same_characters(parts: list[tuple[str, str, str]]) -> None:
    """A character that is in the text stands where its place says, and places never go back."""
    page = Page("1", "title", tuple("".join(part) for part in parts))
    assert page.text == " ".join(text for mark, text, _ in parts if text and mark != "Section::::")
    for number, (mark, text, _) in enumerate(parts):
        if mark != "Section::::":
            found = [page.place(number, len(mark) + i) for i in range(len(text))]
            assert "".join(page.text[place] for place in found) == text
    places = [page.place(i, j) for i, text in enumerate(page.paragraphs) for j in range(len(text))]
    assert places == sorted(places)
    assert all(0 <= place <= len(page.text) for place in places)
