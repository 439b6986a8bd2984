"""Fields beside title and body: read, indexed, given back, written whole, ranked by, kept as keys."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir import SealSearcher
from seal_ir.config import SearchConfig, preset
from seal_ir.errors import IndexDirError, InputError, ModelError, UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from seal_ir.lm.protocols import Generator
from seal_ir.records import Document
from tests.helpers import tiny

FIELDS = ("docid", "pseudo_queries")
FURTHER = {
    "d1": (
        ("docid", "1 0"),
        ("pseudo_queries", "capital of France"),
        ("pseudo_queries", "where is the Seine"),
    ),
    "d2": (("docid", "1 1"),),
    "d4": (("docid", "2 0"), ("pseudo_queries", "capital of Japan")),
    "d5": (("docid", "2 1"), ("pseudo_queries", "The sea")),
}
DOCUMENTS = [document._replace(further=FURTHER.get(document.id, ())) for document in tiny.DOCUMENTS]


@pytest.fixture(scope="module", params=[1 << 30, 60], ids=["one segment", "several"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return tiny.built(tmp_path_factory.mktemp("fields") / "index", DOCUMENTS, request.param, fields=FIELDS)


@pytest.fixture(scope="module")
def generator() -> Generator:
    made = tiny.generator()
    fields = {"docid": "{query} docid", "pseudo_queries": "{query} asks"}
    return replace(made, description=replace(made.description, fields=fields))


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_values_are_read_in_order_and_blank_ones_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path / "c.jsonl",
        {"id": "a", "contents": "x", "tags": [" b ", "", "a"], "docid2": "7 0"},
        {"id": "b", "contents": "y", "tags": None, "docid2": "  "},
        {"id": "c", "contents": " ", "tags": "only a tag"},
        {"id": "d", "contents": "", "tags": []},
    )
    collection = Collection("JsonCollection", path, ReadOptions(fields=("docid2", "tags")))
    assert list(collection) == [
        Document("a", "", "x", None, (("docid2", "7 0"), ("tags", "b"), ("tags", "a"))),
        Document("b", "", "y"),
        Document("c", "", " ", None, (("tags", "only a tag"),)),
    ]
    assert collection.empty_ids == ["d"]
    assert list(Collection("JsonCollection", path)) == [Document("a", "", "x"), Document("b", "", "y")]


def test_docid_is_a_field_where_it_is_named_as_one(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", {"id": "a", "docid": "7 0", "contents": "x"})
    options = ReadOptions(fields=("docid",))
    assert list(Collection("JsonCollection", path, options)) == [
        Document("a", "", "x", None, (("docid", "7 0"),))
    ]
    write(path, {"docid": "7 0", "contents": "x"})
    with pytest.raises(InputError, match='no "id"'):
        list(Collection("JsonCollection", path, options))


@pytest.mark.parametrize("value", [3, {"a": 1}, ["a", 1], True, "\ud800"])
def test_a_value_that_is_no_text_is_named(tmp_path: Path, value: object) -> None:
    path = write(
        tmp_path / "c.jsonl", {"id": "a", "contents": "x"}, {"id": "b", "contents": "y", "tags": value}
    )
    with pytest.raises(InputError, match=r"c\.jsonl:2: .*\"tags\" ") as error:
        list(Collection("JsonCollection", path, ReadOptions(fields=("tags",))))
    assert str(error.value).count("\n") == 0


@pytest.mark.parametrize("fields", [("title",), ("contents",), ("id",), ("body",), (" ",), ("tags", "tags")])
def test_names_that_are_no_further_fields(fields: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match="no further field|named twice"):
        ReadOptions(fields=fields)


def test_formats_without_names_have_no_further_fields(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tb\n")
    with pytest.raises(UsageError, match="TsvCollection has no further fields such as 'tags'; JSON has"):
        Collection("TsvCollection", tmp_path / "c.tsv", ReadOptions(fields=("tags",)))


def test_columns_of_a_dataset(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({"id": ["a"], "text": ["x"], "tags": [["p", "q"]], "other": [1]})
    parquet.write_table(table, tmp_path / "c.parquet")
    found = list(Collection("HFDataset", tmp_path / "c.parquet", ReadOptions(fields=("tags",))))
    assert found == [Document("a", "", "x", None, (("tags", "p"), ("tags", "q")))]


def test_documents_come_back(index: Index) -> None:
    assert index.documents(range(index.n_documents)) == DOCUMENTS
    assert index.manifest.fields == ("title", "body", *FIELDS)
    searcher = SealSearcher(index.directory)
    document = searcher.doc("d1")
    assert document is not None
    assert document.get("docid") == "1 0"
    assert document.get("pseudo_queries") == "capital of France\nwhere is the Seine"
    assert document.get("url") is None
    assert document.contents() == f"Paris\n{tiny.SENTENCES[0]}"


def test_an_index_says_what_it_needs(index: Index) -> None:
    """Programs from before further fields would take them for text: such an index has a later format."""
    assert json.loads((index.directory / MANIFEST).read_text())["format"] > 2


def test_verify_takes_further_fields_there_and_back(index: Index) -> None:
    said: list[str] = []
    verify_index(index.directory, said.append, None)
    assert "7 documents (all): ids, texts, tokens and places agree" in said[-1]


def test_too_many_fields(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="7 further fields; an index has at most 6"):
        tiny.build(tmp_path / "index", fields=tuple("abcdefg"))
    six = tiny.built(
        tmp_path / "index", [Document("d", "t", "x", None, (("f", "y"),))], fields=tuple("abcdef")
    )
    assert six.documents([0])[0].further == (("f", "y"),)


def test_a_manifest_with_impossible_fields(index: Index, tmp_path: Path) -> None:
    from seal_ir.index.manifest import manifest_checksum

    tiny.build(tmp_path / "index")
    path = tmp_path / "index" / MANIFEST
    values = json.loads(path.read_text())
    del values["checksum"]
    for fields in (["body", "title"], ["title"], ["title", "body", "tags"]):
        changed = values | {"format": 2, "fields": fields}
        path.write_text(json.dumps(changed | {"checksum": manifest_checksum(changed)}))
        with pytest.raises(IndexDirError, match="its fields are"):
            Index(tmp_path / "index")


def test_values_are_written_whole(index: Index, generator: Generator) -> None:
    """DSI: only whole identifiers are keys, and their documents are found by them, best first."""
    searcher = SealSearcher(index.directory, generator, preset="dsi")
    (found,) = searcher.decode(["whales"])
    keys = {index.tokenizer.decode([s - 16 for s in key.symbols[1:-1]]): key for key in found.keys}
    assert {text.strip() for text in keys} <= {"1 0", "1 1", "2 0", "2 1"}
    assert all(key.kind == "docid" and key.count == 1 for key in keys.values())
    hits = searcher.search("whales", k=9)
    by_logprob = sorted(keys, key=lambda text: -keys[text].logprob)
    owner = {dict(further)["docid"]: docid for docid, further in FURTHER.items()}
    assert [hit.docid for hit in hits] == [owner[text.strip()] for text in by_logprob]
    assert [hit.score for hit in hits] == [keys[text].logprob for text in by_logprob]


def test_titles_alone(index: Index, generator: Generator) -> None:
    """GENRE: documents by the log-probability of their titles."""
    searcher = SealSearcher(index.directory, generator, preset="genre")
    (found,) = searcher.decode(["capital"])
    assert {key.kind for key in found.keys} == {"title"}
    best = max(key.logprob for key in found.keys)
    assert searcher.search("capital", k=1)[0].score == best


def test_three_views_at_once(index: Index, generator: Generator) -> None:
    """MINDER: what the two views of SEAL give is there unchanged, and pseudo-queries are more keys."""
    query = "the capital of Japan"
    seal = SealSearcher(index.directory, generator, preset="intersective")
    minder = SealSearcher(index.directory, generator, preset="minder")
    (two,), (three,) = seal.decode([query]), minder.decode([query])
    further = [key for key in three.keys if key.kind == "pseudo_queries"]
    assert further
    assert [key for key in three.keys if key not in further] == list(two.keys)
    texts = {index.tokenizer.decode([s - 16 for s in key.symbols[1:-1]]).strip() for key in further}
    assert texts <= {
        value for values in FURTHER.values() for name, value in values if name == "pseudo_queries"
    }
    ranked = replace(
        preset("minder").rank, weight="lm", score="max", kinds=("pseudo_queries",), unigrams=False
    )
    assert minder.rank(three, 9, replace(preset("minder"), rank=ranked))
    assert not minder.rank(two, 9, replace(preset("minder"), rank=ranked))


def test_rescoring_changes_nothing(index: Index, generator: Generator) -> None:
    searcher = SealSearcher(index.directory, generator, preset="minder")
    (found,) = searcher.decode(["the sea"])
    (again,) = searcher.rescore(["the sea"], [found])
    ours, theirs = ({key.symbols: key.logprob for key in keys.keys} for keys in (found, again))
    assert ours == pytest.approx(theirs, abs=1e-6)


def test_an_index_without_the_field(tmp_path: Path, generator: Generator) -> None:
    tiny.build(tmp_path / "index")
    with pytest.raises(UsageError, match="no field 'docid' in this index; build one with --fields docid"):
        SealSearcher(tmp_path / "index", generator, preset="dsi").search("x")


def test_a_model_without_a_prompt_for_the_field(index: Index) -> None:
    made = tiny.generator()
    ignorant = replace(made, description=replace(made.description, fields={}))
    told = "no prompt for the field 'pseudo_queries'; train it with --fields pseudo_queries"
    with pytest.raises(ModelError, match=told):
        SealSearcher(index.directory, ignorant, preset="minder").search("x")


def test_any_field_by_settings(index: Index, generator: Generator) -> None:
    config = SearchConfig("mine", replace(preset("dsi").decode, fields=("pseudo_queries",)))
    with pytest.raises(UsageError, match="kinds holds 'docid'"):
        replace(config, rank=preset("dsi").rank)
    rank = replace(preset("dsi").rank, kinds=("pseudo_queries",))
    hits = SealSearcher(index.directory, generator, config=replace(config, rank=rank)).search("sea", k=9)
    assert {hit.docid for hit in hits} <= {"d1", "d4", "d5"}
