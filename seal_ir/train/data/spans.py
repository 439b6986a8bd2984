"""Spans of a passage to train on: biased by what they share with a question, or uniform."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from seal_ir.arrays import Doubles

_WORD = re.compile(r"\S+")
_EDGES = re.compile(r"^\W+|\W+$")
_WINDOW = 3  # words
_MIN_STEM = 4  # characters that two different words must begin with to count as forms of one

_STOP_WORDS = """
a about after all also an and any are as at be because been before being between both but by can could did do
does doing down during each few for from further had has have having he her here hers him his how i if in into
is it its itself just me more most my no nor not now of off on once only or other our out over own same she
should so some such than that the their them then there these they this those through to too under until up
upon us very was we were what when where which while who whom whose why will with would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


class Words(NamedTuple):
    """The words of a text: maximal runs without white space.

    Attributes:
        text: the text.
        bounds: half-open character range of each word.
        keys: each word in lower case without punctuation at its ends; `""` when nothing is left.
    """

    text: str
    bounds: tuple[tuple[int, int], ...]
    keys: tuple[str, ...]

    def span(self, first: int, n: int) -> str:
        """The text of up to n words from the first, with the white space that stands between them."""
        last = min(first + n, len(self.bounds)) - 1
        return self.text[self.bounds[first][0] : self.bounds[last][1]]


def words_of(text: str) -> Words:
    """The words of a text, in order."""
    matches = list(_WORD.finditer(text))
    keys = tuple(_EDGES.sub("", match[0].lower()) for match in matches)
    return Words(text, tuple(match.span() for match in matches), keys)


def overlaps(question: Words, passage: Words) -> Doubles:
    """Characters that the three-word window at each passage word shares with the best window of the question.

    Two words share all characters if they are equal, else their common beginning if it has at least four
    characters; stop words share nothing. A window's overlap is the sum over its words of the most that
    each shares with a word of the other window; windows at the end have fewer words.

    Returns:
        float64 [words of the passage]; -inf where the window begins with a stop word, which is skipped.
    """
    shared = np.array(
        [[_shared(mine, theirs) for theirs in question.keys] for mine in passage.keys], dtype=np.float64
    ).reshape(len(passage.keys), len(question.keys))
    best = _windowed(shared.T, np.maximum).T  # most that a passage word shares with a question window
    scores: Doubles = _windowed(best, np.add).max(axis=1, initial=0.0)
    scores[[not key or key in STOP_WORDS for key in passage.keys]] = -np.inf
    return scores


def overlap_probabilities(scores: Doubles, temperature: float) -> Doubles | None:
    """Softmax of overlaps over a temperature in characters; None when nothing matches."""
    if not (scores > 0).any():
        return None
    weights = np.exp((scores - scores.max()) / temperature)
    return np.asarray(weights / weights.sum())


def biased_spans(
    question: str, passage: str, n_spans: int, n_words: int, temperature: float, rng: np.random.Generator
) -> list[str]:
    """Spans drawn with replacement by `overlap_probabilities`; one at the start when nothing matches.

    Args:
        question: the question.
        passage: the passage; without words it has no spans.
        n_spans: how many to draw.
        n_words: their length in words; a start nearer to the passage's end is moved to the front.
        temperature: of the softmax, in characters.
        rng: drawn from once.
    """
    words = words_of(passage)
    if not words.keys:
        return []
    probabilities = overlap_probabilities(overlaps(words_of(question), words), temperature)
    if probabilities is None:
        return [words.span(0, n_words)]
    starts = rng.choice(len(probabilities), size=n_spans, p=probabilities)
    last = max(0, len(words.keys) - n_words)
    return [words.span(min(int(start), last), n_words) for start in starts]


def uniform_starts(words: Words, n: int, n_words: int, rng: np.random.Generator) -> list[int]:
    """N different starts of spans, uniformly drawn; fewer where the text does not have as many."""
    places = max(1, len(words.keys) - n_words + 1)
    return [int(start) for start in rng.choice(places, size=min(n, places), replace=False)]


@lru_cache(maxsize=1 << 16)
def _shared(a: str, b: str) -> int:
    if not a or a in STOP_WORDS or b in STOP_WORDS:
        return 0
    if a == b:
        return len(a)
    n = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    return n if n >= _MIN_STEM else 0


def _windowed(values: Doubles, combine: np.ufunc) -> Doubles:
    """Row i combined with the next rows of its window."""
    result = values.copy()
    for shift in range(1, min(_WINDOW, len(values))):
        combine(result[:-shift], values[shift:], out=result[:-shift])
    return result
