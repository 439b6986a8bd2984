"""An index that has been changed in any way answers like a fresh one of the documents that are left."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from seal_ir.errors import InputError
from seal_ir.index import tiers
from seal_ir.index.builder import BuildOptions
from seal_ir.index.directory import LOCK, WORKING
from seal_ir.index.engine import EngineSpec
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from seal_ir.lm.protocols import Generator
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.examples import examples
from tests.helpers.filtered import QUERIES, compare_whole, compare_within
from tests.helpers.indexes import content

IDS = [f"d{number}" for number in range(9)]
TEXTS = [*tiny.SENTENCES, tiny.LITERAL, "", "Paris", "the capital of the sea", "two  spaces"]
OF_TEXTS = st.sampled_from(TEXTS)
DOCUMENTS = st.builds(
    lambda docid, title, text, tag, year: Document(
        docid,
        title,
        text,
        f'{{"id": "{docid}", "contents": ""}}',
        (("tag", tag),) if tag else (),
        (("year", year),) if year else (),
    ),
    st.sampled_from(IDS),
    st.sampled_from(["", "Paris", "Tokyo", "</s>"]),
    OF_TEXTS,
    st.sampled_from(["", "city", "sea life"]),
    st.integers(0, 2),
)
Hits = dict[str, list[tuple[str, float]]]
LISTS = st.lists(DOCUMENTS, min_size=1, max_size=4, unique_by=lambda document: document.id)


class ChangingIndex(RuleBasedStateMachine):
    """A writer beside a dict of the documents that there must be, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.directory = self.folder / "index"
        self.now: dict[str, Document] = {}
        self.committed: dict[str, Document] = {}
        self.is_compared = True
        self.generator = tiny.generator()
        self.reader: SealSearcher | None = None  # that stays open
        self.seen: Hits = {}  # by the reader, when it was last refreshed

    @initialize(
        engine=st.sampled_from(["native", "sdsl"]),
        max_tokens=st.sampled_from([120, 1 << 30]),
        is_tiered=st.booleans(),
        documents=st.just([]) | LISTS,
    )
    def begin(self, engine: str, max_tokens: int, is_tiered: bool, documents: list[Document]) -> None:
        self.options = BuildOptions(
            engine=EngineSpec(engine),
            max_segment_tokens=max_tokens,
            store_raw=True,
            fields=("tag",),
            store=("year:int",),
        )
        self.patches = [
            patch.object(os, "fsync", lambda handle: None),  # what takes longest by far
            patch.object(tiers, "FANOUT", 3 if is_tiered else 1000),
            patch.object(tiers, "MOST_DEAD", 3 if is_tiered else 0),
        ]
        for patched in self.patches:
            patched.start()
        self.writer = self.opened()
        if documents:
            self.add(documents)
            self.commit(None, set(IDS[:5]), is_refreshed=True)

    def opened(self) -> SealIndexer:
        return SealIndexer(self.directory, tiny.tokenizer(), options=self.options)

    @rule(documents=LISTS)
    def add(self, documents: list[Document]) -> None:
        new = {document.id: document for document in documents}
        if known := [docid for docid in new if docid in self.now]:
            with pytest.raises(InputError, match=f"{known[0]!r} is there already"):
                self.writer.add(documents)
        else:
            self.writer.add(documents)
            self.now |= new

    @rule(documents=LISTS, duplicates=st.sampled_from(["first", "last"]))
    def add_whatever_is_there(self, documents: list[Document], duplicates: str) -> None:
        self.writer.add(documents, duplicates)
        for document in documents:
            if duplicates == "last" or document.id not in self.now:
                self.now.pop(document.id, None)
                self.now[document.id] = document

    @rule(documents=LISTS)
    def update(self, documents: list[Document]) -> None:
        if absent := [document.id for document in documents if document.id not in self.now]:
            with pytest.raises(InputError, match=f"no document with the id {absent[0]!r}"):
                self.writer.update(documents)
            return
        self.writer.update(documents)
        for document in documents:
            del self.now[document.id]
            self.now[document.id] = document

    @rule(docids=st.lists(st.sampled_from(IDS), min_size=1, max_size=3), skip=st.booleans())
    def delete(self, docids: list[str], skip: bool) -> None:
        if not skip and (absent := [docid for docid in docids if docid not in self.now]):
            with pytest.raises(InputError, match=f"no document with the id {absent[0]!r}"):
                self.writer.delete(docids)
            return
        self.writer.delete(docids, "skip" if skip else "error")
        for docid in docids:
            self.now.pop(docid, None)

    @rule(
        n_segments=st.none() | st.integers(1, 3),
        docids=st.sets(st.sampled_from(IDS), min_size=4),
        is_refreshed=st.sampled_from([True, True, False]),
    )
    def commit(self, n_segments: int | None, docids: set[str], is_refreshed: bool) -> None:
        call = self.writer.commit if n_segments is None else lambda: self.writer.merge(n_segments)
        if not self.now and self.committed:
            with pytest.raises(InputError, match="an index holds at least one"):
                call()
            return
        if not self.now and not self.committed and (self.writer._changes.n_added):
            with pytest.raises(InputError, match="an index holds at least one"):
                call()
            return
        call()
        self.committed, self.is_compared = dict(self.now), False
        if n_segments is not None and self.committed and self.options.max_segment_tokens > 120:
            segments = self.writer.manifest.segments
            assert len(segments) <= n_segments
            assert not any(segment.deleted for segment in segments)
        if self.committed:
            self.search_within(docids)
            if is_refreshed:
                self.refresh()

    @rule(is_whole=st.booleans())
    def reopen(self, is_whole: bool) -> None:
        """Leave the writer, by the end of its block or by an error in it."""
        if is_whole and not self.now:
            is_whole = False
        if is_whole:
            with self.writer:
                pass
            self.committed, self.is_compared = dict(self.now), False
        else:
            with pytest.raises(KeyboardInterrupt), self.writer:
                raise KeyboardInterrupt
            self.now = dict(self.committed)
        assert not (self.directory / LOCK).exists()
        self.writer = self.opened()

    def refresh(self) -> None:
        """A reader that stays open answers as it did until it is refreshed, then like a new one."""
        new = SealSearcher(self.directory, self.generator)
        if self.reader is None:
            self.reader = SealSearcher(self.directory, self.generator)
        else:
            assert hits_of(self.reader) == self.seen
            is_old = self.reader.index.manifest != new.index.manifest
            assert self.reader.refresh() == is_old
        self.seen = hits_of(self.reader)
        assert self.seen == hits_of(new)
        assert self.reader.num_docs == len(self.committed)

    def search_within(self, docids: set[str]) -> None:
        """Some documents by their ids, and a fresh index of these."""
        allowed = [document for docid, document in self.committed.items() if docid in docids]
        searcher = SealSearcher(self.directory, self.generator)
        within = searcher.make_filter(docids, counts="filter", missing="skip")
        whole = searcher.make_filter([document.id for document in allowed])
        assert within.n_documents == whole.n_documents == len(allowed)
        if allowed:
            alone = SealSearcher(self.fresh(allowed).directory, self.generator)
            compare_within(searcher, within, alone)
            compare_whole(searcher, whole, alone)

    @precondition(lambda self: not self.is_compared)
    @invariant()
    def answers_like_a_fresh_index(self) -> None:
        self.is_compared = True
        if not self.committed:
            return
        index, fresh = self.read(), self.fresh()
        n = fresh.n_documents
        assert (index.n_documents, index.n_tokens) == (n, fresh.n_tokens)
        assert index.documents(range(n)) == fresh.documents(range(n))
        assert index.raws(range(n)) == fresh.raws(range(n))
        assert [index.docid(number) for number in range(n)] == list(self.committed)
        assert [index.number(docid) for docid in IDS] == [fresh.number(docid) for docid in IDS]
        for field in ("title", "tag"):
            assert index.value_lengths(field).tolist() == fresh.value_lengths(field).tolist()
        same_rows(index, fresh)
        assert [row for table in index.stored_tables() for row in table.to_pylist()] == [
            {"id": document.id, "year": dict(document.stored).get("year")}
            for document in self.committed.values()
        ]
        same_searches(index, fresh.directory, self.generator)
        self.filters_like_a_fresh_index(index)
        verify_index(self.directory, lambda told: None, None)
        files = {*index.manifest.files, MANIFEST}
        assert {name for name in content(self.directory) if not name.startswith((WORKING, LOCK))} == files

    def read(self) -> Index:
        """The last commit, as a reader sees it."""
        return Index(self.directory)

    def filters_like_a_fresh_index(self, index: Index) -> None:
        """A condition on a stored field, and a fresh index of the documents that it is true of."""
        allowed = [document for document in self.committed.values() if ("year", 1) in document.stored]
        if allowed:
            searcher = SealSearcher(index, self.generator)
            within = searcher.make_filter(pc.field("year") == 1, counts="filter")
            alone = SealSearcher(self.fresh(allowed).directory, self.generator)
            found = searcher.batch_search(QUERIES, QUERIES, k=20, filter=within)
            expected = alone.batch_search(QUERIES, QUERIES, k=20)
            assert [[(h.docid, h.score) for h in found[query]] for query in QUERIES] == [
                [(h.docid, h.score) for h in expected[query]] for query in QUERIES
            ]

    def fresh(self, documents: Iterable[Document] | None = None) -> Index:
        directory = self.folder / "fresh"
        shutil.rmtree(directory, ignore_errors=True)
        chosen = self.committed.values() if documents is None else documents
        return tiny.built(directory, chosen, store_raw=True, fields=("tag",), store=("year:int",))

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer._abandon()
            for patched in self.patches:
                patched.stop()
        shutil.rmtree(self.folder)


