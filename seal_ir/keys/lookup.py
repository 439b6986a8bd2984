"""Keys from a file get their rows and counts in an index back: every n-gram once, all of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from seal_ir.arrays import Ints
from seal_ir.formats.io.files import shown
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.index.engines import as_tuples
from seal_ir.index.reader import Index
from seal_ir.keys.record import KeyRecord
from seal_ir.records import Key, QueryKeys, Unigrams


def look_up(index: Index, record: KeyRecord) -> QueryKeys | Malformed:
    """The keys of a record as a model's decoding gives them, unigrams best first.

    Malformed is a record with an n-gram that does not occur: its keys were made for other documents.
    """
    index = index.session()
    rows = index.find_all(ngram.symbols for ngram in record.ngrams)
    grid = np.array([rows[ngram.symbols] for ngram in record.ngrams], dtype=np.int64)
    grid = grid.reshape(-1, *index.everything.shape)
    counts = _counts(grid)
    if len(absent := np.flatnonzero(counts == 0)):
        return _absent(record.ngrams[absent[0]].symbols)
    found = zip(record.ngrams, counts.tolist(), as_tuples(grid), strict=True)
    keys = tuple(
        Key(ngram.symbols, ngram.logprob, count, ranges, ngram.kind) for ngram, count, ranges in found
    )
    unigrams = _with_counts(index, record)
    return unigrams if isinstance(unigrams, Malformed) else QueryKeys(keys, unigrams)


def recounted(index: Index, queries: Sequence[QueryKeys]) -> list[QueryKeys]:
    """Keys of some documents of an index with the counts F(n) of all of it; their rows stay as they are."""
    index = index.session()
    rows = index.find_all(key.symbols for keys, _ in queries for key in keys)
    first = index.first_symbols
    found = []
    for keys, unigrams in queries:
        counted = tuple(replace(key, count=int(_counts(rows[key.symbols]))) for key in keys)
        at = np.searchsorted(first.symbols, unigrams.symbols)
        found.append(QueryKeys(counted, unigrams._replace(counts=_counts(first.ranges[at]))))
    return found


def _counts(ranges: Ints) -> Ints:
    """F of ranges [..., n_segments, 2]."""
    counts: Ints = (ranges[..., 1] - ranges[..., 0]).sum(axis=-1)
    return counts


def _with_counts(index: Index, record: KeyRecord) -> Unigrams | Malformed:
    symbols, logprobs = record.unigram_symbols, record.unigram_logprobs
    first = index.first_symbols
    at = np.minimum(np.searchsorted(first.symbols, symbols), len(first.symbols) - 1)
    absent = np.flatnonzero(first.symbols[at] != symbols)
    if len(absent):
        return _absent((int(symbols[absent[0]]),))
    counts = _counts(first.ranges[at])
    best_first = np.argsort(-logprobs, kind="stable")  # symbols ascend
    return Unigrams(symbols[best_first], logprobs[best_first], counts[best_first])


def _absent(symbols: tuple[int, ...]) -> Malformed:
    return Malformed(
        f"the n-gram {shown(list(symbols))} does not occur in this index; encode the topics again"
    )
