"""`SealQueryEncoder`: n-grams with the weights that ranking uses, with Pyserini's interface of an encoder."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import numpy as np
import pytest

import seal_ir
from seal_ir.config import PRESETS, DecodeConfig, SearchConfig
from seal_ir.encode.__main__ import shard
from seal_ir.encode.encoder import SealQueryEncoder
from seal_ir.encode.options import REFUSED
from seal_ir.encode.vectors import ngram_text, vector
from seal_ir.errors import IndexDirError, InputError, ModelError, UsageError
from seal_ir.formats.io.jsonlines import Malformed
from seal_ir.index.reader import Index
from seal_ir.keys.files import KeyWriter
from seal_ir.keys.record import from_line
from seal_ir.rank.weights import weigh
from seal_ir.records import BODY, NO_UNIGRAMS, TITLE, Key, Query, QueryKeys
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.symbols import BOUNDARY, TITLE_END, to_symbols
from tests.helpers import stub, tiny
from tests.helpers.commands import ROOT
from tests.helpers.keys import random_keys
from tests.helpers.stubbed import Stubbed

QUESTION = "what is the capital of Japan"


@pytest.fixture(scope="module")
def index(tiny_index: Path) -> Index:
    return Index(tiny_index)


def test_weights_are_those_of_ranking(tiny_index: Path) -> None:
    for name in ("lm", "lm-fm", "intersective", "paper"):
        encoder = SealQueryEncoder(tiny_index, tiny.generator(), preset=name)
        searcher = SealSearcher(tiny_index, tiny.generator(), preset=name)
        found = encoder.encode(QUESTION)
        scored = weigh(searcher.decode([QUESTION])[0], PRESETS[name].rank, searcher.index.n_tokens)
        expected: dict[str, float] = {}
        for item in scored:
            text = ngram_text(searcher.index, item.key.symbols)
            expected[text] = max(item.weight, expected.get(text, item.weight))
        assert found == expected
        assert list(found.values()) == sorted(found.values(), reverse=True)
        assert (" capital of" in found) == (name in ("intersective", "paper", "lm-fm"))


def test_config_stands_for_a_preset(tiny_index: Path) -> None:
    config = SearchConfig("mine", DecodeConfig(title_steps=0, query_words=0, body_steps=2))
    found = SealQueryEncoder(tiny_index, tiny.generator(), config=config).encode(QUESTION)
    assert found
    assert not any(text.startswith("<title>") for text in found)
    with pytest.raises(UsageError, match="unknown preset 'bm25'"):
        SealQueryEncoder(tiny_index, tiny.generator(), preset="bm25")


@pytest.mark.parametrize("query", ["", "???", "東京 大学 {query}", "\x00\n", "👩‍👩‍👧‍👦"])
def test_any_query_is_encoded(tiny_index: Path, query: str) -> None:
    found = SealQueryEncoder(tiny_index, tiny.generator()).encode(query)
    assert all(np.isfinite(weight) and weight > 0 for weight in found.values())
    assert bool(query.strip()) or found == {}


def test_titles_are_told_from_other_ngrams(index: Index) -> None:
    tokyo, body = (to_symbols(ids).tolist() for ids in index.tokenizer.encode_fields(["Tokyo", "Tokyo, the"]))
    title = (BOUNDARY, *tokyo, TITLE_END)
    assert ngram_text(index, title) == "<title>Tokyo</title>"
    assert ngram_text(index, tuple(body)) == " Tokyo, the"
    pairs = ((title, TITLE), (tuple(tokyo), BODY))
    written = tuple(Key(symbols, -2.0, 1, index.find(symbols), kind) for symbols, kind in pairs)
    keys = QueryKeys(written, NO_UNIGRAMS)
    assert set(vector(keys, index, PRESETS["paper"].rank)) == {"<title>Tokyo</title>", " Tokyo"}


def test_of_keys_that_read_alike_the_larger_weight_is_there(tmp_path: Path) -> None:
    """Single bytes of characters are no text: all of them read U+FFFD."""
    index = stub.small_index(
        tmp_path / "index", [seal_ir.Document("d", "", "東 京 é")], stub.byte_tokenizer()
    )
    first = index.first_symbols.symbols
    keys = [
        Key((int(symbol),), -1.0 - i, 1, index.find((int(symbol),)), BODY)
        for i, symbol in enumerate(first[first > 100])
        if index.tokenizer.decode([int(symbol) - 16]) == "\ufffd"
    ]
    assert len(keys) >= 4
    config = PRESETS["paper"].rank
    query_keys = QueryKeys(tuple(keys), NO_UNIGRAMS)
    weights = [item.weight for item in weigh(query_keys, config, index.n_tokens)]
    assert weights[0] > weights[-1]
    assert vector(query_keys, index, config) == {"\ufffd": weights[0]}


def test_a_long_query_is_told_of(tiny_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    encoder = SealQueryEncoder(tiny_index, tiny.generator(), config=SearchConfig(decode=DecodeConfig(beam=1)))
    with caplog.at_level(logging.WARNING):
        encoder.encode("word " * 3000)
        encoder.encode("word")
    assert [record.message for record in caplog.records] == [
        "1 of 1 queries were longer than 491 tokens and were cut"
    ]


def test_the_model_is_loaded_once_and_late(tiny_index: Path, stubbed: Stubbed) -> None:
    encoder = SealQueryEncoder(tiny_index, "mine", device="cpu", dtype="bfloat16")
    assert stubbed.loaded == []
    encoder.encode(QUESTION)
    encoder.encode(QUESTION)
    assert stubbed.loaded == [("mine", "cpu", "bfloat16")]
    assert SealSearcher(tiny_index).model == "tiny"


def test_what_cannot_be_opened(tiny_index: Path, tmp_path: Path) -> None:
    with pytest.raises(IndexDirError, match="no such index directory"):
        SealQueryEncoder(tmp_path / "none", tiny.generator())
    other = stub.generator(stub.word_tokenizer(["a"]))
    with pytest.raises(ModelError, match="index the collection again"):
        SealQueryEncoder(tiny_index, other).encode("a")
    for arguments in ({}, {"index": tiny_index, "encoded_query_dir": tmp_path}):
        with pytest.raises(ValueError, match="one of the two"):
            SealQueryEncoder(**arguments)


def test_encoded_queries_are_looked_up(index: Index, tmp_path: Path) -> None:
    path = tmp_path / "embeddings.jsonl"
    entries = [
        (Query("1", "one"), {" a": 2.5, "\x00": 1e-300}),
        (Query("2", "one"), {}),
        (Query("3", ""), {}),
    ]
    with KeyWriter(path, "m") as writer:
        for query, weights in entries:
            writer.write(query, random_keys(index, 1, n=3), weights)
    for name in (tmp_path, path, str(tmp_path)):
        encoder = SealQueryEncoder.load_encoded_queries(name)
        assert (encoder.has_model, encoder.has_encoded_query) == (False, True)
        assert encoder.encode("one") == entries[0][1]
        assert encoder.encode("") == {}
    encoder.encode("one").clear()
    assert encoder.encode("one") == entries[0][1]
    with pytest.raises(InputError, match="'two' is not among the encoded queries"):
        encoder.encode("two")
    with pytest.raises(InputError, match="cannot be read"):
        SealQueryEncoder(encoded_query_dir=tmp_path / "none")


def test_the_public_name(tiny_index: Path) -> None:
    assert seal_ir.SealQueryEncoder is SealQueryEncoder
    encoder = seal_ir.SealQueryEncoder(tiny_index, model=tiny.generator())
    assert (encoder.has_model, encoder.has_encoded_query) == (True, False)


@pytest.mark.parametrize(("n", "n_shards"), [(10, 3), (2, 5), (9, 3), (1, 1)])
def test_shards_are_pyserinis(n: int, n_shards: int) -> None:
    """Each has n // n_shards queries, the last one the rest too."""
    topics = [Query(str(i), "") for i in range(n)]
    parts = [shard(topics, i, n_shards) for i in range(n_shards)]
    assert [topic for part in parts for topic in part] == topics
    assert [len(part) for part in parts[:-1]] == [n // n_shards] * (n_shards - 1)


def test_the_page_says_what_the_program_does() -> None:
    """docs/encode.md: its line is one, and it names every option that is refused."""
    page = (ROOT / "docs" / "encode.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```json\n(.*?)^```$", page, re.M | re.S)
    record = from_line(example)
    assert not isinstance(record, Malformed), record
    assert record.query == Query("q1", "how tall is the volcano")
    for name, options in REFUSED.items():
        assert f"`{name}`" in page
        assert all(f"`{option}`" in page for option in options)