def hits_of(searcher: SealSearcher) -> Hits:
    """Ids and scores for each query; numbers of documents are those of a generation."""
    found = searcher.batch_search(QUERIES, QUERIES, k=20)
    return {query: [(hit.docid, hit.score) for hit in found[query]] for query in QUERIES}


def same_rows(index: Index, fresh: Index) -> None:
    """Counts, successors and places of all n-grams of two symbols, step by step."""
    ranges = [index.everything[None], fresh.everything[None]]
    for _ in range(3):
        found = [one.successors(rows) for one, rows in zip((index, fresh), ranges, strict=True)]
        assert found[0].offsets.tolist() == found[1].offsets.tolist()
        assert found[0].symbols.tolist() == found[1].symbols.tolist()
        counts = [np.diff(answer.ranges, axis=2).sum(axis=(1, 2)).tolist() for answer in found]
        assert counts[0] == counts[1]
        places = []
        for one, answer in zip((index, fresh), found, strict=True):
            at = one.locate([tuple(map(tuple, rows)) for rows in answer.ranges.tolist()])
            owner = np.repeat(np.arange(len(at.offsets) - 1), np.diff(at.offsets))
            places.append(sorted(zip(owner.tolist(), at.documents.tolist(), at.ends.tolist(), strict=True)))
        assert places[0] == places[1]
        ranges = [np.ascontiguousarray(answer.ranges[:150]) for answer in found]


def same_searches(index: Index, fresh: Path, generator: Generator) -> None:
    """Keys, scores and runs under a preset that uses everything."""
    searchers = [SealSearcher(path, generator) for path in (index, fresh)]
    written = [searcher.decode(QUERIES) for searcher in searchers]
    for one, other in zip(*written, strict=True):
        assert [(k.symbols, k.logprob, k.count, k.kind) for k in one.keys] == [
            (k.symbols, k.logprob, k.count, k.kind) for k in other.keys
        ]
        assert all(a.tolist() == b.tolist() for a, b in zip(one.unigrams, other.unigrams, strict=True))
    assert searchers[0].batch_search(QUERIES, QUERIES, k=20) == searchers[1].batch_search(
        QUERIES, QUERIES, k=20
    )


TestD8D9ChangingIndex = pytest.mark.slow(ChangingIndex.TestCase)
TestD8D9ChangingIndex.settings = settings(
    examples(30),
    stateful_step_count=20,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking builds hundreds of indexes
)
