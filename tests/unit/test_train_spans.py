"""Spans and examples: what the sampling promises, against definitions written out, with fixed seeds."""

from __future__ import annotations

import re

import numpy as np
import pytest

from seal_ir.errors import UsageError
from seal_ir.records import BODY, TITLE, Document
from seal_ir.train.data.examples import ExampleOptions, document_examples, pair_examples
from seal_ir.train.data.pairs import SUPERVISED, UNSUPERVISED, Pair
from seal_ir.train.data.spans import (
    STOP_WORDS,
    biased_spans,
    overlap_probabilities,
    overlaps,
    uniform_starts,
    words_of,
)

QUESTION = "who composed the opera about a barber in Seville?"
PASSAGE = (
    "Il barbiere di Siviglia, in English The Barber of Seville, is an opera buffa in two acts composed by\n"
    "Gioachino Rossini  with a libretto by Cesare Sterbini. The premiere took place in Rome in 1816 and was"
    " a failure, but the second performance was met with success by the audience of the theatre."
)
OPTIONS = ExampleOptions()


def drawn(n: int, temperature: float = 1.0, question: str = QUESTION) -> list[str]:
    return biased_spans(question, PASSAGE, n, 10, temperature, np.random.default_rng(0))


def shared(a: str, b: str) -> int:
    """Characters that two words share, by the definition."""
    if not a or a in STOP_WORDS or b in STOP_WORDS:
        return 0
    common = 0
    while common < min(len(a), len(b)) and a[common] == b[common]:
        common += 1
    return common if a == b or common >= 4 else 0


def test_overlaps_follow_their_definition() -> None:
    question, passage = words_of(QUESTION), words_of(PASSAGE)
    scores = overlaps(question, passage)
    assert len(scores) == len(passage.keys)
    for i, key in enumerate(passage.keys):
        if key in STOP_WORDS:
            assert scores[i] == -np.inf
            continue
        best = max(
            sum(
                max(shared(mine, theirs) for theirs in question.keys[j : j + 3])
                for mine in passage.keys[i : i + 3]
            )
            for j in range(len(question.keys))
        )
        assert scores[i] == best
    first = passage.keys.index("barber")
    assert scores[first] == len("barber") + len("seville")


def test_forms_of_a_word_share_their_beginning() -> None:
    assert overlaps(words_of("months"), words_of("a month ago")).tolist() == [-np.inf, 5, 0]
    assert overlaps(words_of("car"), words_of("cart care")).max() == 0


def test_spans_are_ten_words_of_the_passage() -> None:
    spans = drawn(200, temperature=20)
    assert len(spans) == 200
    assert len(set(spans)) > 10
    for span in spans:
        assert span in PASSAGE
        assert len(span.split()) == 10


def test_a_short_passage_is_its_own_span() -> None:
    rng = np.random.default_rng(0)
    assert set(biased_spans("which barber", "The barber of Seville", 3, 10, 1.0, rng)) == {
        "The barber of Seville"
    }
    assert biased_spans("which barber", " \n ", 3, 10, 1.0, rng) == []


def test_without_any_match_the_start_once() -> None:
    assert drawn(10, question="how tall is the Matterhorn") == [" ".join(PASSAGE.split()[:10])]
    assert drawn(10, question="who is it") == [" ".join(PASSAGE.split()[:10])]


@pytest.mark.parametrize("temperature", [1.0, 4.0, 20.0])
def test_starts_are_drawn_by_the_softmax_of_overlaps(temperature: float) -> None:
    """Chi-square of 5,000 draws against the softmax written out; its 99.9 % point is below 2 df + 20."""
    words = words_of(PASSAGE)
    scores = overlaps(words_of(QUESTION), words)
    expected = np.exp(scores / temperature) / np.exp(scores / temperature).sum()
    assert overlap_probabilities(scores, temperature) == pytest.approx(expected)
    n = 5000
    last = len(words.keys) - 10
    by_span: dict[str, float] = {}
    for i, probability in enumerate(expected):
        span = words.span(min(i, last), 10)
        by_span[span] = by_span.get(span, 0.0) + probability
    spans = drawn(n, temperature)
    assert set(spans) <= {span for span, probability in by_span.items() if probability > 0}
    tested = {span: p for span, p in by_span.items() if n * p >= 5}
    chi_square = sum((spans.count(span) - n * p) ** 2 / (n * p) for span, p in tested.items())
    assert len(tested) >= 2
    assert chi_square < 2 * len(tested) + 20


