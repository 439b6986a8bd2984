"""Rescoring's parts: what is read for which key, how much of it together, and what becomes of the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from seal_ir.config import DecodeConfig
from seal_ir.decode import rescore as rescoring
from seal_ir.decode.rescore import Reading, asked_as, cut_of, readings, replaced, rescore, tokens_of
from seal_ir.errors import ModelError, UsageError
from seal_ir.lm.protocols import Generator, Prompt
from seal_ir.records import BODY, NO_UNIGRAMS, QUERY, TITLE, UNIGRAM, Key, QueryKeys, Range
from seal_ir.text.symbols import FIRST_TOKEN
from tests.helpers.stub import FURTHER, StubModel, StubSession, generator, prompt_tokens, word_tokenizer

WORDS = ("a", "b", "c", "d", "e", "end")
A, B, C, D, E = range(FIRST_TOKEN, FIRST_TOKEN + 5)
TITLE_END_TOKEN = 5
DOCID = FURTHER[0]
CONFIG = DecodeConfig(body_steps=3, title_steps=4, query_words=0, fields=(DOCID,), field_steps=2)


class Counted(StubModel):
    """A model that notes the prompts of each session and the rows of each step."""

    def __init__(self, *arguments: int, **named: int) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.sessions: list[int] = []

    def start(self, prompts: Sequence[Prompt]) -> StubSession:
        self.sessions.append(len(prompts))
        return super().start(prompts)


def _made(model: StubModel | None = None) -> Generator:
    return generator(word_tokenizer(WORDS), model or Counted(7, seed=1), title_end=TITLE_END_TOKEN)


def _key(*symbols: int, kind: str = BODY, logprob: float = -1.0) -> Key:
    return Key(symbols, logprob, 1, (Range(1, 2),), kind)


def _keys(*keys: Key) -> QueryKeys:
    return QueryKeys(keys, NO_UNIGRAMS)


@pytest.mark.parametrize(
    ("key", "tokens"),
    [
        (_key(A, B), (0, 1)),
        (_key(C, kind=QUERY), (2,)),
        (_key(C, kind=UNIGRAM), (2,)),
        (_key(1, A, B, 2, kind=TITLE), (0, 1, TITLE_END_TOKEN)),
        (_key(A, 2, kind=TITLE), (0, TITLE_END_TOKEN)),
        (_key(A, B, kind=TITLE), (0, 1)),
        (_key(3, E, 4, kind=DOCID), (4, TITLE_END_TOKEN)),
    ],
)
def test_a_key_is_what_the_model_writes_for_it(key: Key, tokens: tuple[int, ...]) -> None:
    assert tokens_of(_made(), key) == tokens


@pytest.mark.parametrize(
    "key",
    [
        _key(1, A),
        _key(A, 2, kind=QUERY),
        _key(1, kind=TITLE),
        _key(1, A, 2, B, 2, kind=TITLE),
        _key(1, 1, A, 2, kind=TITLE),
        _key(FIRST_TOKEN - 1),
    ],
)
def test_a_key_with_a_symbol_that_no_text_has_is_refused(key: Key) -> None:
    with pytest.raises(UsageError) as told:
        tokens_of(_made(), key)
    assert str(told.value) == (
        f"{key.symbols} cannot be rescored: a key holds no control symbol but the two of a whole field"
    )


def test_keys_are_asked_for_by_their_fields_the_querys_own_and_unigrams_by_the_bodys() -> None:
    kinds = (BODY, QUERY, UNIGRAM, TITLE, DOCID)
    assert [asked_as(_key(A, kind=kind)) for kind in kinds] == [BODY, BODY, BODY, TITLE, DOCID]


def test_each_query_is_read_once_for_each_prompt_of_its_keys() -> None:
    made = _made()
    title, other = _key(1, A, 2, kind=TITLE), _key(3, E, 4, kind=DOCID)
    found = readings(
        made, ["a", "b", "c"], [_keys(_key(A), title, _key(B), other), _keys(), _keys(_key(C))], CONFIG
    )
    plain = [(item.prompt.tokens, [tuple(one) for one in item.continuations], item.limit) for item in found]
    asked = {kind: made.description.prompt(kind) for kind in (BODY, TITLE, DOCID)}
    assert plain == [
        (prompt_tokens(made, asked[BODY], "a"), [(0, 0, (0,)), (0, 2, (1,))], None),
        (prompt_tokens(made, asked[DOCID], "a"), [(0, 3, (4, TITLE_END_TOKEN))], None),
        (prompt_tokens(made, asked[TITLE], "a"), [(0, 1, (0, TITLE_END_TOKEN))], None),
        (prompt_tokens(made, asked[BODY], "c"), [(2, 0, (2,))], None),
    ]


@pytest.mark.parametrize(("n", "limit"), [(3, 4), (4, 3), (5, 2)])
def test_room_is_kept_for_the_longest_key(n: int, limit: int) -> None:
    """Of decoding, three tokens, or of those given; what is left is the query's, beside one for `body`."""
    made = _made(StubModel(7, max_tokens=8))
    (reading,) = readings(made, ["a " * 9], [_keys(_key(A), _key(*[B] * n))], CONFIG)
    assert reading.limit == limit
    assert len(reading.prompt.tokens) == 8 - n


