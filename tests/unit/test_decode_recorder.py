"""A recorded decoding against a scan of the text and the model's own table, number by number."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from seal_ir.config import DecodeConfig
from seal_ir.decode import recorder as recording
from seal_ir.decode.beam import decode
from seal_ir.decode.recorder import Continuation, Decoding, Hypothesis, Recorder, Step, Wanted, Written
from seal_ir.lm.protocols import Generator
from seal_ir.records import BODY, TITLE
from seal_ir.text.symbols import FIRST_TOKEN, TITLE_END
from tests.helpers import oracle
from tests.helpers.streams import SCAN, StreamIndex
from tests.helpers.stub import StubModel, generator, prompt_tokens, word_tokenizer

WORDS = ("a", "b", "c", "d", "e", "f", "g")
TOKENIZER = word_tokenizer([*WORDS, "end", *(f"other{i}" for i in range(40))])
A, B, C, D, E, F, G = range(FIRST_TOKEN, FIRST_TOKEN + 7)
END = 7  # the token that ends a title
STREAMS = [
    [1, A, B, 2, C, D, E, A, B, C],
    [1, A, 2, C, D, A, B, D],
    [1, B, A, 2, D, E, D, C, G],
    [1, 2, F, A, C, D, E],
]
CONFIG = DecodeConfig(beam=2, body_steps=4, title_steps=4, query_words=2, unigrams=0)


def _index(n_segments: int = 1) -> StreamIndex:
    return StreamIndex(STREAMS, n_segments, tokenizer=TOKENIZER, engine=SCAN)


def _recorded(model: StubModel, n_segments: int = 1) -> tuple[Generator, Decoding]:
    made, index = generator(TOKENIZER, model, title_end=END), _index(n_segments)
    recorder = Recorder(index, END)
    decode(made, index, ["a b"], CONFIG, recorder=recorder)
    return made, recorder.decoding()


def _words(text: str) -> list[int]:
    return [WORDS.index(word) for word in text.split()]


def _ngram(kind: str, text: str) -> tuple[int, ...]:
    symbols = tuple(token + FIRST_TOKEN for token in _words(text))
    return (1, *symbols) if kind == TITLE else symbols


def _following(kind: str, text: str, n_vocabulary: int) -> dict[int, tuple[int, int]]:
    """What the index allows: symbol and count of the n-gram that each token makes."""
    ngram = _ngram(kind, text)
    if ngram:
        found = oracle.successors(STREAMS, ngram)
    else:
        found = {s: oracle.count(STREAMS, (s,)) for stream in STREAMS for s in stream}
    allowed = {s - FIRST_TOKEN: (s, n) for s, n in found.items() if s >= FIRST_TOKEN}
    if kind == TITLE and text and TITLE_END in found:
        allowed[END] = (TITLE_END, found[TITLE_END])
    return {token: pair for token, pair in allowed.items() if token < n_vocabulary}


def _best(logprobs: np.ndarray, allowed: set[int], among: Iterator[int]) -> tuple[Wanted, ...]:
    tokens = sorted(among, key=lambda token: (-logprobs[token], token))[:5]
    return tuple(
        Wanted(TOKENIZER.decode([token]), float(logprobs[token]), token in allowed)
        for token in tokens
        if math.isfinite(logprobs[token])
    )


def _expected(made: Generator, kind: str, item: Hypothesis, n_segments: int) -> Hypothesis:
    """What is to be recorded of an n-gram, its ids aside."""
    model = made.model
    assert isinstance(model, StubModel)
    prompt = prompt_tokens(made, made.description.prompt(kind), "a b")
    logprobs = model.following(prompt, _words(item.text))
    allowed = _following(kind, item.text, model.n_vocabulary)
    ngram = _ngram(kind, item.text)
    return Hypothesis(
        item.id,
        item.parent,
        item.text,
        pytest.approx(model.forced(prompt, _words(item.text))),
        oracle.count(STREAMS, ngram) if ngram else sum(map(len, STREAMS)) + n_segments,
        len(allowed),
        pytest.approx(sum(math.exp(logprobs[token]) for token in allowed), rel=1e-6),
        _best(logprobs, set(allowed), iter(range(model.n_vocabulary))),
        _best(logprobs, set(allowed), iter(set(range(model.n_vocabulary)) - set(allowed))),
    )


def _continued(made: Generator, kind: str, step: Step, after: Step | None) -> list[Continuation]:
    """The best that follow a step's n-grams, best first."""
    going = {(item.parent, item.text): item.id for item in (after.hypotheses if after else ())}
    model = made.model
    assert isinstance(model, StubModel)
    prompt = prompt_tokens(made, made.description.prompt(kind), "a b")
    found: list[tuple[tuple[float, int, int], Continuation]] = []
    for at, item in enumerate(step.hypotheses):
        logprobs = model.following(prompt, _words(item.text))
        for token, (symbol, count) in _following(kind, item.text, len(logprobs)).items():
            ends = symbol == TITLE_END
            text = "" if ends else TOKENIZER.decode([token])
            number = None if ends else going.get((item.id, f"{item.text} {text}".strip()))
            logprob = item.logprob + float(logprobs[token])
            if math.isfinite(logprob):
                told = Continuation(item.id, text, pytest.approx(logprob), count, ends, number)
                found.append(((-logprob, symbol, at), told))
    return [item for _, item in sorted(found, key=lambda pair: pair[0])][: 2 * CONFIG.beam]


