"""Exact top-k on a real corpus: thousands of candidates, hundreds of keys and unigrams, no model."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from seal_ir.config import PRESETS
from seal_ir.errors import SealError
from seal_ir.formats.io.resolve import Places
from seal_ir.index.reader import Index
from seal_ir.index.registry import named_index
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import BODY, Key, QueryKeys, Unigrams
from tests.helpers import plain_rank

pytestmark = [pytest.mark.slow, pytest.mark.data]


@pytest.fixture(scope="module")
def index() -> Index:
    try:
        return Index(named_index("wikipedia-sample-10k", Places.from_environment()).directory)
    except SealError as error:
        pytest.skip(str(error))


def _query(index: Index, seed: int) -> QueryKeys:
    """N-grams of a few documents, the longer the likelier, and their tokens as unigrams."""
    rng = random.Random(seed)
    texts = [stream.tolist() for stream in index.streams(rng.sample(range(index.n_documents), 4))]
    ngrams = set()
    while len(ngrams) < 250:
        text, n = rng.choice(texts), rng.choice([1, 1, 2, 2, 3, 4, 6])
        at = rng.randrange(max(1, len(text) - n))
        ngrams.add(tuple(text[at : at + n]))
    keys = []
    for symbols in sorted(ngrams):
        ranges = index.find(symbols)
        keys.append(Key(symbols, -rng.uniform(0.5, 9.0), sum(hi - lo for lo, hi in ranges), ranges, BODY))
    found = index.first_symbols
    chosen = np.array(sorted(rng.sample(range(len(found.symbols)), 3000)))
    counts = (found.ranges[chosen, :, 1] - found.ranges[chosen, :, 0]).sum(axis=1)
    logprobs = np.array([-rng.uniform(4.0, 11.0) for _ in chosen])
    return QueryKeys(tuple(keys), Unigrams(found.symbols[chosen], logprobs, counts))


@pytest.mark.parametrize("preset", ["intersective", "paper", "lm-fm"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_best_hundred_and_thousand_are_those_of_all_candidates(
    index: Index, preset: str, seed: int
) -> None:
    config = replace(PRESETS[preset].rank, max_count=300)
    keys, streams = _query(index, seed), Streams(index)
    exact = plain_rank.scores(index, keys, config)
    assert len(exact) > 1500
    best = sorted(exact.values(), reverse=True)
    for k in (100, 1000, 100):
        ranked = rank(index, keys, config, k, streams=streams)
        assert [item.score for item in ranked] == pytest.approx(best[:k], rel=1e-9)
        assert [exact[item.document] for item in ranked] == pytest.approx(best[:k], rel=1e-9)