def test_spans_overlap_the_question_more_than_uniform_ones() -> None:
    words, question = words_of(PASSAGE), set(words_of(QUESTION).keys) - STOP_WORDS
    rng = np.random.default_rng(0)
    uniform = [words.span(uniform_starts(words, 1, 10, rng)[0], 10) for _ in range(500)]

    def mean(spans: list[str]) -> float:
        return float(np.mean([len(question & set(words_of(span).keys)) for span in spans]))

    assert mean(drawn(500)) > 2 * mean(uniform)


def test_uniform_starts_are_uniform_and_differ() -> None:
    words, rng = words_of(PASSAGE), np.random.default_rng(0)
    places = len(words.keys) - 9
    starts = [uniform_starts(words, 2, 10, rng) for _ in range(4000)]
    assert all(a != b for a, b in starts)
    counts = np.bincount([start for pair in starts for start in pair], minlength=places)
    assert len(counts) == places
    expected = 8000 / places
    assert ((counts - expected) ** 2 / expected).sum() < 2 * places
    assert uniform_starts(words_of("three words here"), 2, 10, rng) == [0]


def test_a_pair_gives_ten_spans_and_its_title_three_times() -> None:
    examples = pair_examples(Pair(QUESTION, " The Barber of Seville ", PASSAGE, SUPERVISED), OPTIONS, rng())
    assert [example.field for example in examples] == [BODY] * 10 + [TITLE] * 3
    assert {example.source for example in examples} == {QUESTION}
    assert {example.kind for example in examples} == {SUPERVISED}
    assert {example.target for example in examples[10:]} == {"The Barber of Seville"}
    untitled = pair_examples(Pair(QUESTION, "", PASSAGE, SUPERVISED), OPTIONS, rng())
    assert [example.field for example in untitled] == [BODY] * 10


def test_a_document_gives_spans_and_titles() -> None:
    examples = document_examples(Document("d", "Barber", PASSAGE), ExampleOptions(lower=0), rng())
    assert [example.field for example in examples] == [BODY, BODY, BODY, TITLE, TITLE]
    assert {example.kind for example in examples} == {UNSUPERVISED}
    for example in examples[:3]:
        assert example.source in PASSAGE
        assert example.target in PASSAGE
        assert example.source != example.target
    assert examples[3].source in PASSAGE
    assert len(examples[3].source.split()) == 10
    assert examples[4].source == PASSAGE
    assert {example.target for example in examples[3:]} == {"Barber"}
    assert document_examples(Document("d", "Barber", "\n"), OPTIONS, rng()) == []
    assert len(document_examples(Document("d", "", PASSAGE), OPTIONS, rng())) == 3


def test_a_tenth_of_the_sources_is_lower_cased() -> None:
    shouted = re.sub(r"[a-z]", "X", PASSAGE)
    generator = rng()
    sources = [
        example.source
        for _ in range(400)
        for example in document_examples(Document("d", "T", shouted), OPTIONS, generator)
    ]
    assert len(sources) == 2000
    share = sum(source == source.lower() for source in sources) / len(sources)
    assert 0.08 < share < 0.12


@pytest.mark.parametrize("values", [{"spans": -1}, {"span_words": 0}, {"temperature": 0.0}, {"titles": -1}])
def test_options_that_mean_nothing_are_refused(values: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=next(iter(values))):
        ExampleOptions(**values)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)
