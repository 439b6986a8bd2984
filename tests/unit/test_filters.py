"""Filters: what they are made of, what they refuse, and the fields that are stored for them."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seal_ir.config import PRESETS
from seal_ir.errors import ArgumentError, IndexDirError, InputError, SealError, UsageError
from seal_ir.formats.collections.stored import stored_fields
from seal_ir.index.builder import BuildOptions
from seal_ir.index.conditions import FORM, condition, is_condition
from seal_ir.index.filters import made_filter
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.index.view import View
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.indexes import edit, part, refused
from tests.helpers.stubbed import Stubbed

QUERY = "what is the capital of Japan"
STORE = ("year:int", "lang", "score:float", "open:bool")
VALUES: dict[str, dict[str, Any]] = {
    "d1": {"year": 1999, "lang": "fr", "score": 0.5, "open": True},
    "d2": {"year": 2001, "lang": "en", "score": 2, "open": False},
    "d3#0": {"year": 2010, "lang": None},
    "d4": {"year": 2020, "lang": "ja", "score": -1e300, "open": True},
    "d5": {},
}


def records() -> list[dict[str, Any]]:
    texts = {d.id: {"id": d.id, "title": d.title, "text": d.text} for d in tiny.DOCUMENTS}
    return [texts[docid] | values for docid, values in VALUES.items()]


def built(folder: Path, max_tokens: int = 1 << 30) -> Path:
    options = BuildOptions(max_segment_tokens=max_tokens, store=STORE)
    with SealIndexer(folder / "index", tiny.tokenizer(), options=options) as writer:
        writer.add(records())
    return folder / "index"


@pytest.fixture(scope="module")
def stored_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("stored"), 70)


def ids(searcher: SealSearcher, allowed: Any) -> list[str]:
    return sorted(hit.docid for hit in searcher.search(QUERY, k=20, filter=allowed))


def test_any_container_of_ids_is_a_filter(tiny_index: Path) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator())
    everything = sorted(hit.docid for hit in searcher.search(QUERY, k=20))
    assert len(everything) > 3
    wanted = everything[:2]
    made = searcher.make_filter(wanted)
    for allowed in (wanted, set(wanted), dict.fromkeys(wanted).keys(), pa.array(wanted), iter(wanted), made):
        assert ids(searcher, allowed) == wanted
    assert ids(searcher, wanted * 2) == wanted
    assert ids(searcher, [document.id for document in tiny.DOCUMENTS]) == everything
    assert ids(searcher, None) == everything


def test_hits_have_their_texts_and_numbers(tiny_index: Path) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator())
    for hit in searcher.search(QUERY, filter=["d4", "d1", "d6"]):
        document = searcher.doc(hit.lucene_docid)
        assert document is not None
        assert (document.docid(), document.contents()) == (hit.docid, hit.contents)


def test_every_filter_goes_with_the_model_that_is_loaded_once(tiny_index: Path, stubbed: Stubbed) -> None:
    with SealSearcher(tiny_index, "tiny") as searcher:
        assert ids(searcher, ["d1"]) == ["d1"]
        assert ids(searcher, ["d4"]) == ["d4"]
        assert ids(searcher, None)
        assert len(stubbed.loaded) == 1


def test_nothing_is_allowed(tiny_index: Path, stubbed: Stubbed) -> None:
    """No hits, as Lucene has none, and the model is not even loaded."""
    searcher = SealSearcher(tiny_index, "tiny")
    assert searcher.search(QUERY, filter=[]) == []
    assert searcher.batch_search([QUERY], ["q"], filter=set()) == {"q": []}
    assert searcher.search(QUERY, filter=pc.field("id") == "no such id") == []
    assert stubbed.loaded == []


def test_a_filter_of_another_state_of_the_index(tiny_index: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(tiny_index, tmp_path / "index"))
    searcher = SealSearcher(directory, tiny.generator())
    made = searcher.make_filter(["d1", "d4"])
    with SealIndexer(directory) as writer:
        writer.delete(["d2"])
    assert ids(searcher, made) == ["d1", "d4"]
    searcher.refresh()
    with pytest.raises(UsageError, match="made for another state of the index .*7 documents.*make it anew"):
        searcher.search(QUERY, filter=made)
    assert ids(searcher, searcher.make_filter(["d1", "d4"])) == ["d1", "d4"]
    with pytest.raises(UsageError, match="keeps its index; refresh what it was made from"):
        searcher.within(searcher.make_filter(["d1"])).refresh()


@pytest.mark.parametrize(
    ("allowed", "error", "told"),
    [
        (["d1", "nowhere", "x"], InputError, "no document with the id 'nowhere', and so 2 of 3 ids"),
        ("d1", ArgumentError, "a single one; give a list"),
        ([1], ArgumentError, r"filter\[0\] is 1 \(int\); it must be text"),
        (5, ArgumentError, "filter is 5"),
        ({"d1": 1}, ArgumentError, "filter is a mapping"),
        (lambda document: True, ArgumentError, "filter is <function"),
        (pc.field("year") > 2000, ArgumentError, r"No match for FieldRef.Name\(year\); .* id and none"),
    ],
)
def test_what_is_no_filter_is_refused_in_a_line(
    tiny_index: Path, allowed: Any, error: type[SealError], told: str
) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator())
    with pytest.raises(error, match=told) as raised:
        searcher.search(QUERY, filter=allowed)
    assert "\n" not in str(raised.value)


def test_unknown_ids_may_be_skipped(tiny_index: Path) -> None:
    searcher = SealSearcher(tiny_index, tiny.generator())
    assert searcher.make_filter(["d1", "nowhere"], missing="skip").n_documents == 1
    with pytest.raises(InputError) as error:
        searcher.make_filter(["d1", "nowhere", "x", "d1"])
    assert str(error.value) == (
        f"{tiny_index}: has no document with the id 'nowhere', and so 2 of 3 ids of the filter; take them out"
        ' of it (or make_filter with missing="skip")'
    )
    for name, choices in {"missing": "error, skip", "counts": "collection, filter"}.items():
        for allowed in (["d1"], pc.field("id") == "d1"):
            with pytest.raises(UsageError, match=f"^{name} is 'both'; choose one of {choices}$"):
                searcher.make_filter(allowed, **{name: "both"})  # type: ignore[arg-type]


def test_filters_of_ids_and_of_conditions_are_the_same(tiny_index: Path) -> None:
    """And go with any opening of the same generation."""
    index = Index(tiny_index)
    for counts in ("collection", "filter"):
        of_ids, of_condition = (
            made_filter(index, allowed, counts)  # type: ignore[arg-type]
            for allowed in (["d1", "d4"], (pc.field("id") == "d1") | (pc.field("id") == "d4"))
        )
        assert of_ids.view.n_tokens == of_condition.view.n_tokens
        assert (of_ids.view.n_tokens < index.n_tokens) == (counts == "filter")
        assert of_ids.view.counts == of_condition.view.counts == counts
        assert of_ids.view_of(Index(tiny_index)) is of_ids.view


def test_stopping_goes_by_the_counts_of_the_weights_or_not_at_all(tiny_index: Path, stubbed: Stubbed) -> None:
    base = PRESETS["balanced"]
    config = replace(base, decode=replace(base.decode, stop=True))
    searcher = SealSearcher(tiny_index, config=config)
    with pytest.raises(UsageError, match="stop is on, and goes by what occurs within the filter"):
        searcher.search(QUERY, filter=["d1"])
    assert stubbed.loaded == []
    searcher.search(QUERY, filter=searcher.make_filter(["d1"], counts="filter"))


def test_a_view_is_pickled_with_its_index(tiny_index: Path) -> None:
    view = View(Index(tiny_index), Index(tiny_index).numbers_of(["d1", "d4"]), "filter")
    again = pickle.loads(pickle.dumps(view))  # noqa: S301
    assert again.n_tokens == view.n_tokens
    assert again.first_symbols.symbols.tolist() == view.first_symbols.symbols.tolist()


def test_documents_that_are_indexed_here_and_now_have_stored_fields() -> None:
    with SealSearcher.from_documents(records(), tiny.generator(), store=STORE) as searcher:
        assert searcher.make_filter(pc.field("year") > 2001).n_documents == 2


# Stored fields

EXPRESSIONS = [
    (pc.field("year") > 2000, "year > 2000", ["d2", "d3#0", "d4"]),
    ((pc.field("year") > 2000) & (pc.field("lang") != "en"), "year > 2000 and lang != en", ["d4"]),
    (
        (pc.field("year") > 1990) & (pc.field("year") < 2015) & (pc.field("lang") == "en"),
        "year > 1990 and year < 2015 and lang == en",
        ["d2"],
    ),
    (pc.field("score") == 2.0, "score == 2", ["d2"]),
    (pc.field("score") < 0, "score < -0.5", ["d4"]),
    (pc.field("open"), "open == true", ["d1", "d4"]),
    (~pc.field("open"), "open == false", ["d2"]),
    (pc.field("id") <= "d2", "id <= 'd2'", ["d1", "d2"]),
    (pc.field("lang").isin(["fr", "ja"]), None, ["d1", "d4"]),
    (pc.field("lang").is_null(), None, ["d3#0", "d5"]),
    (pc.match_substring(pc.field("lang"), "a"), None, ["d4"]),
]


@pytest.mark.parametrize(("expression", "text", "expected"), EXPRESSIONS)
def test_conditions_on_stored_fields(
    stored_index: Path, expression: pc.Expression, text: str | None, expected: list[str]
) -> None:
    searcher = SealSearcher(stored_index, tiny.generator())
    index = searcher.index
    assert len(index.manifest.segments) > 1
    found = [searcher.make_filter(expression)]
    if text is not None:
        found.append(searcher.make_filter(condition(text, index.manifest.stored)))
    for made in found:
        assert [index.docid(number) for number in made.view.allowed] == expected
    assert set(ids(searcher, expression)) <= set(expected)


def test_stored_fields_live_on_through_changes_and_merges(tmp_path: Path) -> None:
    directory = built(tmp_path)
    with SealIndexer(directory) as writer:
        writer.delete(["d2"])
        writer.update([{"id": "d1", "contents": "new", "year": 2030}])
        writer.add([Document("new", "", "text", stored=(("lang", "de"), ("year", 2000)))])
    before = Index(directory)
    assert len(before.manifest.segments) > 1
    rows = [row for table in before.stored_tables() for row in table.to_pylist()]
    nothing = dict.fromkeys(("year", "lang", "score", "open"))
    expected = [{"id": docid, **nothing, **VALUES[docid]} for docid in ("d3#0", "d4", "d5")]
    expected += [{"id": "d1", **nothing, "year": 2030}, {"id": "new", **nothing, "year": 2000, "lang": "de"}]
    assert rows == expected
    with SealIndexer(directory) as writer:
        writer.merge()
    after = Index(directory)
    assert [table.to_pylist() for table in after.stored_tables()] == [expected]
    assert after.manifest.stored == before.manifest.stored == {f.name: f.type for f in stored_fields(STORE)}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("year", "2000", "'2000'; it is stored as int and must be an integer of 64 bits, or null"),
        ("year", 2000.0, "2000.0; it is stored as int"),
        ("year", True, "True; it is stored as int"),
        ("year", 1 << 63, "it is stored as int"),
        ("lang", 5, "5; it is stored as string and must be a string, or null"),
        ("lang", ["en"], r"\['en'\]; it is stored as string"),
        ("lang", "\ud800", "it is stored as string"),
        ("score", "0.5", "'0.5'; it is stored as float and must be a number, or null"),
        ("score", float("nan"), "nan; it is stored as float"),
        ("score", 10**400, "it is stored as float"),
        ("open", 1, "1; it is stored as bool and must be true or false, or null"),
    ],
)
def test_values_of_another_type_are_refused(tmp_path: Path, name: str, value: object, told: str) -> None:
    directory = built(tmp_path)
    with SealIndexer(directory) as writer:
        for given in (
            {"id": "x", "contents": "text", name: value},
            Document("x", "", "text", stored=((name, value),)),  # type: ignore[arg-type]
        ):
            with pytest.raises(ArgumentError, match=rf'docs\[0\].*"{name}" is .*{told}') as raised:
                writer.add([given])
            assert "\n" not in str(raised.value)
        with pytest.raises(ArgumentError, match=r"stores 'other'; name it in BuildOptions"):
            writer.add([Document("x", "", "text", stored=(("other", 1),))])


@pytest.mark.parametrize(
    ("store", "told"),
    [
        (["year:date"], "unknown type 'date'; choose one of string, int, float, bool"),
        (["year:int", "year"], "'year' is named twice"),
        (["id"], "give a name other than id"),
        ([":int"], "give a name other than id"),
    ],
)
def test_fields_that_cannot_be_stored(store: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        BuildOptions(store=tuple(store))


WRITE = f"write {FORM}"
WITH_OPERATORS = f"{WRITE}; OP is one of ==, !=, <, <=, >, >="


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("year >", WITH_OPERATORS),
        ("year", WITH_OPERATORS),
        ("", WRITE),
        ("year > 1 or year < 5", WRITE),
        ("year > 1 and", WRITE),
        ("year > 1 and lang", WITH_OPERATORS),
        ("year > 1 and year < 5 or year < 7", WRITE),
        ("year = 5", WITH_OPERATORS),
        ("year 5 >", WITH_OPERATORS),
        ("year > 'a", f"No closing quotation; {WRITE}"),
        (
            "month > 5",
            "no stored field 'month'; there are id, year, lang, open, score"
            " (--store, when indexing, adds others)",
        ),
        ("year > soon", "year is stored as int, and 'soon' is none"),
        ("year > 1 and year > 2.5", "year is stored as int, and '2.5' is none"),
        ("score > high", "score is stored as float, and 'high' is none"),
        ("open == yes", "open is true or false, and not 'yes'"),
        (
            "__import__('os') == 1",
            "no stored field '__import__(os)'; there are id, year, lang, open, score"
            " (--store, when indexing, adds others)",
        ),
    ],
)
def test_what_is_no_condition(text: str, told: str) -> None:
    types = {"year": "int", "lang": "string", "open": "bool", "score": "float"}
    with pytest.raises(UsageError) as raised:
        condition(text, types)
    assert str(raised.value) == f"condition {text!r}: {told}"


def test_a_condition_is_told_from_the_name_of_a_file() -> None:
    assert all(map(is_condition, ("year > 5", "id == ids.txt", "lang != 'x y'", "year >= 1 and year <= 2")))
    assert not any(map(is_condition, ("ids.txt", "a=b", "year>5", "ids and others", "", "-")))


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (
            pc.field("month") > 5,
            r"No match for FieldRef.Name\(month\); the stored fields are id and year \(int\)",
        ),
        (pc.field("year") > "x", "does not fit"),
        (pc.field("lang") > 5, "does not fit"),
        (pc.field("year") + 1, "does not fit"),
    ],
)
def test_expressions_that_do_not_fit(stored_index: Path, expression: pc.Expression, told: str) -> None:
    searcher = SealSearcher(stored_index, tiny.generator())
    with pytest.raises(ArgumentError, match=told) as raised:
        searcher.make_filter(expression)
    assert "\n" not in str(raised.value)


def test_damaged_stored_fields(tmp_path: Path) -> None:
    directory = built(tmp_path)
    edit(directory, stored={"year": "date"})
    assert "it stores a field as 'date'" in refused(directory)
    edit(directory, stored={"year": "int"})
    assert "its columns are others" in refused(directory)
    directory = built(tmp_path / "second")
    path = part(directory, "segment-000000/stored.arrow")
    with pa.ipc.open_file(path) as reader:
        table = reader.read_all()
    with pa.ipc.new_file(str(path), table.schema) as writer:
        writer.write_table(table.slice(1))
    files = json.loads((directory / "index.json").read_text(encoding="utf-8"))["files"]
    name = next(name for name in files if name.endswith("stored.arrow"))
    edit(directory, files=files | {name: {**files[name], "size": path.stat().st_size}})
    index = Index(directory, check="sizes")
    with pytest.raises(IndexDirError, match=r"stored.arrow: damaged.*4 rows of 5 documents"):
        list(index.stored_tables())
