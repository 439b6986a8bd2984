"""From pairs and documents to training examples: a source text and what the model is to write for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.errors import UsageError
from seal_ir.formats.topics.questions import question_words
from seal_ir.records import BODY, TITLE, Document
from seal_ir.text.description import QUESTION, passage_source
from seal_ir.train.data.pairs import UNSUPERVISED, Pair
from seal_ir.train.data.spans import Words, biased_spans, uniform_starts, words_of


class Example(NamedTuple):
    """One row of a training set; which prompt the source goes into follows from field and kind."""

    source: str
    target: str
    field: str
    kind: str


@dataclass(frozen=True, slots=True)
class ExampleOptions:
    """How many examples, and how (defaults: the paper's section 4.2 with the published preprocessing).

    Attributes:
        spans: body spans of each question and gold passage, drawn with replacement.
        span_words: their length in words.
        temperature: of the softmax over character overlap, in characters.
        titles: how often the title of the gold passage stands beside its spans.
        document_spans: span -> span examples of each document of the collection.
        document_titles: span -> title examples of each document; with any, its whole text has one too.
        values: value examples of each further field of the gold passage: so many different values, or all
            over again where there are fewer.
        questions: how often the passage has its question as target, for a question generator.
        lower: share of the documents' sources that are lower-cased.
    """

    spans: int = 10
    span_words: int = 10
    temperature: float = 1.0
    titles: int = 3
    document_spans: int = 3
    document_titles: int = 1
    values: int = 3
    questions: int = 0
    lower: float = 0.1

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, spans=0, span_words=1, titles=0)
        check_least(self, document_spans=0, document_titles=0, values=0, questions=0, lower=0.0)
        if not self.temperature > 0:
            raise UsageError(f"temperature is {self.temperature}; it must be above 0")


def pair_examples(pair: Pair, options: ExampleOptions, rng: np.random.Generator) -> list[Example]:
    """Spans biased by their overlap with the question, the title, values of further fields; what there is.

    For question generators also the question itself, of the passage.
    """
    spans: list[str] = []
    if options.spans:
        spans = biased_spans(
            pair.question, pair.text, options.spans, options.span_words, options.temperature, rng
        )
    examples = [Example(pair.question, span, BODY, pair.kind) for span in spans]
    title = pair.title.strip()
    examples += [Example(pair.question, title, TITLE, pair.kind)] * (options.titles if title else 0)
    if pair.further:  # drawn last: other examples are the same with and without
        examples += _pair_values(pair, options, rng)
    source = passage_source(pair.title, pair.text)
    return [*examples, *[Example(source, pair.question, QUESTION, pair.kind)] * options.questions]


def document_examples(document: Document, options: ExampleOptions, rng: np.random.Generator) -> list[Example]:
    """Span -> another span; span and whole text -> title, and -> a value of each further field.

    Without what the document lacks.
    """
    words, title = words_of(document.text), document.title.strip()
    if not words.keys:
        return []
    made: list[tuple[str, str, str]] = []
    for _ in range(options.document_spans):
        starts = uniform_starts(words, 2, options.span_words, rng)
        if len(starts) == 2:
            source, target = (words.span(start, options.span_words) for start in starts)
            made.append((source, target, BODY))
    if title and options.document_titles:
        starts = uniform_starts(words, options.document_titles, options.span_words, rng)
        made += [(words.span(start, options.span_words), title, TITLE) for start in starts]
        made.append((document.text.strip(), title, TITLE))
    examples = _lowered(made, options, rng)
    if document.further:  # drawn last, as above
        examples += _lowered(_document_values(document, words, options, rng), options, rng)
    return examples


def _pair_values(pair: Pair, options: ExampleOptions, rng: np.random.Generator) -> list[Example]:
    """Question -> value; the question itself is no target, which would teach to copy it."""
    question = question_words(pair.question)
    further = [(field, value) for field, value in pair.further if question_words(value) != question]
    return [
        Example(pair.question, value, field, pair.kind)
        for field, values in _by_field(further).items()
        for value in _drawn(values, options.values, rng)
    ]


def _document_values(
    document: Document, words: Words, options: ExampleOptions, rng: np.random.Generator
) -> list[tuple[str, str, str]]:
    """Of each field a value for a span and one, another where there is one, for the whole text."""
    made = []
    for field, values in _by_field(document.further).items():
        of_span, of_text = _drawn(values, 2, rng)
        start = uniform_starts(words, 1, options.span_words, rng)[0]
        made.append((words.span(start, options.span_words), of_span, field))
        made.append((document.text.strip(), of_text, field))
    return made


def _by_field(further: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The different values of each field, in order."""
    found: dict[str, list[str]] = {}
    for field, value in dict.fromkeys(further):
        found.setdefault(field, []).append(value)
    return found


def _drawn(values: list[str], n: int, rng: np.random.Generator) -> list[str]:
    """N values drawn without replacement; where there are fewer, all of them as often as it takes."""
    if len(values) == 1:
        return values * n
    order = rng.choice(len(values), size=min(n, len(values)), replace=False)
    return [values[order[i % len(order)]] for i in range(n)]


def _lowered(
    made: list[tuple[str, str, str]], options: ExampleOptions, rng: np.random.Generator
) -> list[Example]:
    """Unsupervised examples of source, target and field, some with a lower-cased source."""
    lowered = rng.random(len(made)) < options.lower
    return [
        Example(source.lower() if lower else source, target, field, UNSUPERVISED)
        for (source, target, field), lower in zip(made, lowered, strict=True)
    ]
