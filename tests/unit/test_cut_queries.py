"""One sentence for queries that are longer than a model reads, wherever a query meets a model."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from seal_ir.baselines.dense import questions
from seal_ir.baselines.dense.encoders import find_encoder
from seal_ir.baselines.dense.questions import fitting
from seal_ir.config import DecodeConfig, SearchConfig
from seal_ir.decode.prompts import cut_sentence
from seal_ir.encode.encoder import SealQueryEncoder
from seal_ir.records import Query
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.tiny_encoders import MAX_POSITIONS, save_dpr, save_sentence_encoder

CONFIG = SearchConfig(decode=DecodeConfig(beam=1, body_steps=5, title_steps=5, query_words=0))
# The echo model's positions, less those of what every prompt begins with, of its own word and of the longest
# key: the lower of two.
LIMIT = (
    512
    - len(tiny.tokenizer().affixes[0])
    - max(5 + len(tiny.tokenizer().encode(" body")), 5 + len(tiny.tokenizer().encode(" title")))
)
LONG, FITS = "whale " * 600, "whale"
TOLD = f"queries were longer than {LIMIT} tokens and were cut"
QUERIES = [LONG, FITS, LONG]


def _batch(searcher: SealSearcher) -> None:
    searcher.batch_search(QUERIES, ["a", "b", "c"], threads=2)


def _rescore(searcher: SealSearcher) -> None:
    keys = searcher.decode_counted([FITS] * 3).queries
    searcher.rescore(QUERIES, keys)


@pytest.mark.parametrize("batch_size", [1, 2, 8])
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda searcher: searcher.search(LONG), "1 of 1 queries were longer than {} tokens and were cut"),
        (_batch, "2 of 3 queries were longer than {} tokens and were cut: topics a, c"),
        (
            lambda searcher: searcher.decode(QUERIES),
            "2 of 3 queries were longer than {} tokens and were cut: positions 0, 2",
        ),
        (_rescore, "2 of 3 queries were longer than {} tokens and were cut: positions 0, 2"),
    ],
    ids=["search", "batch_search", "decode", "rescore"],
)
def test_i8_python_says_which_queries_were_cut_and_to_what(
    tiny_index: Path,
    caplog: pytest.LogCaptureFixture,
    call: Callable[[SealSearcher], object],
    expected: str,
    batch_size: int,
) -> None:
    with caplog.at_level(logging.WARNING):
        call(SealSearcher(tiny_index, tiny.generator(), config=CONFIG, batch_size=batch_size))
    assert caplog.messages == [expected.format(LIMIT)]


def test_i8_encode_says_the_same(tiny_index: Path, caplog: pytest.LogCaptureFixture) -> None:
    encoder = SealQueryEncoder(tiny_index, tiny.generator(), config=CONFIG)
    encoder.encode(LONG)
    encoder.encode(FITS)
    assert caplog.messages == [f"1 of 1 {TOLD}"]


@pytest.mark.parametrize("excess", [0, 1])
def test_the_limit_is_that_of_the_query_alone(tiny_index: Path, excess: int) -> None:
    generator = tiny.generator()
    ids = generator.tokenizer.encode(LONG)[: LIMIT + excess]
    query = generator.tokenizer.decode(ids)
    assert len(generator.tokenizer.encode(query)) == LIMIT + excess
    decoded = SealSearcher(tiny_index, generator, config=CONFIG).decode_counted([query])
    assert decoded.cut == ({0: LIMIT} if excess else {})


@pytest.mark.parametrize("family", ["sentence", "dpr"])
def test_i8_dense_questions_are_cut_to_what_their_encoder_reads(tmp_path: Path, family: str) -> None:
    """Two special tokens are the encoder's; the tokens of the cut text are the first of the whole one's."""
    folder = (
        save_dpr(tmp_path / "q", questions=True) if family == "dpr" else save_sentence_encoder(tmp_path / "m")
    )
    encoder = find_encoder(str(folder))
    limit = MAX_POSITIONS - 2
    words = ["Whale", "river,", "unheard-of"] * 30
    topics = [Query("1", " ".join(words)), Query("2", "whale"), Query("3", ""), Query("4", "whale " * limit)]
    topics.append(Query("5", "whale " * (limit + 1)))
    fitted, cut = fitting(encoder, topics)
    assert cut == {0: limit, 4: limit}
    assert [topic for place, topic in enumerate(fitted) if place not in cut] == topics[1:4]
    tokenizer = questions._tokenizer(encoder)
    for before, after in zip(topics, fitted, strict=True):
        whole, kept = tokenizer(before.text)["input_ids"], tokenizer(after.text)["input_ids"]
        assert kept[1:-1] == whole[1:-1][:limit]
        assert len(kept) <= MAX_POSITIONS
    sentence = cut_sentence(cut, [topic.id for topic in topics], len(topics))
    assert sentence == f"2 of 5 queries were longer than {limit} tokens and were cut: topics 1, 5"
