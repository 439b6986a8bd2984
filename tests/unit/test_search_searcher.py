"""`SealSearcher` behaves as Pyserini's users expect of a searcher."""

from __future__ import annotations

import copy
import json
import logging
import multiprocessing
import os
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import seal_ir
from seal_ir.config import DecodeConfig, preset
from seal_ir.errors import IndexDirError, ModelError, UsageError
from seal_ir.records import Document, Hit
from seal_ir.search.searcher import SealSearcher
from tests.helpers import stub, tiny
from tests.helpers.stubbed import Stubbed
from tests.helpers.tiny import DOCUMENTS

QUERIES = [
    "what is the capital of Japan",
    "which river flows through London",
    "",
    "the highest mountain",
    tiny.LITERAL,
    "where does a whale live",
    "???",
    "东京 大学",
]


@pytest.fixture
def searcher(tiny_index: Path) -> SealSearcher:
    return SealSearcher(tiny_index, tiny.generator(), preset="paper")


def pairs(hits: list[Hit]) -> list[tuple[str, float]]:
    return [(hit.docid, hit.score) for hit in hits]


def test_a_search_finds_what_it_should(searcher: SealSearcher) -> None:
    hits = searcher.search("the highest mountain")
    assert hits[0].docid == "d3#0"
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert searcher.search(tiny.LITERAL, k=1)[0].docid == "d6"


def test_d14_hits_have_their_texts(searcher: SealSearcher) -> None:
    first = searcher.search("Tokyo, the largest city of the country")[0]
    assert first.contents == f"Tokyo\n{tiny.SENTENCES[3]}"
    assert first.raw is not None
    assert json.loads(first.raw) == {"id": "d4", "title": "Tokyo", "contents": first.contents}
    assert DOCUMENTS[first.lucene_docid].id == "d4"
    assert first.lucene_document is not None
    bare = searcher.hits(searcher.rank(searcher.decode(["the highest mountain"])[0], 1), texts=False)
    assert (bare[0].docid, bare[0].contents, bare[0].raw) == ("d3#0", None, None)
    assert bare[0].lucene_document is None


def test_b8_k_larger_than_the_corpus(searcher: SealSearcher) -> None:
    hits = searcher.search("what is the capital of Japan", k=1000)
    assert 1 < len(hits) <= len(DOCUMENTS)
    assert len({hit.docid for hit in hits}) == len(hits)
    assert pairs(searcher.search("what is the capital of Japan", k=2)) == pairs(hits)[:2]
    for k in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            searcher.search("x", k=k)


@pytest.mark.parametrize("query", ["", "   ", "\n\t"])
def test_c13_a_query_without_text_has_no_hits(searcher: SealSearcher, query: str) -> None:
    assert searcher.search(query) == []
    assert list(searcher.batch_search([query, "Japan"], ["1", "2"])) == ["1", "2"]


@pytest.mark.parametrize("query", ["???", "👩‍👩‍👧‍👦", "东京 大学", "{query} {0} %s", "\x00", "x" * 3000])
def test_a14_any_query_is_searched(searcher: SealSearcher, query: str) -> None:
    assert all(hit.docid for hit in searcher.search(query))


def test_batch_search_is_search(searcher: SealSearcher) -> None:
    expected = [searcher.search(query) for query in QUERIES]
    qids = [f"q{i}" for i in range(len(QUERIES))][::-1]
    found = searcher.batch_search(QUERIES, qids, k=10, threads=3)
    assert list(found) == qids
    assert list(found.values()) == expected
    assert searcher.batch_search(QUERIES, q_ids=qids) == found
    assert searcher.batch_search([], []) == {}


@pytest.mark.parametrize("batch_size", [1, 3, 100])
def test_c5_batch_size_and_order_do_not_matter(
    tiny_index: Path, searcher: SealSearcher, batch_size: int
) -> None:
    other = SealSearcher(tiny_index, tiny.generator(), preset="paper", batch_size=batch_size)
    found = other.batch_search(QUERIES[::-1], QUERIES[::-1])
    assert {query: pairs(hits) for query, hits in found.items()} == {
        query: pairs(searcher.search(query)) for query in QUERIES
    }


def test_qids_must_fit(searcher: SealSearcher) -> None:
    for qids in (None, ["1"], ["1", "2", "3"]):
        with pytest.raises(ValueError, match="2 queries need as many distinct ids"):
            searcher.batch_search(["a", "b"], qids)
    with pytest.raises(ValueError, match=r"qids\[1\] is '1' again, after qids\[0\]"):
        searcher.batch_search(["a", "b"], ["1", "1"])


def test_batch_size_must_be_positive(tiny_index: Path) -> None:
    for size in (0, -1):
        with pytest.raises(ValueError, match="batch_size"):
            SealSearcher(tiny_index, tiny.generator(), batch_size=size)


