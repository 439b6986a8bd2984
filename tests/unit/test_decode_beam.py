"""Decoding at the edges: empty queries, tiny corpora, dying beams, long queries, literal special tokens."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

from seal_ir.config import DecodeConfig, RankConfig, SearchConfig
from seal_ir.decode.beam import decode
from seal_ir.decode.hypotheses import Beams
from seal_ir.decode.unconstrained import Unconstrained
from seal_ir.errors import ModelError
from seal_ir.extensions import SDSL
from seal_ir.formats.runs.trec import RunWriter
from seal_ir.index.reader import Index
from seal_ir.lm.next_tokens import HostTokens
from seal_ir.rank.ranker import rank
from seal_ir.records import BODY, QUERY, TITLE, Document, QueryKeys
from seal_ir.search.searcher import SealSearcher
from seal_ir.text.symbols import FIRST_TOKEN, to_tokens
from tests.helpers import oracle
from tests.helpers.streams import SCAN, StreamIndex
from tests.helpers.stub import (
    BODY_PROMPT,
    StubModel,
    byte_tokenizer,
    generator,
    prompt_tokens,
    small_index,
    word_tokenizer,
)

WORDS = word_tokenizer(["a", "b", "c", "d"])
A, B, C, D = range(FIRST_TOKEN, FIRST_TOKEN + 4)
DOCUMENTS = [
    Document("rivers#0", "Seine", "Paris is where the Seine flows; the river reaches the sea at Le Havre."),
    Document("rivers#1", "Loire", "The Loire is the longest river of France."),
    Document("cities#0", "Paris", "The capital of France is Paris, on the river Seine."),
    Document("cities#1", "", "A page without a title about the capital."),
    Document("empty", "Nothing", ""),
]
QUERIES = [
    "what is the capital of France",
    "river",
    "where does the Seine reach the sea",
    "PARIS",
    "longest river of france please tell me all about it now",
    "???",
    "the",
    "Loire and Seine",
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return small_index(tmp_path_factory.mktemp("decode") / "index", DOCUMENTS, byte_tokenizer())


@pytest.fixture(scope="module")
def stub():
    tokenizer = byte_tokenizer()
    return generator(
        tokenizer, StubModel(tokenizer.n_vocabulary, seed=7), title_end=tokenizer.encode("\n")[0]
    )


def _texts(found: QueryKeys, kind: str) -> set[str]:
    return {byte_tokenizer().decode(to_tokens(key.symbols)) for key in found.keys if key.kind == kind}


def _one(streams: list[list[int]], config: DecodeConfig, query: str = "a", engine: str = SDSL) -> QueryKeys:
    made = generator(WORDS, StubModel(WORDS.n_vocabulary, seed=1))
    return decode(made, StreamIndex(streams, tokenizer=WORDS, engine=engine), [query], config).queries[0]


@pytest.mark.parametrize("query", ["", "   ", "\t\n", "\u3000"])
def test_c13_a_query_without_text_has_no_keys_and_no_hits(index: Index, stub, query: str) -> None:
    decoded = decode(stub, index, [query, "river", query], DecodeConfig())
    assert decoded.queries[0].keys == () == decoded.queries[2].keys
    assert len(decoded.queries[0].unigrams.symbols) == 0
    assert decoded.queries[1].keys
    assert rank(index, decoded.queries[0], SearchConfig().rank, 10) == []
    assert decode(stub, index, [query], DecodeConfig()) == decode(
        stub, index, [query, query], DecodeConfig()
    )._replace(queries=decode(stub, index, [query], DecodeConfig()).queries)
    assert decode(stub, index, [], DecodeConfig()).queries == []


@pytest.mark.parametrize("query", ["???", "🙂🙃", "zzzzqqqq", "\x00", "\ufeff"])
def test_c13_a_query_that_matches_nothing_is_no_crash(index: Index, stub, query: str) -> None:
    found = decode(stub, index, [query], DecodeConfig()).queries[0]
    assert not _texts(found, QUERY)
    assert all(oracle.count([s.tolist() for s in index.streams(range(5))], key.symbols) for key in found.keys)


def test_c3_a_beam_at_the_end_of_the_corpus_ends_cleanly() -> None:
    found = _one([[1, 2, A, B], [1, 2, C, D]], DecodeConfig(beam=4, body_steps=10, title_steps=3))
    assert {key.symbols for key in found.keys if key.kind == BODY} == {(A,), (B,), (C,), (D,), (A, B), (C, D)}
    assert not [key for key in found.keys if key.kind == TITLE]


@pytest.mark.parametrize("stream", [[1, 2, A], [1, A, 2]])
def test_c3_a_corpus_of_one_token(stream: list[int]) -> None:
    found = _one([stream], DecodeConfig())
    assert {key.symbols for key in found.keys if key.kind in (BODY, QUERY)} == {(A,)}
    assert [key.symbols for key in found.keys if key.kind == TITLE] == [(1, A, 2)] * (stream[1] == A)
    assert found.unigrams.symbols.tolist() == [A]


def test_c3_a_corpus_of_nothing_but_empty_documents() -> None:
    found = _one([[1, 2], [1, 2]], DecodeConfig())
    assert found.keys == ()
    assert len(found.unigrams.symbols) == 0


def test_c12_one_beam_ends_early_and_the_others_keep_their_counts() -> None:
    """The short document's beams die after two tokens, in the middle of the others'."""
    streams = [[1, 2, A, B], [1, 2, C, A, C, A, D, A, C, B, C, D], [1, 2, D, C, A, D]]
    found = _one(streams, DecodeConfig(beam=5, body_steps=8))
    assert max(len(key.symbols) for key in found.keys) == 8
    for key in found.keys:
        assert key.count == oracle.count(streams, key.symbols)


@pytest.mark.parametrize("beam", [1, 15, 500])
def test_a_beam_wider_than_the_candidates(beam: int) -> None:
    streams = [[1, A, 2, B, C], [1, B, 2, C]]
    found = _one(streams, DecodeConfig(beam=beam, body_steps=3, title_steps=3))
    keys = {key.symbols for key in found.keys}
    assert len(keys) == len([key for key in found.keys if key.kind != QUERY])
    if beam > 1:
        assert keys == {(A,), (B,), (C,), (B, C), (1, A, 2), (1, B, 2)}


def test_decoding_stops_when_all_beams_have_ended() -> None:
    made = generator(WORDS, StubModel(WORDS.n_vocabulary))
    index = StreamIndex([[1, 2, A, B]], tokenizer=WORDS, engine=SCAN)
    decode(made, index, ["c"], DecodeConfig(body_steps=1000, title_steps=1000))
    assert made.model.n_steps == 1, "what is written at the end of a field needs no next token"


def test_c10_a_second_call_gives_the_same(index: Index, stub) -> None:
    config = DecodeConfig(beam=4, body_steps=5, title_steps=6)
    first, second = (decode(stub, index, QUERIES, config).queries for _ in range(2))
    assert [found.keys for found in first] == [found.keys for found in second]
    fresh = decode(stub, Index(index.directory), QUERIES[:2], config).queries
    assert [found.keys for found in fresh] == [found.keys for found in first[:2]]


def test_titles_are_those_of_documents(index: Index, stub) -> None:
    found = decode(stub, index, ["river"], DecodeConfig(beam=10)).queries[0]
    assert _texts(found, TITLE) == {" Seine", " Loire", " Paris", " Nothing"}


def test_c6_the_first_word_of_a_field_and_one_within_are_one_key(index: Index, stub) -> None:
    found = decode(stub, index, ["paris"], DecodeConfig()).queries[0]
    paris = [
        key
        for key in found.keys
        if key.kind == QUERY and to_tokens(key.symbols) == byte_tokenizer().encode(" Paris")
    ]
    assert [key.count for key in paris] == [3]  # a title, the first word of a body, and one in mid-sentence


def test_c7_special_token_strings_are_plain_text(tmp_path: Path) -> None:
    tokenizer = byte_tokenizer()
    text = "The tag </s> ends, <mask> hides, <pad> fills, @@ and || too."
    index = small_index(
        tmp_path / "index", [Document("1", "</s> @@", text), Document("2", "x", "<s>")], tokenizer
    )
    made = generator(tokenizer, StubModel(tokenizer.n_vocabulary, seed=3))
    found = decode(made, index, [text], DecodeConfig(beam=5)).queries[0]
    assert index.n_documents == 2
    assert [tuple(document)[:3] for document in index.documents([0, 1])] == [
        ("1", "</s> @@", text),
        ("2", "x", "<s>"),
    ]
    assert {" @@", " @@ and", " The tag"} <= _texts(found, QUERY)
    assert max(made.model.prompts[0]) < tokenizer.n_vocabulary
    streams = [stream.tolist() for stream in index.streams([0, 1])]
    assert all(key.count == oracle.count(streams, key.symbols) for key in found.keys)


def test_c8_keys_come_back_verbatim(tmp_path: Path) -> None:
    index = small_index(tmp_path / "index", [Document("1", "t", "if x != y , then")], byte_tokenizer())
    made = generator(byte_tokenizer())
    found = decode(made, index, ["x != y ,"], DecodeConfig()).queries[0]
    assert all(text in " t if x != y , then" for text in _texts(found, BODY) | _texts(found, QUERY))
    assert " x" in _texts(found, QUERY)


@pytest.mark.slow
@pytest.mark.parametrize("query_words", [0, 3])
@pytest.mark.parametrize("max_tokens", [60, 1024])
def test_a20_long_queries_are_cut_to_the_models_positions(
    index: Index, max_tokens: int, query_words: int
) -> None:
    """Up to the last position, and with query n-grams that are longer than any body n-gram."""
    tokenizer = byte_tokenizer()
    made = generator(tokenizer, StubModel(tokenizer.n_vocabulary, max_tokens=max_tokens))
    config = DecodeConfig(beam=2, body_steps=4, title_steps=6, query_words=query_words)
    long = " ".join(["at Le Havre", *(f"the capital of France is word{i}" for i in range(500))])
    if query_words:
        forced = decode(made, index, ["at Le Havre"], config).queries[0]
        assert max(len(key.symbols) for key in forced.keys if key.kind == QUERY) > config.body_steps + 1
        made.model.prompts.clear()
    decoded = decode(made, index, [long, "river", long], config)
    assert list(decoded.cut) == [0, 2]
    assert decoded.queries[0].keys == decoded.queries[2].keys
    assert decoded.queries[1].keys == decode(made, index, ["river"], config).queries[0].keys
    assert all(len(prompt) <= max_tokens for prompt in made.model.prompts)
    assert max(map(len, made.model.prompts)) > max_tokens - 25
    expected = prompt_tokens(made, BODY_PROMPT, long)
    assert made.model.prompts[0][:20] == expected[:20]
    assert made.model.prompts[0][-2:] == expected[-2:], "the template's end is kept"
    n = len(made.model.prompts[0])
    for extra in range(-3, 4):  # queries of about the length that just fits
        query = "a" + " a" * (n - len(tokenizer.encode(" body")) - 1 + extra)
        decode(made, index, [query], config)


def test_a20_one_counted_warning(index: Index, caplog: pytest.LogCaptureFixture) -> None:
    tokenizer = byte_tokenizer()
    made = generator(tokenizer, StubModel(tokenizer.n_vocabulary, max_tokens=80))
    searcher = SealSearcher(index.directory, made, config=SearchConfig(decode=DecodeConfig(beam=2)))
    long = "word " * 3000
    with caplog.at_level(logging.WARNING):
        hits = searcher.batch_search([long, "river", long + "x"], ["1", "2", "3"])
    assert all(hits.values())
    assert len(caplog.records) == 1
    assert "2" in caplog.text


def test_a_template_that_leaves_no_room_is_told(index: Index) -> None:
    tokenizer = byte_tokenizer()
    made = generator(tokenizer, StubModel(tokenizer.n_vocabulary, max_tokens=12))
    with pytest.raises(ModelError, match="no room"):
        decode(made, index, ["river of France"], DecodeConfig())


@pytest.mark.parametrize("query", ["{", "}", "{query}", "{0} {x}", "%s {query!r:>10}"])
def test_braces_in_a_query_are_plain_text(index: Index, stub, query: str) -> None:
    stub.model.prompts.clear()
    decode(stub, index, [query], DecodeConfig())
    assert [stub.tokenizer.decode(prompt) for prompt in stub.model.prompts] == [
        f"{query} body",
        f"{query} title",
    ]


def test_no_titles_no_query_ngrams_no_unigrams(index: Index, stub) -> None:
    config = DecodeConfig(title_steps=0, query_words=0, unigrams=0)
    found = decode(stub, index, ["river"], config).queries[0]
    assert {key.kind for key in found.keys} == {BODY}
    assert len(found.unigrams.symbols) == 0


def test_c5_runs_are_the_same_bytes_for_every_batch_size_order_and_threads(
    index: Index, stub, tmp_path: Path
) -> None:
    qids = [f"q{i}" for i in range(len(QUERIES))]
    written = []
    config = SearchConfig(rank=RankConfig(smoothing=0.0))  # so small a corpus has no weights otherwise
    for batch_size, order, threads in [(1, 1, 1), (3, 1, 8), (8, 1, 1), (8, 1, 8), (3, -1, 8)]:
        searcher = SealSearcher(index.directory, stub, config=config, batch_size=batch_size)
        hits = searcher.batch_search(QUERIES[::order], qids[::order], k=5, threads=threads)
        path = tmp_path / f"{batch_size}{order}{threads}.trec"
        with RunWriter(path, tag="stub") as writer:
            for qid in qids:
                writer.write(qid, hits[qid])
        written.append(path.read_bytes())
    assert written[0].count(b"\n") > 15
    assert len(set(written)) == 1


def test_a_minus_infinite_candidate_is_none() -> None:
    made = generator(WORDS, StubModel(WORDS.n_vocabulary, banned=[0, 2]))
    index = StreamIndex([[1, A, 2, B, C], [1, D, 2, C, B]], tokenizer=WORDS, engine=SCAN)
    found = decode(made, index, ["a b c"], DecodeConfig()).queries[0]
    assert {key.symbols for key in found.keys} == {(B,), (D,), (1, D, 2)}
    assert np.isfinite(found.unigrams.logprobs).all()


def test_without_the_constraint_an_end_that_comes_too_early_takes_no_place() -> None:
    """A title does not begin with its end, however likely; later the end is one continuation of all."""
    index = StreamIndex([[1, A, 2, B], [1, B, 2, C]], tokenizer=WORDS, engine=SCAN)
    free = Unconstrained(index, D - FIRST_TOKEN, 2)
    logprobs = np.log(np.array([[0.3, 0.15, 0.05, 0.5]])).astype(np.float32)
    following, nothing = HostTokens(lambda rows: logprobs[rows], 4), np.empty(0, np.int64)
    for written, expected in (((), [A, B]), ((A,), [2, A])):
        symbols = np.array([written], np.uint32).reshape(1, -1)
        start = np.array([index.find((1, *written))], dtype=np.int64)
        beams = Beams(np.zeros(1, np.int64), np.array([2], np.uint32), symbols, np.zeros(1), start)
        found, _ = free.best(beams, free.known(beams, 4), following, nothing, nothing)
        assert found.symbols.tolist() == expected
        ngrams = [(1, *written, symbol) for symbol in expected]
        assert found.ranges.tolist() == [[list(rows) for rows in index.find(ngram)] for ngram in ngrams]
