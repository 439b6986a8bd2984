"""Splitting long documents into passages: what is asked for, what is kept of records, what is refused."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from seal_ir.errors import ArgumentError, IndexDirError, InputError, UsageError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.collections.splitting import Split, passages
from seal_ir.index import pages
from seal_ir.index.builder import BuildOptions
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import read_manifest
from seal_ir.index.reader import Index
from seal_ir.records import Document, Ranked
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.indexes import content, edit, ids

NUMBERS = Document("n", "Numbers", "one two three four five six seven\n")


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("words:100", Split(100)),
        ("words:100:50", Split(100, 50)),
        ("words:1", Split(1)),
        ("words:7:0", Split(7)),
        ("words:007:06", Split(7, 6)),
    ],
)
def test_what_a_split_says(text: str, split: Split) -> None:
    assert Split.parse(text) == split
    assert Split.parse(str(split)) == split


BAD = ["", "words", "words:", "words:0", "words:-1", "words:1.5", "words:x", "words:5:", "words:1:2:3", "100"]
BAD += ["sentences:3", "words:5:-1", " words:5", "words:5\n", "words:\u0665", "words:" + "9" * 5000]


@pytest.mark.parametrize("text", BAD)
def test_splits_that_mean_nothing(text: str) -> None:
    with pytest.raises(UsageError, match=r"write words:N or words:N:OVERLAP, N from 1 on") as error:
        BuildOptions(split=text)
    assert len(str(error.value)) < 200
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["words:5:5", "words:5:6", "words:1:1"])
def test_an_overlap_leaves_something_new(text: str) -> None:
    with pytest.raises(UsageError, match="must be less than the"):
        BuildOptions(split=text)


@pytest.mark.parametrize(
    ("split", "texts"),
    [
        ("words:3", ["one two three ", "four five six ", "seven\n"]),
        ("words:4:2", ["one two three four ", "three four five six ", "five six seven\n"]),
        ("words:6:5", ["one two three four five six ", "two three four five six seven\n"]),
        ("words:7", [NUMBERS.text]),
        ("words:100:99", [NUMBERS.text]),
    ],
)
def test_examples(split: str, texts: list[str]) -> None:
    found = list(passages(NUMBERS, Split.parse(split)))
    assert [passage.text for passage in found] == texts
    assert [passage.id for passage in found] == [f"n#{number}" for number in range(len(texts))]
    assert {passage.title for passage in found} == {"Numbers"}


@pytest.mark.parametrize("text", ["", " ", "\n \u3000"])
def test_a_document_without_words_is_one_passage(text: str) -> None:
    (passage,) = passages(Document("a", "Title", text), Split(2))
    assert passage == Document(
        "a#0", "Title", text, stored=(("passage_start", 0), ("passage_end", len(text)))
    )


@pytest.mark.slow
def test_a_long_text_is_read_with_next_to_no_memory() -> None:
    document = Document("a", "", "word " * 800_000)
    tracemalloc.start()
    n_passages = sum(1 for _ in passages(document, Split(100, 50)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_passages == 15_999
    assert most < len(document.text) / 10


def test_batches_of_long_documents_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "_BATCH_CHARACTERS", 100)
    documents = [Document(str(number), "", "x" * 40) for number in range(7)]
    assert [len(batch) for batch in pages.batches(documents, Split(2))] == [3, 3, 1]
    assert [len(batch) for batch in pages.batches(documents, None)] == [7]
    for n_characters, sizes in ((33, [4, 4]), (25, [4, 4]), (100, [1] * 8)):
        documents = [Document(str(number), "", "x" * n_characters) for number in range(8)]
        assert [len(batch) for batch in pages.batches(documents, Split(2))] == sizes


RAW = [
    ({"id": "a", "title": "T", "contents": "T\none two", "url": "x"}, {"contents": "T\none "}),
    ({"id": "a", "contents": '"T"\none two', "n": [1, None]}, {"contents": '"T"\none '}),
    ({"_id": "a", "title": "T", "text": "one two", "half": "\ud83d", "big": 1e400}, {"text": "one "}),
    ({"docid": "a", "title": "T", "contents": "one two", "id2": "\u2028"}, {"contents": "one "}),
]


@pytest.mark.parametrize(("record", "changed"), RAW)
def test_records_of_passages(tmp_path: Path, record: dict[str, object], changed: dict[str, str]) -> None:
    """A passage's has its own id and text, the title's line where there was one, and all else."""
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(record) + "\n", encoding="utf-8")
    collection = Collection("JsonCollection", path, ReadOptions(keep_raw=True, will_split=True))
    tiny.build(tmp_path / "index", collection, store_raw=True, split="words:1")
    raws = Index(tmp_path / "index").raws([0, 1])
    name = next(name for name in record if name in ("id", "_id", "docid"))
    known = {key: None if value == float("inf") else value for key, value in record.items()}
    assert json.loads(raws[0] or "") == known | changed | {name: "a#0"}
    assert list(json.loads(raws[1] or "")) == list(record)


@pytest.mark.parametrize("raw", [None, "no JSON", "[1]", '{"x": 1}', '{"id": "other", "contents": "else"}'])
def test_records_that_are_not_the_documents_stay_as_they_are(raw: str | None) -> None:
    found = passages(Document("a", "", "one two", raw), Split(1))
    assert [passage.raw for passage in found] == [raw, raw]


def test_integers_as_ids(tmp_path: Path) -> None:
    with SealIndexer(
        tmp_path / "i", tiny.tokenizer(), options=BuildOptions(store_raw=True, split="words:1")
    ) as w:
        w.add([{"id": 7, "contents": "one two"}])
        w.delete(["7"])
        w.add(['{"id": 8, "contents": "one two"}'])
    assert Index(tmp_path / "i").raws([1]) == ['{"id": "8#1", "contents": "two"}']


def test_ids_with_the_mark_of_passages(tmp_path: Path) -> None:
    documents = [NUMBERS, Document("d#1", "", "sea")]
    told = r"the id 'd#1' holds '#', which ends a document's id in those of its passages \(doc#0\); give"
    with pytest.raises(InputError, match=told):
        tiny.build(tmp_path / "index", documents, split="words:3")
    assert not (tmp_path / "index" / "index.json").exists()
    with pytest.raises(InputError, match=told):
        SealSearcher.from_documents(documents, tiny.generator(), split="words:3")
    tiny.build(tmp_path / "index", documents)
    assert ids(tmp_path / "index") == ["n", "d#1"]


@pytest.mark.parametrize("name", ["passage_start", "passage_end:string"])
def test_stored_fields_of_the_same_name(name: str) -> None:
    with pytest.raises(UsageError, match="--split keeps the places of passages under it; give another"):
        BuildOptions(store=("year:int", name), split="words:3")
    assert BuildOptions(store=(name,)).all_stored


def test_places_come_back_from_hits() -> None:
    """Through deletions and several segments, too."""
    searcher = SealSearcher.from_documents(
        [
            {"id": "a", "contents": "sea life"},
            {"id": "n", "title": "Numbers", "text": NUMBERS.text, "y": 2.5},
        ],
        tiny.generator(),
        store=["y:float"],
        split="words:4:2",
    )
    with SealIndexer(searcher.index_dir) as writer:
        writer.delete(["a"])
        writer.add([{"id": "e", "contents": ""}])
    searcher.refresh()
    hits = searcher.hits([Ranked(number, 1.0, ()) for number in (2, 0, 3)])
    assert [hit.docid for hit in hits] == ["n#2", "n#0", "e#0"]
    texts = {"n": NUMBERS.text, "e": ""}
    for hit in hits:
        document = hit.lucene_document
        assert document is not None
        start, end = document.get("passage_start"), document.get("passage_end")
        assert document.get("text") == texts[hit.docid[0]][int(start or "") : int(end or "")]
        assert document.get("y") == ("2.5" if hit.docid[0] == "n" else None)
    (found,) = searcher.batch_doc(["n#1"]).values()
    assert dict(found.document.stored) == {"y": 2.5, "passage_start": 8, "passage_end": 28}
    assert searcher.doc("n") is None
    assert searcher.search("one two", 5, filter=["n#1"], strip_segment_id=True)[0].docid == "n"


@pytest.mark.parametrize("split", ["words:3", "words:3:2", None])
def test_an_index_keeps_its_split(tmp_path: Path, split: str | None) -> None:
    tiny.build(tmp_path / "index", [NUMBERS], split=split)
    before = content(tmp_path / "index")
    told = f"split by {split}" if split else "not split"
    with pytest.raises(UsageError, match=f"its documents are {told}, and an index keeps its own; leave out"):
        SealIndexer(tmp_path / "index", options=BuildOptions(split="words:3:1"))
    assert content(tmp_path / "index") == before
    with SealIndexer(tmp_path / "index") as writer:
        writer.add([NUMBERS._replace(id="more")])
    with SealIndexer(tmp_path / "index", options=BuildOptions(split=split)) as writer:
        writer.merge()
    n_passages = {"words:3": 3, "words:3:2": 5, None: 1}[split]
    assert len(ids(tmp_path / "index")) == 2 * n_passages
    assert read_manifest(tmp_path / "index").split == split
    assert ("split" in read_manifest(tmp_path / "index").collection) == (split is not None)


def test_a_split_of_a_newer_program(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index", [NUMBERS], split="words:3")
    for unknown in ("pages:2", 7):
        edit(tmp_path / "index", collection={"kind": "test", "split": unknown})
        with pytest.raises(IndexDirError, match="which this program does not know; update it"):
            SealIndexer(tmp_path / "index")
        assert ids(tmp_path / "index") == ["n#0", "n#1", "n#2"]


@pytest.mark.parametrize("missing", ["error", "skip"])
def test_ids_of_passages_are_not_deleted(tmp_path: Path, missing: str) -> None:
    tiny.build(tmp_path / "index", [NUMBERS], split="words:3")
    with SealIndexer(tmp_path / "index") as writer:
        for docid in ("n#1", "n#1#2"):
            with pytest.raises(InputError) as error:
                writer.delete(["n", docid], missing)  # type: ignore[arg-type]
            assert str(error.value) == (
                f"'{docid}' is the id of a passage, and documents of this index are split (words:3): give the"
                " document's own id, as 'n', which stands for all its passages"
            )
        with pytest.raises(InputError, match="there is no document with the id 'x'"):
            writer.update([NUMBERS._replace(id="x")])
        with pytest.raises(InputError, match="the id 'n' is there already"):
            writer.add([NUMBERS])
        writer.add([NUMBERS._replace(text="others")], duplicates="first")
        with pytest.raises(ArgumentError):
            writer.add([{"id": "y"}])
    assert ids(tmp_path / "index") == ["n#0", "n#1", "n#2"]


def test_an_index_of_ids_with_the_mark_that_was_not_split(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index", [Document("n#0", "", "sea"), Document("n#1", "", "river")])
    with SealIndexer(tmp_path / "index") as writer:
        writer.update([Document("n#1", "", "lake")])
        writer.delete(["n#0"])
    assert ids(tmp_path / "index") == ["n#1"]