def test_queries_that_were_cut_are_told_with_the_lowest_limit() -> None:
    made = _made(StubModel(7, max_tokens=8))
    title = _key(1, A, 2, kind=TITLE)
    parts = readings(made, ["a", "a " * 9], [_keys(_key(A)), _keys(_key(A), title)], CONFIG)
    assert [part.limit for part in parts] == [None, 4, 3]
    assert cut_of(parts) == {1: 3}
    assert rescore(made, ["a", "a " * 9], [_keys(_key(A)), _keys(_key(A), title)], CONFIG).cut == {1: 3}


def test_as_many_queries_as_lists_of_keys_are_needed() -> None:
    with pytest.raises(UsageError, match=r"^1 queries need as many lists of keys, not 2$"):
        readings(_made(), ["a"], [_keys(), _keys()], CONFIG)


def test_new_probabilities_take_the_place_of_the_old_and_impossible_keys_go() -> None:
    found = [_keys(_key(A), _key(B), _key(C)), QueryKeys((_key(D),), NO_UNIGRAMS)]
    scores = {(0, 0): -0.5, (0, 1): -np.inf, (0, 2): -0.25, (1, 0): -2.0}
    first, second = replaced(found, scores)
    assert first.keys == (_key(A, logprob=-0.5), _key(C, logprob=-0.25))
    assert second.keys == (_key(D, logprob=-2.0),)
    assert second.unigrams is found[1].unigrams


def _ngrams(n: int) -> list[Key]:
    """Distinct ones of three tokens; neighbours begin alike."""
    return [_key(FIRST_TOKEN + i // 25, FIRST_TOKEN + i // 5 % 5, FIRST_TOKEN + i % 5) for i in range(n)]


@pytest.mark.parametrize(("at_once", "sessions"), [(7, [1, 1, 1, 2, 1]), (10, [1, 1, 2]), (1024, [2])])
def test_so_many_keys_are_read_together(
    monkeypatch: pytest.MonkeyPatch, at_once: int, sessions: list[int]
) -> None:
    """25 of one query and 5 of another: pieces fill up, whatever prompt they are of."""
    monkeypatch.setattr(rescoring, "_KEYS_AT_ONCE", at_once)
    made = _made()
    assert isinstance(made.model, Counted)
    first, second = _ngrams(25), _ngrams(5)
    found = rescore(made, ["a", "b"], [_keys(*first), _keys(*second)], CONFIG).queries
    assert made.model.sessions == sessions
    for query, keys, item in zip("ab", (first, second), found, strict=True):
        prompt = prompt_tokens(made, made.description.prompt(BODY), query)
        expected = [made.model.forced(prompt, [s - FIRST_TOKEN for s in key.symbols]) for key in keys]
        assert [key.logprob for key in item.keys] == pytest.approx(expected, abs=1e-6)


def test_common_beginnings_are_read_once() -> None:
    """25 n-grams of three tokens: after the prompt one beginning of one token, then five of two."""
    made = _made()
    rescore(made, ["a"], [_keys(*reversed(_ngrams(25)))], CONFIG)
    assert isinstance(made.model, StubModel)
    assert (made.model.n_steps, made.model.n_rows) == (2, 1 + 5)


def test_keys_that_begin_alike_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whatever order they come: five at a time share a beginning of two tokens."""
    monkeypatch.setattr(rescoring, "_KEYS_AT_ONCE", 5)
    made = _made()
    rescore(made, ["a"], [_keys(*(_ngrams(25)[i * 7 % 25] for i in range(25)))], CONFIG)
    assert isinstance(made.model, StubModel)
    assert (made.model.n_steps, made.model.n_rows) == (5 * 2, 5 * 2)


def test_a_token_that_the_model_does_not_know_is_impossible() -> None:
    keys = [_key(A, E), _key(A, B), _key(E), _key(E, A)]
    (found,) = rescore(_made(Counted(4, seed=1)), ["a"], [_keys(*keys)], CONFIG).queries
    assert [key.symbols for key in found.keys] == [(A, B)]


def test_nothing_is_read_behind_what_is_impossible() -> None:
    made = _made(Counted(7, seed=1, banned=[1]))  # type: ignore[arg-type]
    keys = [_key(B, A, C), _key(A, B, C), _key(A), _key(A, C)]
    (found,) = rescore(made, ["a"], [_keys(*keys)], CONFIG).queries
    assert [key.symbols for key in found.keys] == [(A,), (A, C)]
    assert isinstance(made.model, StubModel)
    assert (made.model.n_steps, made.model.n_rows) == (1, 1)


class Broken(StubModel):
    """A model whose probabilities after a token are no numbers."""

    def following(self, prompt: tuple[int, ...], written: Sequence[int]) -> np.ndarray:
        found = super().following(prompt, written)
        return np.full_like(found, np.nan) if list(written) == [0] else found


def test_a_model_that_breaks_is_told_with_the_query_and_the_step() -> None:
    made = _made(Broken(7, seed=1))
    keys = [_keys(_key(B)), _keys(_key(B, C), _key(A, C))]
    told = "^query 'the second': token 2 of its given keys: the model's probabilities are not numbers"
    with pytest.raises(ModelError, match=told):
        rescore(made, ["the first", "the second"], keys, CONFIG)


def test_settings_of_decoding_decide_how_much_of_a_query_is_read() -> None:
    made = _made(StubModel(7, max_tokens=20))
    for steps in (3, 10):
        (reading,) = readings(made, ["a " * 30], [_keys(_key(A))], replace(CONFIG, body_steps=steps))
        assert isinstance(reading, Reading)
        assert len(reading.prompt.tokens) == 20 - steps
