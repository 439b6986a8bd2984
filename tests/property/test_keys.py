"""Keys that are written come back as they were, whatever they hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.config import RankConfig
from seal_ir.encode.vectors import useful
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.index.reader import Index
from seal_ir.keys.files import KeyWriter, iter_records
from seal_ir.keys.lookup import look_up
from seal_ir.keys.record import KINDS, Ngram, from_line, to_line
from seal_ir.rank.ranker import rank
from seal_ir.rank.weights import log_odds
from seal_ir.records import NO_UNIGRAMS, Key, Query, QueryKeys, Unigrams
from tests.helpers import tiny
from tests.helpers.examples import examples
from tests.helpers.keys import assert_equal, random_keys

FILES = examples(50)
TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
ID = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8).filter(
    lambda text: text.split() == [text]
)
DOUBLE = st.floats(allow_nan=False, allow_infinity=False)
SINGLE = st.floats(width=32, allow_nan=False, allow_infinity=False)
SYMBOLS = st.integers(1, 2**32 - 1)
KEY = st.builds(
    Key,
    st.lists(SYMBOLS, min_size=1, max_size=5).map(tuple),
    DOUBLE,
    st.just(1),
    st.just(()),
    st.sampled_from(KINDS),
)


@st.composite
def all_keys(draw: st.DrawFn) -> QueryKeys:
    symbols = draw(st.lists(SYMBOLS, unique=True, max_size=8))
    logprobs = draw(st.lists(SINGLE, min_size=len(symbols), max_size=len(symbols)))
    unigrams = Unigrams(
        np.array(symbols, dtype=np.uint32), np.array(logprobs, dtype=np.float64), np.ones(len(symbols), int)
    )
    return QueryKeys(tuple(draw(st.lists(KEY, max_size=6))), unigrams)


@FILES
@given(st.builds(Query, ID, TEXT), all_keys(), st.dictionaries(TEXT, DOUBLE, max_size=5))
def test_a_line_says_it_all(query: Query, keys: QueryKeys, vector: dict[str, float]) -> None:
    line = to_line(query, keys, vector, "m")
    assert "\n" not in line
    assert {name: json.loads(line)[name] for name in ("id", "contents", "vector")} == {
        "id": query.id, "contents": query.text, "vector": vector
    }  # fmt: skip
    record = from_line(line)
    assert not isinstance(record, Malformed), record
    assert (record.query, record.vector, record.made) == (query, vector, "m")
    assert record.ngrams == tuple(Ngram(key.kind, key.logprob, key.symbols) for key in keys.keys)
    order = np.argsort(keys.unigrams.symbols)
    assert record.unigram_symbols.tobytes() == keys.unigrams.symbols[order].tobytes()
    assert record.unigram_logprobs.tobytes() == keys.unigrams.logprobs[order].tobytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keys")


@FILES
@given(st.lists(st.builds(Query, ID, TEXT), unique_by=lambda query: query.id, max_size=4), all_keys())
def test_a_file_has_a_line_a_query(folder: Path, queries: list[Query], keys: QueryKeys) -> None:
    path = folder / "embeddings.jsonl"
    with KeyWriter(path, "m") as writer:
        for query in queries:
            writer.write(query, keys, {query.text: 1.0})
    found = list(iter_records(path, "m"))
    assert [(line, record.query) for line, record, _ in found] == list(enumerate(queries, start=1))
    assert path.read_bytes().count(b"\n") == len(queries)


LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
JSON = (
    LEAF | st.lists(LEAF | st.lists(LEAF, max_size=3), max_size=3) | st.dictionaries(TEXT, LEAF, max_size=2)
)
NAMES = st.sampled_from(["id", "contents", "vector", "made", "keys", "unigrams"])


@FILES
@given(st.dictionaries(NAMES, JSON))
def test_any_json_is_a_record_or_malformed(values: dict[str, object]) -> None:
    whole = json.loads(
        to_line(Query("q", "text"), QueryKeys((), Unigrams(*map(np.array, ([], [], [])))), {}, "m")
    )
    record = from_line(json.dumps(whole | values))
    if isinstance(record, Malformed):
        assert record.reason
        assert "\n" not in record.reason
    else:
        assert all(np.isfinite(value) for value in record.vector.values())


@pytest.mark.parametrize("limit", [1 << 30, 60])
@pytest.mark.parametrize("seed", range(4))
def test_an_index_gives_rows_and_counts_back(tmp_path: Path, limit: int, seed: int) -> None:
    index = tiny.built(tmp_path / "index", max_segment_tokens=limit)
    keys = random_keys(index, seed)
    record = from_line(to_line(Query("q", "text"), keys, {}, "m"))
    assert not isinstance(record, Malformed)
    found = look_up(index, record)
    assert not isinstance(found, Malformed)
    assert_equal(found, keys)


@FILES
@given(
    st.integers(0, 99),
    st.floats(0, 50),
    st.booleans(),
    st.sampled_from(["max", "intersective"]),
    st.floats(0, 1000),
)
def test_no_ranking_misses_the_unigrams_left_out(
    tiny_index: Path, seed: int, smoothing: float, unigram_alpha: bool, score: str, scale: float
) -> None:
    index = Index(tiny_index)
    keys = random_keys(index, seed)
    kept = keys._replace(unigrams=useful(keys.unigrams, index.n_tokens))
    config = RankConfig(
        score=score, smoothing=smoothing, unigram_alpha=unigram_alpha, query_trust=0.5, unigram_scale=scale
    )
    assert rank(index, kept, config, 10) == rank(index, keys, config, 10)


@FILES
@given(
    st.lists(st.tuples(st.floats(-40, 0), st.integers(1, 1000)), min_size=1, max_size=20),
    st.floats(0, 1e6) | st.floats(0, 1e-9),
)
def test_weights_only_fall_with_smoothing(pairs: list[tuple[float, int]], smoothing: float) -> None:
    logprobs = np.array([logprob for logprob, _ in pairs])
    counts = np.array([count for _, count in pairs])
    unigrams = Unigrams(np.arange(len(pairs), dtype=np.uint32), logprobs, counts)
    weights = log_odds(logprobs, counts, 1000, smoothing)
    assert set(np.flatnonzero(weights > 0)) <= set(useful(unigrams, 1000).symbols.tolist())


def test_keys_of_no_probability_are_left_out() -> None:
    key = Key((20,), -1.0, 1, (), KINDS[0])
    keys = QueryKeys((replace(key, logprob=-np.inf), key, replace(key, logprob=np.nan)), NO_UNIGRAMS)
    record = from_line(to_line(Query("q", ""), keys, {}, "m"))
    assert not isinstance(record, Malformed)
    assert record.ngrams == (Ngram(KINDS[0], -1.0, (20,)),)


@pytest.mark.parametrize("logprob", [-0.1, np.inf, np.nan])
def test_unigrams_of_double_precision_are_refused(logprob: float) -> None:
    unigrams = Unigrams(np.array([20], np.uint32), np.array([logprob]), np.array([1]))
    with pytest.raises(ValueError, match="single precision"):
        to_line(Query("q", ""), QueryKeys((), unigrams), {}, "m")
