"""Prompts: what the model reads for a query, where it is cut, and what all queries share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seal_ir.config import DecodeConfig
from seal_ir.decode.prompts import CutQueries, MadePrompt, cut_sentence, make_prompt, note_cut, room_for
from seal_ir.errors import ModelError
from seal_ir.lm.protocols import Generator
from seal_ir.records import BODY, TITLE
from seal_ir.text.description import CAUSAL, SEQ2SEQ
from tests.helpers import tiny
from tests.helpers.stub import FURTHER, StubModel, generator

TOKENIZER = tiny.tokenizer()
(BEGIN,), (STOP,) = TOKENIZER.affixes
FRONT = "the river of:"
TEMPLATE = FRONT + "{query} body"
LONG = "whale sea river " * 40


def _made(query: str, max_tokens: int, n_reserved: int = 5, family: str = CAUSAL) -> MadePrompt:
    made = generator(TOKENIZER, StubModel(TOKENIZER.n_vocabulary, max_tokens=max_tokens))
    return make_prompt(_of(made, family), TEMPLATE, query, n_reserved)


def _of(made: Generator, family: str) -> Generator:
    return replace(made, description=replace(made.description, family=family))


def _encoded(query: str) -> list[int]:
    return TOKENIZER.encode(FRONT + query + " body")


N_TEMPLATE = len(_encoded(""))


def test_a_causal_model_reads_its_mark_and_the_template_with_the_query() -> None:
    made = _made("whale", 500)
    assert made.prompt.tokens == (BEGIN, *_encoded("whale"))
    assert made.limit is None
    assert made.prompt.n_shared == 1 + len(TOKENIZER.encode(FRONT))
    assert TOKENIZER.encode(FRONT) == _encoded("whale")[: made.prompt.n_shared - 1]


def test_an_encoder_reads_both_marks_and_shares_nothing() -> None:
    made = _made("whale", 500, family=SEQ2SEQ)
    assert made.prompt.tokens == (BEGIN, *_encoded("whale"), STOP)
    assert (made.prompt.n_shared, made.limit) == (0, None)


@pytest.mark.parametrize(("family", "n_besides"), [(CAUSAL, 1 + 5), (SEQ2SEQ, 2)])
def test_what_just_fits_is_not_cut(family: str, n_besides: int) -> None:
    """Behind a causal model's prompt there is room for what it writes; an encoder's is alone."""
    n = len(_encoded("whale"))
    assert _made("whale", n_besides + n, family=family).limit is None
    cut = _made("whale", n_besides + n - 1, family=family)
    assert cut.limit == n - 1 - N_TEMPLATE
    assert len(cut.prompt.tokens) < n_besides + n - (5 if family == CAUSAL else 0)


@pytest.mark.parametrize(("family", "n_besides"), [(CAUSAL, 1 + 5), (SEQ2SEQ, 2)])
@pytest.mark.parametrize("room", [1, 7, 30])
def test_a_long_query_is_cut_behind_its_front_part(family: str, n_besides: int, room: int) -> None:
    made = _made(LONG, n_besides + N_TEMPLATE + room, family=family)
    assert made.limit == room
    kept = TOKENIZER.decode(TOKENIZER.encode(LONG)[:room])
    expected = (BEGIN, *_encoded(kept), *([STOP] if family == SEQ2SEQ else []))
    assert made.prompt.tokens == expected
    assert len(_encoded(kept)) <= N_TEMPLATE + room
    if family == CAUSAL:
        assert made.prompt.n_shared == 1 + len(TOKENIZER.encode(FRONT))


def test_where_tokens_merge_otherwise_at_the_seam_less_is_kept() -> None:
    """The front part ends within a character: what is left of it reads as more tokens than it was."""
    query = "é" * 40
    ids = TOKENIZER.encode(query)
    assert len(ids) == 80
    for room in range(4, 9):
        made = _made(query, 1 + 5 + N_TEMPLATE + room)
        kept = TOKENIZER.decode(list(made.prompt.tokens[1:]))
        assert kept.startswith(FRONT)
        assert kept.endswith(" body")
        longest = max(
            n for n in range(1, room + 1) if len(_encoded(TOKENIZER.decode(ids[:n]))) <= N_TEMPLATE + room
        )
        assert made.prompt.tokens == (BEGIN, *_encoded(TOKENIZER.decode(ids[:longest])))
        assert longest < room or room % 2 == 0
        assert made.limit == room


@pytest.mark.parametrize("short", [0, 1, 10])
def test_a_template_that_leaves_no_room_is_refused(short: int) -> None:
    with pytest.raises(ModelError) as told:
        _made("whale", 1 + 5 + N_TEMPLATE - short)
    assert str(told.value) == (
        f"the prompt template leaves no room for a query in {N_TEMPLATE - short} tokens; shorten it"
    )


def test_at_least_one_token_is_left_to_be_read() -> None:
    made = generator(TOKENIZER, StubModel(TOKENIZER.n_vocabulary))
    alone = make_prompt(made, "{query}", "", 5)
    assert (alone.prompt.tokens, alone.prompt.n_shared) == ((BEGIN,), 0)
    whole = make_prompt(made, FRONT + "{query}", "", 5)
    assert whole.prompt.n_shared == len(whole.prompt.tokens) - 1


def test_room_is_that_of_the_longest_key() -> None:
    """Of the query's n-grams, up to 15 tokens, which follow the body's prompt alone."""
    config = DecodeConfig(body_steps=4, title_steps=6, query_words=0, fields=FURTHER[:1], field_steps=3)
    assert [room_for(kind, config) for kind in (BODY, TITLE, FURTHER[0])] == [4, 6, 3]
    assert room_for(BODY, replace(config, query_words=1)) == 15
    assert room_for(TITLE, replace(config, query_words=1)) == 6
    assert room_for(BODY, replace(config, query_words=1, body_steps=20)) == 20


def test_of_several_limits_the_lowest_counts() -> None:
    cut: dict[int, int] = {}
    for place, limit in [(0, None), (2, 30), (2, 20), (2, 25), (5, 40), (5, None)]:
        note_cut(cut, place, limit)
    assert cut == {2: 20, 5: 40}


def test_other_things_than_topics_can_be_counted() -> None:
    cut = CutQueries("lines", "questions")
    cut.add(["7", "9"], {1: 30})
    assert cut.sentence() == "1 of 2 questions were longer than 30 tokens and were cut: lines 9"
    nameless = CutQueries("")
    nameless.add(["7", "9"], {1: 30})
    assert nameless.sentence() == "1 of 2 queries were longer than 30 tokens and were cut"


@pytest.mark.parametrize(("n", "more"), [(10, ""), (11, ", ...")])
def test_ten_are_named_in_the_order_of_their_places(n: int, more: str) -> None:
    cut = CutQueries()
    cut.add([f"t{i}" for i in range(12)], dict.fromkeys(reversed(range(n)), 9))
    names = ", ".join(f"t{i}" for i in range(10))
    told = f"{n} of 12 queries were longer than 9 tokens and were cut: topics {names}{more}"
    assert cut.sentence() == told


def test_the_sentence_counts_over_batches_and_names_ten_at_most() -> None:
    cut = CutQueries()
    assert cut.sentence() == ""
    cut.add(["1", "2", "3"], {})
    assert cut.sentence() == ""
    cut.add(["4", "5"], {1: 512, 0: 500})
    assert cut.sentence() == "2 of 5 queries were longer than 500 tokens and were cut: topics 4, 5"
    cut.add([f"t{i}" for i in range(20)], dict.fromkeys(range(20), 512))
    named = ", ".join(["4", "5", *(f"t{i}" for i in range(8))])
    assert cut.sentence() == f"22 of 25 queries were longer than 500 tokens and were cut: topics {named}, ..."


def test_queries_without_names_are_told_by_position() -> None:
    assert cut_sentence({0: 7, 2: 7}, None, 3).endswith(
        "2 of 3 queries were longer than 7 tokens and were cut: positions 0, 2"
    )
    assert cut_sentence({0: 7}, None, 1) == "1 of 1 queries were longer than 7 tokens and were cut"
    assert cut_sentence({}, ["a"], 1) == ""
    told = "1 of 2 queries were longer than 7 tokens and were cut"
    assert cut_sentence({1: 7}, ["a", "b"], 2) == f"{told}: topics b"
    assert cut_sentence({1: 7}, None, 2) == f"{told}: positions 1"