def test_doc(searcher: SealSearcher) -> None:
    for number, document in enumerate(DOCUMENTS):
        for key in (document.id, number):
            found = searcher.doc(key)
            assert found is not None
            assert found.document == document
    for absent in ("d9", "", "d3", -1, len(DOCUMENTS), 10**12):
        assert searcher.doc(absent) is None


def test_the_accessors_of_a_document(searcher: SealSearcher) -> None:
    document = searcher.doc("d1")
    assert document is not None
    assert document.docid() == document.id() == document.get("id") == "d1"
    assert document.contents() == document.get("contents") == f"Paris\n{tiny.SENTENCES[0]}"
    assert (
        document.raw()
        == document.get("raw")
        == json.dumps({"id": "d1", "title": "Paris", "contents": document.contents()})
    )
    assert (document.get("title"), document.get("text")) == ("Paris", tiny.SENTENCES[0])
    assert document.get("abstract") is None
    assert document.lucene_document() == document
    untitled = searcher.doc("d6")
    assert untitled is not None
    assert untitled.contents() == tiny.LITERAL


def test_i18_hits_hold_a_document_that_is_read_as_lucene_s(tmp_path: Path) -> None:
    record = {"id": "d1", "contents": "Paris\nin France", "url": "http://é.example/", "year": 1889,
              "no": None, "tags": ["a", "b"], "geo": {"lat": 48.9}, "ok": True}  # fmt: skip
    line = json.dumps(record, ensure_ascii=False)
    documents = [
        Document("d1", "Paris", "in France", line, (("docid", "x y"), ("docid", "z"))),
        Document("d2#0", "", "in England"),
        Document("d3", "", "no JSON", "d3\tno JSON"),
        Document("d4", "", "no object", "[1]"),
    ]
    tiny.build(tmp_path / "index", documents, store_raw=True, fields=("docid",))
    searcher = SealSearcher(tmp_path / "index", tiny.generator(), preset="paper")
    (hit,) = searcher.search("Paris in France", k=1)
    ours = hit.lucene_document
    assert ours is not None
    assert ours.get("raw") == ours.getField("raw").stringValue() == line == hit.raw
    expected = {"id": "d1", "contents": "Paris\nin France", "title": "Paris", "text": "in France",
                "docid": "x y\nz", "url": "http://é.example/", "year": "1889", "tags": '["a", "b"]',
                "geo": '{"lat": 48.9}', "ok": "true"}  # fmt: skip
    stored = searcher.doc("d1")
    for field, value in expected.items():
        for document in (ours, stored, stored and stored.lucene_document()):
            assert document is not None
            assert document.get(field) == document.getField(field).stringValue() == value
    for field in ("no", "lat", ""):
        assert ours.get(field) is ours.getField(field) is None
    (stripped,) = searcher.search("in England", k=1, strip_segment_id=True)
    assert stripped.lucene_document is not None
    assert (stripped.docid, stripped.lucene_document.getField("id").stringValue()) == ("d2", "d2#0")
    for docid in ("d2#0", "d3", "d4"):
        other = searcher.doc(docid)
        assert other is not None
        assert other.get("url") is None
        assert other.get("id") == docid
    again = copy.deepcopy(hit)
    assert (again, again.lucene_document) == (hit, ours)


def test_batch_doc(searcher: SealSearcher) -> None:
    found = searcher.batch_doc(["d6", "none", "d1", "d6"], threads=4)
    assert {docid: document.document for docid, document in found.items()} == {
        "d6": DOCUMENTS[6],
        "d1": DOCUMENTS[0],
    }
    assert searcher.batch_doc([]) == searcher.batch_doc(["none"]) == {}


def test_num_docs(searcher: SealSearcher) -> None:
    assert searcher.num_docs == len(DOCUMENTS) == 7


def test_segment_ids_and_duplicates(searcher: SealSearcher) -> None:
    query = "the highest mountain was first climbed in 1953"
    plain = [hit.docid for hit in searcher.search(query, k=100)]
    assert {"d3#0", "d3#1"} <= set(plain)
    stripped = [docid.split("#")[0] for docid in plain]
    assert [hit.docid for hit in searcher.search(query, k=100, strip_segment_id=True)] == stripped
    folded = searcher.search(query, k=100, strip_segment_id=True, remove_dups=True)
    assert [hit.docid for hit in folded] == list(dict.fromkeys(stripped))
    assert [hit.docid for hit in searcher.search(query, k=100, remove_dups=True)] == plain


def test_options_of_lucene_are_ignored_with_a_warning(searcher: SealSearcher) -> None:
    expected = searcher.search("Japan")
    with pytest.warns(UserWarning, match="ignores fields: it is Lucene's") as told:
        assert searcher.search("Japan", 10, None, {"title": 2.0}) == expected
    assert told[0].filename == __file__
    with pytest.warns(UserWarning, match="ignores query_generator"):
        assert searcher.batch_search(["Japan"], ["1"], query_generator=object()) == {"1": expected}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searcher.search("Japan", fields={})


