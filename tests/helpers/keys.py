"""What tests of key files share: random keys of a small index, and a file of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from seal_ir.config import SearchConfig
from seal_ir.index.reader import Index
from seal_ir.keys.files import KeyWriter, provenance_file
from seal_ir.keys.provenance import KeyProvenance, write_provenance
from seal_ir.records import BODY, QUERY, TITLE, Key, Query, QueryKeys, Unigrams
from seal_ir.text.symbols import FIRST_TOKEN, TITLE_END


def random_keys(index: Index, seed: int, n: int = 40) -> QueryKeys:
    """N-grams of the documents, some of them in two kinds, and half of the tokens as unigrams."""
    rng = np.random.default_rng(seed)
    streams = [stream.tolist() for stream in index.streams(range(index.n_documents))]
    keys = []
    for _ in range(n):
        stream = streams[rng.integers(len(streams))]
        end = stream.index(TITLE_END)
        kind = str(rng.choice([BODY, TITLE, QUERY]))
        if kind == TITLE:
            symbols = tuple(stream[: end + 1])
        else:
            at = int(rng.integers(end + 1, len(stream)))
            symbols = tuple(stream[at : at + int(rng.integers(1, 7))])
        ranges = index.find(symbols)
        count = sum(hi - lo for lo, hi in ranges)
        keys.append(Key(symbols, -float(rng.exponential(4)), count, ranges, kind))
    first = index.first_symbols
    tokens = np.flatnonzero(first.symbols >= FIRST_TOKEN)
    chosen = np.sort(rng.choice(tokens, len(tokens) // 2, replace=False))
    logprobs = -rng.exponential(6, len(chosen)).astype(np.float32).astype(np.float64)
    order = np.lexsort((first.symbols[chosen], -logprobs))
    counts = (first.ranges[chosen, :, 1] - first.ranges[chosen, :, 0]).sum(axis=1)
    return QueryKeys(
        tuple(keys), Unigrams(first.symbols[chosen][order], logprobs[order], counts[order].astype(np.int64))
    )


def assert_equal(found: QueryKeys, expected: QueryKeys) -> None:
    """The same keys, bit by bit."""
    assert found.keys == expected.keys
    for ours, theirs in zip(found.unigrams, expected.unigrams, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()


def write(path: Path, index: Index, entries: Sequence[tuple[Query, QueryKeys]]) -> KeyProvenance:
    """A key file and what it was made with, by no model at all."""
    made = KeyProvenance.of(index, "stub", "float32", SearchConfig())
    with KeyWriter(path, made.fingerprint) as writer:
        for query, keys in entries:
            writer.write(query, keys, {})
    write_provenance(provenance_file(path), made)
    return made