@pytest.mark.parametrize("n_segments", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        StubModel(9, seed=3),
        StubModel(9, seed=5, banned=[2]),
        *(StubModel(5, seed=seed) for seed in range(4)),
        StubModel(48, seed=11),
        StubModel(48, seed=1, levels=4),
    ],
    ids=["few", "banned", *(f"small{seed}" for seed in range(4)), "many", "ties"],
)
def test_every_number_is_that_of_the_text_and_the_model(model: StubModel, n_segments: int) -> None:
    made, found = _recorded(model, n_segments=n_segments)
    assert [kind for kind, _ in found.kinds] == [BODY, TITLE]
    assert not found.truncated
    n_ended = 0
    for kind, steps in found.kinds:
        assert [step.number for step in steps] == list(range(1, 1 + len(steps)))
        for step, after in zip(steps, [*steps[1:], None], strict=True):
            for item in step.hypotheses:
                assert item == _expected(made, kind, item, n_segments)
                assert item.allowed_mass <= 1.0, "whatever float32 adds up to"
            assert list(step.continuations) == _continued(made, kind, step, after)
            n_ended += sum(item.ends for item in step.continuations)
            if after:
                assert {item.parent for item in after.hypotheses} <= {item.id for item in step.hypotheses}
                assert len(after.hypotheses) <= CONFIG.beam
    assert n_ended or model.n_vocabulary < END


def test_ids_are_in_the_order_of_steps() -> None:
    """Of both kinds together, as they are decoded; the first step's are those in which nothing is written."""
    _, found = _recorded(StubModel(9, seed=3))
    first = [steps[0].hypotheses for _, steps in found.kinds]
    assert [[(item.id, item.parent, item.text) for item in items] for items in first] == [
        [(0, None, "")],
        [(1, None, "")],
    ]
    n_steps = max(len(steps) for _, steps in found.kinds)
    in_order = [
        item.id
        for at in range(n_steps)
        for _, steps in found.kinds
        for item in (steps[at].hypotheses if at < len(steps) else ())
    ]
    assert in_order == list(range(len(in_order)))


@pytest.mark.parametrize("most", [1, 2, 5])
def test_what_is_beyond_the_bound_is_left_out_and_said_to_be(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    _, whole = _recorded(StubModel(9, seed=3))
    monkeypatch.setattr(recording, "MOST_HYPOTHESES", most)
    _, cut = _recorded(StubModel(9, seed=3))
    assert cut.truncated
    n = sum(len(step.hypotheses) for _, steps in cut.kinds for step in steps)
    assert n == {1: 0, 2: 2, 5: 2}[most], "steps are whole or not there at all"
    for (kind, some), (its, steps) in zip(cut.kinds, whole.kinds, strict=False):
        assert (kind, some) == (its, steps[: len(some)])


def test_a_single_beam_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_HYPOTHESES", 2)
    made, index = generator(TOKENIZER, StubModel(9, seed=3), title_end=END), _index()
    recorder = Recorder(index, END)
    config = DecodeConfig(beam=1, body_steps=4, title_steps=0, query_words=0, unigrams=0)
    decode(made, index, ["a b"], config, recorder=recorder)
    ((kind, steps),), truncated = recorder.decoding().kinds, recorder.decoding().truncated
    assert (kind, len(steps), truncated) == (BODY, 1, True)


def test_what_just_fits_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = _recorded(StubModel(9, seed=3))
    last = max(item.id for _, steps in whole.kinds for step in steps for item in step.hypotheses)
    monkeypatch.setattr(recording, "MOST_HYPOTHESES", 10 * last)
    assert _recorded(StubModel(9, seed=3))[1] == whole


def test_nothing_recorded_is_an_empty_record() -> None:
    assert Recorder(_index(), END).decoding() == Decoding((), False)


def test_a_record_as_json_has_every_value_by_its_name() -> None:
    token, other = Wanted(" a", -0.5, True), Wanted(" b", -1.5, False)
    hypothesis = Hypothesis(3, None, "x", -1.0, 7, 2, 0.75, (token, other), (other,))
    continuation = Continuation(3, "a", -1.5, 4, True, None)
    decoding = Decoding((Written(BODY, (Step(1, (hypothesis,), (continuation,)),)), Written(TITLE, ())), True)
    plain = {"text": " b", "logprob": -1.5, "allowed": False}
    assert decoding.to_dict() == {
        "kinds": [
            {
                "kind": "body",
                "steps": [
                    {
                        "number": 1,
                        "hypotheses": [
                            {
                                "id": 3,
                                "parent": None,
                                "text": "x",
                                "logprob": -1.0,
                                "count": 7,
                                "n_allowed": 2,
                                "allowed_mass": 0.75,
                                "wanted": [{"text": " a", "logprob": -0.5, "allowed": True}, plain],
                                "refused": [plain],
                            }
                        ],
                        "continuations": [
                            {
                                "parent": 3,
                                "text": "a",
                                "logprob": -1.5,
                                "count": 4,
                                "ends": True,
                                "hypothesis": None,
                            }
                        ],
                    }
                ],
            },
            {"kind": "title", "steps": []},
        ],
        "truncated": True,
    }
