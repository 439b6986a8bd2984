"""Documents that a caller hands over: they come out whole, or are refused by their place."""

from __future__ import annotations

from typing import Any

import pytest

from seal_ir.errors import ArgumentError
from seal_ir.formats.collections.stored import stored_fields
from seal_ir.index.document_checks import checked, given
from seal_ir.records import Document

FIELDS = ("tag", "place")
STORED = stored_fields(("year:int", "lang"))
WHOLE = Document(
    "a", "Title", "Text.", '{"id": "a"}', (("tag", "y"), ("place", "x")), (("year", 5), ("lang", "en"))
)
PLAIN = Document("b", "", "")


def test_documents_come_out_as_they_went_in() -> None:
    for look in (checked, given):
        assert list(look(iter([WHOLE, PLAIN]), FIELDS, STORED)) == [WHOLE, PLAIN]
        assert list(look([PLAIN], ())) == [PLAIN]
        swapped = WHOLE._replace(stored=WHOLE.stored[::-1])
        assert list(look([swapped], FIELDS, STORED)) == [WHOLE]  # stored fields have an order of their own


def test_records_are_read_as_those_of_a_collection_and_kept() -> None:
    record = {
        "id": "a",
        "title": "Title",
        "text": "Text.",
        "place": "x",
        "tag": ["y"],
        "year": 5,
        "lang": "en",
        7: 1,
    }
    told = (
        '{"id": "a", "title": "Title", "text": "Text.", "place": "x", "tag": ["y"], "year": 5, "lang": "en",'
        ' "7": 1}'
    )
    for given_record in (record, told):
        (document,) = given([given_record], FIELDS, STORED)
        assert document == WHOLE._replace(raw=told)
    (document,) = given([record], ())
    assert document == Document("a", "Title", "Text.", told)
    (document,) = given([{"id": "a", "contents": "x", None: 1, (1, 2): 3}], ())  # type: ignore[dict-item]
    assert document.raw == '{"id": "a", "contents": "x", "None": 1, "(1, 2)": 3}'


OF_DOCUMENTS: list[tuple[Any, str]] = [
    (WHOLE._replace(id=7), ".id is 7 (int); it must be text"),
    (WHOLE._replace(id=""), ".id is ''; it must be text without white space"),
    (WHOLE._replace(id="a b"), ".id is 'a b'; it must be text without white space"),
    (WHOLE._replace(id="a\n"), ".id is 'a\\n'; it must be text without white space"),
    (WHOLE._replace(title=None), ".title is None (NoneType); it must be text"),
    (WHOLE._replace(text=b"x"), ".text is b'x' (bytes); it must be text"),
    (WHOLE._replace(raw={}), ".raw is {} (dict); it must be text"),
    (WHOLE._replace(further=(("tag", 5),)), ".tag is 5 (int); it must be text"),
    (WHOLE._replace(further=(("other", "x"),)), " has a field 'other'; name it in BuildOptions(fields=...)"),
    (WHOLE._replace(stored=(("other", 1),)), " stores 'other'; name it in BuildOptions(store=...)"),
    (
        WHOLE._replace(stored=(("year", "x"),)),
        ": \"year\" is 'x'; it is stored as int and must be an integer of 64 bits, or null",
    ),
]


@pytest.mark.parametrize(("document", "told"), OF_DOCUMENTS, ids=lambda value: str(value)[:30])
def test_a_document_that_is_none_is_named_with_what_is_wrong(document: Any, told: str) -> None:
    for look, name in ((checked, "documents"), (given, "docs")):
        with pytest.raises(ArgumentError) as error:
            list(look([PLAIN, document], FIELDS, STORED))
        assert str(error.value) == f"{name}[1]{told}"


OTHERS: list[tuple[Any, str]] = [
    (7, "docs[1] is 7 (int); it must be a Document, a dict or JSON text"),
    ({"id": "a"}, 'docs[1]: no "contents"'),
    ('{"id": "a"', "docs[1]: not JSON"),
    (
        {"id": "x", "contents": "x", "n": object},
        "docs[1] cannot be written as JSON (Object of type type is not JSON serializable); give plain values",
    ),
]


@pytest.mark.parametrize(("value", "told"), OTHERS, ids=lambda value: str(value)[:30])
def test_what_is_no_record_is_named(value: Any, told: str) -> None:
    with pytest.raises(ArgumentError) as error:
        list(given([PLAIN, value], FIELDS, STORED))
    assert str(error.value).startswith(told)
    with pytest.raises(ArgumentError) as error:
        list(checked([PLAIN, value], FIELDS, STORED))
    assert str(error.value).startswith("documents[1] is ")
    assert str(error.value).endswith("; it must be a Document")


def test_a_single_one_is_no_list() -> None:
    for look, name in ((checked, "documents"), (given, "docs")):
        with pytest.raises(ArgumentError) as error:
            look("text", ())  # type: ignore[arg-type]
        assert str(error.value) == f"{name} is 'text' (str), a single one; give a list of them"
