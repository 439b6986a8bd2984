"""From pairs and documents to training examples: a source text and what the model is to write for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seal_ir.errors import UsageError
from seal_ir.records import BODY, TITLE, Document
from seal_ir.train.pairs import UNSUPERVISED, Pair
from seal_ir.train.spans import biased_spans, uniform_starts, words_of


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
        lower: share of the documents' sources that are lower-cased.
    """

    spans: int = 10
    span_words: int = 10
    temperature: float = 1.0
    titles: int = 3
    document_spans: int = 3
    lower: float = 0.1

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        for name, least in (
            ("spans", 0),
            ("span_words", 1),
            ("titles", 0),
            ("document_spans", 0),
            ("lower", 0),
        ):
            if not getattr(self, name) >= least:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if not self.temperature > 0:
            raise UsageError(f"temperature is {self.temperature}; it must be above 0")


def pair_examples(pair: Pair, options: ExampleOptions, rng: np.random.Generator) -> list[Example]:
    """Spans biased by their overlap with the question, then the title; without a title, none."""
    spans = biased_spans(
        pair.question, pair.text, options.spans, options.span_words, options.temperature, rng
    )
    examples = [Example(pair.question, span, BODY, pair.kind) for span in spans]
    title = pair.title.strip()
    return examples + [Example(pair.question, title, TITLE, pair.kind)] * (options.titles if title else 0)


def document_examples(document: Document, options: ExampleOptions, rng: np.random.Generator) -> list[Example]:
    """Span -> another span, span -> title, whole text -> title; without what it lacks."""
    words, title = words_of(document.text), document.title.strip()
    if not words.keys:
        return []
    made: list[tuple[str, str, str]] = []
    for _ in range(options.document_spans):
        starts = uniform_starts(words, 2, options.span_words, rng)
        if len(starts) == 2:
            source, target = (words.span(start, options.span_words) for start in starts)
            made.append((source, target, BODY))
    if title:
        start = uniform_starts(words, 1, options.span_words, rng)[0]
        made.append((words.span(start, options.span_words), title, TITLE))
        made.append((document.text.strip(), title, TITLE))
    lowered = rng.random(len(made)) < options.lower
    return [
        Example(source.lower() if lower else source, target, field, UNSUPERVISED)
        for (source, target, field), lower in zip(made, lowered, strict=True)
    ]