def test_a_preset_by_name_or_by_settings(tiny_index: Path) -> None:
    generator = tiny.generator()
    scores = {
        name: pairs(SealSearcher(tiny_index, generator, preset=name).search("the capital of Japan"))
        for name in ("lm", "lm-fm", "intersective", "paper")
    }
    assert len({str(found) for found in scores.values()}) == 4
    assert all(score <= 0 for _, score in scores["lm"])
    config = replace(preset("paper"), decode=DecodeConfig(beam=3))
    assert SealSearcher(tiny_index, generator, config=config).config is config
    with pytest.raises(UsageError, match="unknown preset"):
        SealSearcher(tiny_index, generator, preset="bm25")


def test_a20_long_queries_are_cut_with_a_counted_warning(
    searcher: SealSearcher, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        searcher.batch_search(["word " * 3000, *QUERIES, "Japan", "long " * 3000], list("0123456789x"))
    assert [record.getMessage() for record in caplog.records] == [
        f"2 of {len(QUERIES) + 3} queries were longer than 491 tokens and were cut: topics 0, x"
    ]


def test_a_model_with_another_tokenizer(tiny_index: Path) -> None:
    other = stub.generator(stub.word_tokenizer(["a", "b"]))
    with pytest.raises(ModelError, match=r"built with the tokenizer of 'tiny'.*index the collection again"):
        SealSearcher(tiny_index, other).search("Japan")


def test_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexDirError, match="no such index directory"):
        SealSearcher(tmp_path / "none")


def test_the_model_is_loaded_once_when_it_is_needed(tiny_index: Path, stubbed: Stubbed) -> None:
    searcher = SealSearcher(tiny_index, device="cpu", dtype="bfloat16")
    assert searcher.num_docs == 7
    assert searcher.doc("d1") is not None
    assert stubbed.loaded == []
    barrier = threading.Barrier(8)

    def work(number: int) -> list[Hit]:
        barrier.wait()
        return searcher.search("the capital of Japan")

    with ThreadPoolExecutor(8) as pool:
        assert len({str(hits) for hits in pool.map(work, range(8))}) == 1
    assert stubbed.loaded == [("tiny", "cpu", "bfloat16")]  # the index's own model


def test_close_lets_go_of_a_model_that_was_loaded_by_name(tiny_index: Path, stubbed: Stubbed) -> None:
    with SealSearcher(tiny_index, "mine") as searcher:
        expected = searcher.search("the capital of Japan")
    searcher.close()
    assert searcher.search("the capital of Japan") == expected
    assert [name for name, _, _ in stubbed.loaded] == ["mine", "mine"]
    given = tiny.generator()
    with SealSearcher(tiny_index, given) as searcher:
        assert searcher.generator is given
    assert searcher.generator is given


def test_d13_eight_threads_on_one_searcher(searcher: SealSearcher) -> None:
    queries = [f"{query} {word}" for query in QUERIES for word in ("sea", "1953")]
    expected = [pairs(searcher.search(query)) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: pairs(searcher.search(query)), queries * 2))
    assert found == expected * 2


def test_c10_a_used_searcher_answers_like_a_fresh_one(tiny_index: Path, searcher: SealSearcher) -> None:
    for query in [*QUERIES, *QUERIES]:
        fresh = SealSearcher(tiny_index, tiny.generator(), preset="paper")
        assert searcher.search(query) == fresh.search(query)


def _documents(directory: str) -> list[Document]:
    """In a process of its own: the index is opened by its path."""
    searcher = SealSearcher(directory)
    return searcher.index.documents(range(searcher.num_docs))


@pytest.mark.slow
def test_d11_another_process_opens_the_index_by_its_path(searcher: SealSearcher) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_documents, [searcher.index_dir]) == DOCUMENTS
        pool.close()
        pool.join()


def test_i9_a_searcher_lets_openmps_threads_sleep_when_it_loads_torch(
    tiny_index: Path, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "")
    monkeypatch.delenv("OMP_WAIT_POLICY")
    searcher = SealSearcher(tiny_index, preset="paper")
    assert "OMP_WAIT_POLICY" not in os.environ
    assert searcher.search(QUERIES[0])
    assert os.environ["OMP_WAIT_POLICY"] == "PASSIVE"
    assert stubbed.loaded


def test_d12_segments_do_not_change_scores(tmp_path: Path, searcher: SealSearcher) -> None:
    tiny.build(tmp_path / "index", max_segment_tokens=55)
    cut = SealSearcher(tmp_path / "index", tiny.generator(), preset="paper")
    assert len(cut.index.everything) > 3
    for query in QUERIES:
        assert cut.search(query) == searcher.search(query)


def test_both_names() -> None:
    assert seal_ir.SimpleSearcher is seal_ir.SealSearcher is SealSearcher
    with pytest.raises(AttributeError, match="'LuceneSearcher'"):
        _ = seal_ir.LuceneSearcher  # type: ignore[attr-defined]
    assert set(seal_ir.__all__) <= set(dir(seal_ir))
    assert all(getattr(seal_ir, name) for name in seal_ir.__all__)
