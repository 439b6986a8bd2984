"""The prompt reader: what it asks, what it may answer, and where its answers stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seal_ir.arrays import Floats
from seal_ir.errors import InputError, ModelError
from seal_ir.lm.protocols import Prompt
from seal_ir.read.citing import citations
from seal_ir.read.prompt import loading
from seal_ir.read.prompt.fitting import fitted
from seal_ir.read.prompt.greedy import write
from seal_ir.read.prompt.loading import text_ends
from seal_ir.read.prompt.reader import PromptReader
from seal_ir.read.prompt.template import DEFAULT_TEMPLATE, Template, one_line
from seal_ir.read.records import Answer, Citation, Context
from tests.helpers import tiny
from tests.helpers.stub import StubModel

TOKENIZER = tiny.tokenizer()
END = 2
ENDS = (END, *TOKENIZER.encode("\n"))
PLAIN = Template(head="Read.\n", passage="Passage: {passage}\n", question="Question: {question}\nAnswer:")
CONTEXTS = [Context(document.id, document.title, document.text) for document in tiny.DOCUMENTS]
PASSAGES = st.lists(st.sampled_from(CONTEXTS), max_size=3)


def reader(seed: int = 0, *, quote: bool = False, max_tokens: int = 2048) -> PromptReader:
    model = StubModel(TOKENIZER.n_vocabulary, seed, max_tokens=max_tokens)
    return PromptReader(model, TOKENIZER, ENDS, PLAIN, quote=quote, max_answer_tokens=12)


def text_of(prompt: Prompt) -> str:
    return TOKENIZER.decode(prompt.tokens[len(TOKENIZER.affixes[0]) :])


# prompts


def test_the_best_passage_stands_next_to_the_question() -> None:
    found = fitted(PLAIN, TOKENIZER, "who {passage}", CONTEXTS[:2], 1000)
    assert text_of(found) == (
        f"Read.\nPassage: London: {tiny.SENTENCES[1]}\nPassage: Paris: {tiny.SENTENCES[0]}\n"
        "Question: who {passage}\nAnswer:"
    )
    assert found.tokens[: found.n_shared] == (*TOKENIZER.affixes[0], *TOKENIZER.encode("Read.\n"))


def test_titles_and_line_breaks_in_a_passage() -> None:
    assert one_line(Context("a", "", "one\ntwo ")) == "one two"
    assert one_line(Context("a", "T \n", "one")) == "T: one"


@pytest.mark.parametrize("room", range(60, 420, 25))
def test_as_many_passages_as_fit_and_not_one_more(room: int) -> None:
    found = fitted(PLAIN, TOKENIZER, "who", CONTEXTS, room)
    assert len(found.tokens) <= room
    n = text_of(found).count("Passage: ")
    if n < len(CONTEXTS):
        assert len(fitted(PLAIN, TOKENIZER, "who", CONTEXTS[: n + 1], 1000).tokens) > room
    if n > 1:
        assert found == fitted(PLAIN, TOKENIZER, "who", CONTEXTS[:n], 1000)


def test_of_a_first_passage_that_does_not_fit_as_many_words_as_do() -> None:
    long = Context("long", "", " ".join(tiny.SENTENCES))
    found = fitted(PLAIN, TOKENIZER, "who", [long, CONTEXTS[0]], 70)
    (passage,) = [line for line in text_of(found).split("\n") if line.startswith("Passage: ")]
    kept = passage.removeprefix("Passage: ")
    assert kept
    assert f"{long.text} ".startswith(f"{kept} ")
    longer = long.text[: long.text.find(" ", len(kept) + 1)]
    assert len(fitted(PLAIN, TOKENIZER, "who", [replace(long, text=longer)], 1000).tokens) > 70


def test_a_question_that_does_not_fit_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^question 'what .*\.\.\. takes \d+ tokens .* room for 40; shorten"
    ):
        fitted(PLAIN, TOKENIZER, "what " * 100, CONTEXTS, 40)


def test_the_default_template_ends_where_an_answer_begins() -> None:
    filled = DEFAULT_TEMPLATE.filled("who", ["A: b"])
    assert filled.startswith(DEFAULT_TEMPLATE.head)
    assert filled.endswith("Passage: A: b\nQuestion: who\nAnswer:")


# writing


def not_yet(tokens: Sequence[int]) -> bool:
    return not tokens


def test_the_likeliest_token_each_time_as_far_as_an_end() -> None:
    model = StubModel(TOKENIZER.n_vocabulary, levels=40)
    prompts = [Prompt(tuple(TOKENIZER.encode(sentence))) for sentence in tiny.SENTENCES]
    found = write(model, prompts, range(0, TOKENIZER.n_vocabulary, 9), 15, [None] * 5, not_yet, ["?"] * 5)
    ends = set(range(0, TOKENIZER.n_vocabulary, 9))
    assert len({len(text) for text in found}) > 1  # some end before others
    for prompt, text in zip(prompts, found, strict=True):
        for at, token in enumerate(text):
            scores = model.following(prompt.tokens, text[:at]).copy()
            if at == 0:
                scores[list(ends)] = -np.inf
            assert int(scores.argmax()) == token
        assert 1 <= len(text) <= 15
        if len(text) < 15:
            assert int(model.following(prompt.tokens, text).argmax()) in ends


class _Broken(StubModel):
    def following(self, prompt: tuple[int, ...], written: Sequence[int]) -> Floats:
        return np.full(self.n_vocabulary, np.nan, dtype=np.float32)


def test_probabilities_that_are_no_numbers_are_refused() -> None:
    model = _Broken(TOKENIZER.n_vocabulary)
    with pytest.raises(ModelError, match="^question 'who': token 1 of its answer: .* not numbers"):
        write(model, [Prompt((5,))], ENDS, 5, [None], not_yet, ["who"])


# loading


@pytest.mark.parametrize(
    ("generation", "own", "eos"), [(None, 2, {2}), ([2, 7], 3, {2, 7}), (None, None, set())]
)
def test_answers_end_where_the_model_ends_texts_and_at_line_breaks(
    generation: object, own: object, eos: set[int]
) -> None:
    network = SimpleNamespace(
        generation_config=SimpleNamespace(eos_token_id=generation), config=SimpleNamespace(eos_token_id=own)
    )
    ends = set(text_ends(network, TOKENIZER))
    assert ends == eos | {*TOKENIZER.encode("\n"), *TOKENIZER.encode("\r")}


def test_an_encoder_decoder_model_is_refused(monkeypatch: pytest.MonkeyPatch, llama: Path) -> None:
    network = SimpleNamespace(config=SimpleNamespace(is_encoder_decoder=True))
    network.to = lambda place: network
    monkeypatch.setattr(loading, "load_network", lambda files, dtype: network)
    with pytest.raises(ModelError, match="is an encoder-decoder model; the prompt reader needs a causal one"):
        loading.load_prompt_reader(str(llama))


# reading


def test_answers_do_not_depend_on_what_is_read_together() -> None:
    questions, contexts = ["who", "where", "when"], [CONTEXTS[:2], CONTEXTS[2:3], []]
    together = reader().read(questions, contexts)
    alone = [reader().read([q], [c])[0] for q, c in zip(questions, contexts, strict=True)]
    assert together == alone
    assert all(answer.text for answer in together)
    assert reader().read([], []) == []


def test_an_answer_that_is_cut_ends_with_a_whole_character() -> None:
    accents = Context("a", "", "x" + "\u00e9" * 30)  # two tokens each
    endless = StubModel(TOKENIZER.n_vocabulary, banned=ENDS)
    for n_tokens in range(2, 8):
        bound = replace(reader(quote=True), model=endless, max_answer_tokens=n_tokens)
        (answer,) = bound.read(["who"], [[accents]])
        assert set(answer.text) <= {"x", "\u00e9"}
        assert bool(answer.citations) == bool(answer.text)


@given(st.integers(0, 1000), st.lists(PASSAGES, min_size=1, max_size=3))
@settings(max_examples=20)
def test_a_bound_answer_stands_in_a_passage_of_its_own(seed: int, contexts: list[list[Context]]) -> None:
    questions = [f"question {i}" for i in range(len(contexts))]
    for answer, each in zip(reader(seed, quote=True).read(questions, contexts), contexts, strict=True):
        assert bool(answer.text) == bool(each)
        assert bool(answer.citations) == bool(each)
        for citation in answer.citations:
            (contents,) = {context.contents for context in each if context.docid == citation.docid}
            assert contents[citation.start : citation.end] == citation.text == answer.text


def test_free_answers_of_the_same_model_are_no_quotations() -> None:
    """What binds them is the index: the property above is not one of the model."""
    answers = [reader(seed).read(["who"], [CONTEXTS])[0] for seed in range(5)]
    assert not any(answer.citations for answer in answers)


def test_passages_without_a_letter_leave_nothing_to_quote() -> None:
    assert reader(quote=True).read(["who"], [[Context("a", "", " ")]]) == [Answer("")]


def test_a_bound_reader_needs_passages_only_where_it_reads() -> None:
    found = reader(quote=True).read(["who", "where"], [[], CONTEXTS[:1]])
    assert found[0] == Answer("")
    assert found[1].citations


# citations


def test_places_are_characters_of_the_contents_in_the_order_of_the_passages() -> None:
    found = citations("London", [CONTEXTS[0], CONTEXTS[1]])
    assert found == (Citation("d2", 0, 6, "London"), Citation("d2", 36, 42, "London"))
    assert CONTEXTS[1].contents[36:42] == "London"


@pytest.mark.parametrize(
    ("answer", "places"),
    [
        ("sea", [(11, 14)]),  # and not within seaside
        ("seas", [(0, 4)]),  # within a word, as it is nowhere else
        ("e. sea", [(8, 14)]),
        ("Sea", []),
        ("", []),
    ],
)
def test_whole_words_come_before_parts_of_words(answer: str, places: list[tuple[int, int]]) -> None:
    found = citations(answer, [Context("a", "seaside", "e. sea")])
    assert [(citation.start, citation.end) for citation in found] == places


def test_no_more_places_than_asked_for() -> None:
    assert len(citations("a", [Context("x", "", "a " * 50)], most=3)) == 3
    assert len(citations("a", [Context("x", "", "a " * 50)])) == 10
