"""The example of docs/scoring.md is what the ranker makes of its documents, keys and probabilities."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

from seal_ir.config import preset
from seal_ir.rank.ranker import rank
from seal_ir.rank.weights import weigh, weights_of
from seal_ir.records import BODY, UNIGRAM, Key, QueryKeys, Unigrams
from tests.helpers.streams import StreamIndex

PAGE = Path(__file__).parents[2] / "docs" / "scoring.md"
SECTION = PAGE.read_text(encoding="utf-8").split("## Three documents by hand\n")[1].split("\n## ")[0]
BOUNDARY, TITLE_END, FIRST = 1, 2, 16
CONFIG = preset("body").rank


def tables() -> Iterator[list[list[str]]]:
    """The rows of the section's tables, without heads, as their cells."""
    for table in re.findall(r"(?:^\|.*\n)+", SECTION, re.MULTILINE):
        yield [[cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines()[2:]]


DOCUMENTS, KEYS, SHARES, SCORES = tables()
TEXTS = {docid.strip("`"): text.split() for docid, text, _ in DOCUMENTS}
NUMBERS = {
    word: FIRST + n for n, word in enumerate(sorted({word for text in TEXTS.values() for word in text}))
}
WORDS = {number: word for word, number in NUMBERS.items()}


def text_of(symbols: Iterable[int]) -> str:
    return " ".join(WORDS[symbol] for symbol in symbols)


@pytest.fixture(scope="module")
def index() -> StreamIndex:
    return StreamIndex([[BOUNDARY, TITLE_END, *(NUMBERS[word] for word in text)] for text in TEXTS.values()])


@pytest.fixture(scope="module")
def keys(index: StreamIndex) -> QueryKeys:
    """Keys with the probabilities of the page, and the counts of the index."""
    found = []
    for text, kind, probability, *_ in KEYS:
        symbols = tuple(NUMBERS[word] for word in text.strip("`").split())
        ranges = index.find(list(symbols))
        found.append(
            Key(symbols, math.log(float(probability)), sum(hi - lo for lo, hi in ranges), ranges, kind)
        )
    first = [key for key in found if key.kind == UNIGRAM]
    unigrams = Unigrams(
        np.array([key.symbols[0] for key in first], np.uint32),
        np.array([key.logprob for key in first]),
        np.array([key.count for key in first]),
    )
    return QueryKeys(tuple(key for key in found if key.kind == BODY), unigrams)


def test_the_streams_have_the_lengths_of_the_page(index: StreamIndex) -> None:
    assert [int(length) for *_, length in DOCUMENTS] == [len(text) + 2 for text in TEXTS.values()]
    assert f"N = {index.n_tokens}" in SECTION


def test_the_weights_are_those_of_the_page(index: StreamIndex, keys: QueryKeys) -> None:
    first = [Key((int(s),), float(p), int(f), (), UNIGRAM) for s, p, f in zip(*keys.unigrams, strict=True)]
    every = [*keys.keys, *first]
    weights = weights_of(every, CONFIG, index.n_tokens)
    made = [
        [f"`{text_of(key.symbols)}`", key.kind, str(key.count), f"{weight:.3f}"]
        for key, weight in zip(every, weights, strict=True)
    ]
    assert [[text, kind, count, weight] for text, kind, _, count, weight in KEYS] == made
    weighed = [text_of(item.key.symbols) for item in weigh(keys, CONFIG, index.n_tokens)]
    assert weighed == [text.strip("`") for text, kind, *_ in KEYS if kind == BODY]  # heaviest first


def test_the_shares_and_scores_are_those_of_the_page(index: StreamIndex, keys: QueryKeys) -> None:
    ids = list(TEXTS)
    ranked = rank(index, keys, CONFIG, 10)
    assert [[f"`{ids[one.document]}`", f"{one.score:.3f}"] for one in ranked] == SCORES
    shares = {
        ids[one.document]: [[f"`{text_of(key.key.symbols)}`", f"{key.weight:.3f}"] for key in one.matched]
        for one in ranked
    }
    for docid, made in shares.items():
        of_document = [[text, share] for name, text, _, share in SHARES if name == f"`{docid}`"]
        assert [row for row in of_document if row[1] != "0"] == made
