"""Ties against all orders that they may be put in; training questions against a comparison of all pairs."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from itertools import groupby, permutations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.eval.evaluation import evaluate
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Questions
from seal_ir.eval.tables import Table
from seal_ir.eval.training import NEAR, Met, likeness, overlaps, word_weights
from seal_ir.formats.topics.questions import question_words
from seal_ir.records import Query
from tests.helpers.examples import examples

MEASURES = ("P@1", "P@2", "nDCG@2", "Success@2", "RR", "AP", "Rprec", "AnswerAccuracy@1", "AnswerAccuracy@2")
COLUMNS = parse_measures(MEASURES)
DOCIDS = "abcd"
SCORES = st.lists(st.integers(0, 2), min_size=4, max_size=4)
GRADES = st.lists(st.integers(0, 2), min_size=4, max_size=4).filter(any)
KILT = ("KiltRprec", "KiltP@1", "KiltP@2", "KiltR@2", "KiltR@3", "KiltSuccess@1", "KiltSuccess@2")
SETS = st.lists(st.sets(st.sampled_from("abcde"), min_size=1, max_size=3).map(sorted), min_size=1, max_size=3)
WORDS = st.lists(st.sampled_from(["who", "wrote", "the", "song", "river", "nile", "where", "is"]), max_size=7)
QUESTIONS = st.lists(WORDS.map(" ".join), max_size=8)


def figures(scores: list[int], grades: list[int], folder: Path) -> tuple[dict[str, float], str]:
    """What the scores' documents come to, and what is told of ties."""
    judged = dict(zip(DOCIDS, grades, strict=True))
    questions = Questions("t", ["1"], {"1": ["yes"]}, {"1": judged})
    bodies = {docid: "yes" if grade else "no" for docid, grade in judged.items()}
    run = written(scores, folder)
    return told_of(evaluate([run], questions, COLUMNS, lambda docids: {d: bodies[d] for d in docids}))


def kilt_figures(scores: list[int], sets: list[list[str]], folder: Path) -> tuple[dict[str, float], str]:
    """The same of KILT's measures, for a topic with these sets of pages."""
    judged = {page: 1 for pages in sets for page in pages}
    questions = Questions("t", ["1"], None, {"1": judged}, {"1": sets})
    return told_of(evaluate([written(scores, folder)], questions, parse_measures(KILT)))


def written(scores: list[int], folder: Path) -> Path:
    run = folder / "run"
    lines = [f"1 Q0 {docid} 0 {score} t\n" for docid, score in zip(DOCIDS, scores, strict=True)]
    run.write_text("".join(lines), encoding="utf-8")
    return run


def told_of(table: Table) -> tuple[dict[str, float], str]:
    told = " ".join(finding.text for finding in table.findings if finding.kind == "ties")
    return dict(table.results[0].figures), told


def assert_stated(told: str, found: list[tuple[dict[str, float], str]], measures: tuple[str, ...]) -> None:
    """What was told of ties is the least and the greatest figure of all orders; nothing where these agree."""
    assert not any(told for _, told in found)
    for measure in measures:
        values = [value[measure] for value, _ in found]
        lo, hi = min(values), max(values)
        shown = f"{measure} ({lo:.4f} to {hi:.4f})" if hi - lo > 1e-9 else None
        stated = re.search(rf"{re.escape(measure)} \([^)]*\)", told)
        assert (stated and stated[0]) == shown


def all_orders(scores: list[int]) -> Iterator[list[int]]:
    """Scores without ties for each order of the documents that keeps unequal ones apart."""
    by_score = sorted(range(len(scores)), key=lambda i: -scores[i])
    ties = [list(group) for _, group in groupby(by_score, key=lambda i: scores[i])]
    for orders in product(*(permutations(tie) for tie in ties)):
        places = [place for order in orders for place in order]
        yield [len(places) - places.index(place) for place in range(len(places))]


@examples(25)
@given(SCORES, GRADES)
def test_what_ties_leave_open_is_all_that_some_order_gives(scores: list[int], grades: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        _, told = figures(scores, grades, Path(name))
        found = [figures(order, grades, Path(name)) for order in all_orders(scores)]
    assert_stated(told, found, MEASURES)


@examples(25)
@given(SCORES, SETS)
def test_ties_of_a_topic_with_several_sets_of_pages(scores: list[int], sets: list[list[str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        _, told = kilt_figures(scores, sets, Path(name))
        found = [kilt_figures(order, sets, Path(name)) for order in all_orders(scores)]
    assert_stated(told, found, KILT)


@examples(100)
@given(QUESTIONS, QUESTIONS, st.sampled_from([0.3, 0.5, NEAR, 1.0]))
def test_training_questions_that_are_near_are_all_found(
    asked: list[str], known: list[str], near: float
) -> None:
    topics = [Query(str(i), text) for i, text in enumerate(asked)]
    sets = [frozenset(question_words(text).split()) for text in asked]
    distinct = [frozenset(text.split()) for text in {question_words(text) for text in known} if text]
    weights = word_weights([*distinct, *sets])
    best = {
        topic.id: max((likeness(words, other, weights) for other in distinct), default=0.0)
        for topic, words in zip(topics, sets, strict=True)
        if words
    }
    found: dict[str, Met] = {met.qid: met for met in overlaps(topics, known, near)}
    assert found.keys() == {qid for qid, value in best.items() if value >= near}
    for qid, met in found.items():
        assert met.likeness == pytest.approx(best[qid])
        assert met.exact == (asked[int(qid)] in {question_words(text) for text in known})
        assert met.question in known
