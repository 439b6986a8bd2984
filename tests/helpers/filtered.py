"""Whether a search within a filter is that of an index of the allowed documents alone."""

from __future__ import annotations

from dataclasses import replace

from seal_ir.index.filters import Filter
from seal_ir.index.reader import Index
from seal_ir.records import QueryKeys, Ranked
from seal_ir.search.searcher import SealSearcher

QUERIES = ["what is the capital of Japan", "the whale </s>"]


def compare_within(searcher: SealSearcher, within: Filter, alone: SealSearcher) -> None:
    """Counts within the filter: all is that of an index of the allowed documents."""
    narrowed = searcher.within(within)
    ours, theirs = narrowed.decode(QUERIES), alone.decode(QUERIES)
    assert [_seen(keys) for keys in ours] == [_seen(keys) for keys in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert _ranked(narrowed.index, narrowed.rank(mine, 20)) == _ranked(alone.index, alone.rank(other, 20))
    found = searcher.batch_search(QUERIES, QUERIES, k=20, filter=within)
    expected = alone.batch_search(QUERIES, QUERIES, k=20)
    for query in QUERIES:
        assert [replace(hit, lucene_docid=-1) for hit in found[query]] == [
            replace(hit, lucene_docid=-1) for hit in expected[query]
        ]
        assert [searcher.index.docid(hit.lucene_docid) for hit in found[query]] == [
            hit.docid for hit in expected[query]
        ]


def compare_whole(searcher: SealSearcher, whole: Filter, alone: SealSearcher) -> None:
    """Counts of the collection: the same keys, which weigh what they weigh in the whole index."""
    narrowed, index = searcher.within(whole), searcher.index
    ours, theirs = narrowed.decode(QUERIES), alone.decode(QUERIES)
    alone.index.n_tokens = index.n_tokens
    for mine, other in zip(ours, theirs, strict=True):
        keys = tuple(replace(key, count=_count(index, key.symbols)) for key in other.keys)
        counts = [_count(index, (symbol,)) for symbol in other.unigrams.symbols.tolist()]
        assert [(k.symbols, k.logprob, k.count, k.kind) for k in mine.keys] == [
            (k.symbols, k.logprob, k.count, k.kind) for k in keys
        ]
        assert mine.unigrams.counts.tolist() == counts
        expected = QueryKeys(keys, other.unigrams._replace(counts=mine.unigrams.counts))
        assert _ranked(narrowed.index, narrowed.rank(mine, 20)) == _ranked(
            alone.index, alone.rank(expected, 20)
        )


def _count(index: Index, symbols: tuple[int, ...]) -> int:
    return sum(hi - lo for lo, hi in index.find(symbols))


def _seen(keys: QueryKeys) -> list[object]:
    """What is the same whatever the rows are."""
    written = [(key.symbols, key.logprob, key.count, key.kind) for key in keys.keys]
    return [written, [column.tolist() for column in keys.unigrams]]


def _ranked(index: Index, ranking: list[Ranked]) -> list[tuple[str, float, list[tuple[object, float]]]]:
    return [
        (
            index.docid(item.document),
            item.score,
            [((s.key.symbols, s.key.count, s.key.kind), s.weight) for s in item.matched],
        )
        for item in ranking
    ]
