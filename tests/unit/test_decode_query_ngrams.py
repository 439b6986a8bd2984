"""The query's own n-grams: which words, in which letters, of which length, and which of them are spared."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from seal_ir.config import DecodeConfig
from seal_ir.decode.beam import decode
from seal_ir.decode.query_ngrams import MAX_NGRAM_TOKENS, NgramNode, query_ngrams
from seal_ir.records import BODY, QUERY
from seal_ir.text.symbols import FIRST_TOKEN
from tests.helpers.streams import SCAN, StreamIndex
from tests.helpers.stub import StubModel, byte_tokenizer, generator, prompt_tokens, word_tokenizer

WORDS = ("the", "The", "THE", "river", "River", "RIVER", "x-y", "X-y", "X-Y", "iPad", "IPad", "ipad", "IPAD")


def _index(*texts: Sequence[str], words: Sequence[str] = WORDS) -> StreamIndex:
    tokenizer = word_tokenizer(words)
    streams = [[1, 2, *(words.index(word) + FIRST_TOKEN for word in text)] for text in texts]
    return StreamIndex(streams, tokenizer=tokenizer, engine=SCAN)


def _whole(nodes: Sequence[NgramNode], before: tuple[int, ...] = ()) -> dict[tuple[int, ...], int]:
    """The n-grams of a forest and how often they occur."""
    found = {}
    for node in nodes:
        symbols = (*before, node.symbol)
        if node.whole:
            found[symbols] = int((node.ranges[:, 1] - node.ranges[:, 0]).sum())
        found |= _whole(node.children, symbols)
    return found


def _texts(
    index: StreamIndex, query: str, max_words: int, spare: bool = False, words: Sequence[str] = WORDS
) -> dict[str, int]:
    found = _whole(query_ngrams(index, query, max_words, spare))
    return {" ".join(words[symbol - FIRST_TOKEN] for symbol in symbols): n for symbols, n in found.items()}


def test_words_are_looked_for_as_written_in_lower_case_capitalised_and_in_upper_case() -> None:
    index = _index([*WORDS])
    assert set(_texts(index, "iPad", 1)) == {"iPad", "IPad", "ipad", "IPAD"}
    assert set(_texts(index, "x-Y", 1)) == {"x-y", "X-Y"}, "the rest of a capitalised word stays"
    assert set(_texts(index, "THE", 1)) == {"THE", "the"}


def test_each_word_of_an_ngram_is_capitalised() -> None:
    index = _index(["the", "river"], ["The", "River"], ["THE", "RIVER"], ["The", "river"])
    expected = {"the", "The", "THE", "river", "River", "RIVER", "the river", "The River", "THE RIVER"}
    assert set(_texts(index, "the river", 2)) == expected
    assert "The river" in _texts(index, "The river", 2)


@pytest.mark.parametrize("edge", [*"\"'`.,;:!?()[]{}<>", *"“”‘’«»…", "?!", "...", '("'])  # noqa: RUF001
def test_punctuation_around_a_word_is_no_part_of_it(edge: str) -> None:
    index = _index(["the", "river"])
    assert set(_texts(index, f"{edge}the{edge} {edge} river{edge}", 2)) == {"the", "river", "the river"}


def test_punctuation_within_a_word_is_part_of_it() -> None:
    index = _index(["x-y", "the"])
    assert set(_texts(index, "x-y", 1)) == {"x-y"}
    assert set(_texts(index, "-the-", 1)) == set()


def test_ngrams_have_up_to_so_many_words() -> None:
    index = _index(["the", "river", "x-y", "iPad"])
    query = " the\triver  x-y\niPad "
    assert set(_texts(index, query, 1)) == {"the", "river", "x-y", "iPad"}
    assert set(_texts(index, query, 3)) - set(_texts(index, query, 2)) == {"the river x-y", "river x-y iPad"}
    assert set(_texts(index, query, 9)) - set(_texts(index, query, 3)) == {"the river x-y iPad"}
    assert query_ngrams(index, query, 0) == []
    assert query_ngrams(index, " ?! ", 3) == []


def test_what_does_not_occur_is_left_out() -> None:
    index = _index(["the", "river"], ["x-y"])
    assert _texts(index, "the river x-y nowhere", 3) == {"the": 1, "river": 1, "the river": 1, "x-y": 1}


@pytest.mark.parametrize(("n", "found"), [(MAX_NGRAM_TOKENS, True), (MAX_NGRAM_TOKENS + 1, False)])
def test_ngrams_have_up_to_fifteen_tokens(n: int, found: bool) -> None:
    assert MAX_NGRAM_TOKENS == 15
    words = [f"w{i}" for i in range(20)]
    index = _index(words, words=words)
    assert (" ".join(words[:n]) in _texts(index, " ".join(words), 20, words=words)) == found


def test_a_word_of_several_tokens_is_one_ngram_at_its_last() -> None:
    tokenizer = byte_tokenizer()
    (ids,) = tokenizer.encode_fields(["zebra"])
    assert len(ids) > 2
    symbols = tuple(token + FIRST_TOKEN for token in ids)
    index = StreamIndex([[1, 2, *symbols], [1, 2, *symbols[:-1]]], tokenizer=tokenizer, engine=SCAN)
    assert _whole(query_ngrams(index, "zebra", 1)) == {symbols: 1}
    cut = StreamIndex([[1, 2, *symbols[:-1]]], tokenizer=tokenizer, engine=SCAN)
    assert query_ngrams(cut, "zebra", 1) == [], "no branch without an n-gram at its end"


def test_spared_are_those_that_occur_as_often_as_what_they_begin_with() -> None:
    """`the river` twice as `the river x-y`, and `the` thrice: the shorter of each count stays."""
    index = _index(["the", "river", "x-y"], ["the", "river", "x-y", "iPad"], ["the", "x-y"])
    query = "the river x-y iPad"
    everything = _texts(index, query, 4)
    assert everything["the"] == 3
    assert everything["the river"] == everything["the river x-y"] == everything["river x-y"] == 2
    spared = set(everything) - set(_texts(index, query, 4, spare=True))
    assert spared == {"the river x-y", "river x-y"}
    assert _texts(index, query, 4, spare=True)["the river x-y iPad"] == 1


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(("n_vocabulary", "longest"), [(len(WORDS), 5), (9, 4), (6, 2)])
def test_long_ngrams_are_scored_whether_read_word_by_word_or_in_one_go(
    nested: bool, n_vocabulary: int, longest: int
) -> None:
    """The model may not know the last word, or one that others follow."""
    index = _index(["the", "river", "x-y", "the", "iPad"], ["the", "river", "x-y", "river", "the"])
    model = StubModel(n_vocabulary, seed=3, nested=nested)
    made = generator(index.tokenizer, model, title_end=0)
    query = "the river x-y the iPad"
    config = DecodeConfig(beam=1, body_steps=1, title_steps=0, query_words=5, unigrams=0)
    (found,) = decode(made, index, [query], config).queries
    keys = {key.symbols: key for key in found.keys if key.kind == QUERY}
    expected = {
        tuple(WORDS.index(word) + FIRST_TOKEN for word in text.split()): n
        for text, n in _texts(index, query, 5).items()
        if all(WORDS.index(word) < n_vocabulary for word in text.split())
    }
    assert {symbols: key.count for symbols, key in keys.items()} == expected
    assert max(map(len, keys)) == longest
    prompt = prompt_tokens(made, made.description.prompt(BODY), query)
    for symbols, key in keys.items():
        assert key.ranges == index.find(symbols)
        tokens = [symbol - FIRST_TOKEN for symbol in symbols]
        assert key.logprob == pytest.approx(model.forced(prompt, tokens), abs=1e-12)
    if n_vocabulary == len(WORDS):
        assert model.n_steps == (1 if nested else 4)


@pytest.mark.parametrize("nested", [False, True])
def test_what_follows_the_impossible_is_no_key_and_word_by_word_not_read(nested: bool) -> None:
    index = _index(["the", "river", "x-y"])
    model = StubModel(len(WORDS), seed=3, banned=[WORDS.index("the")], nested=nested)
    config = DecodeConfig(beam=1, body_steps=1, title_steps=0, query_words=3, unigrams=0)
    made = generator(index.tokenizer, model, title_end=0)
    (found,) = decode(made, index, ["the river"], config).queries
    assert [key.symbols for key in found.keys if key.kind == QUERY] == [(WORDS.index("river") + FIRST_TOKEN,)]
    assert model.n_steps == 0
