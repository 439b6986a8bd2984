"""Measures of written answers, on worked examples."""

from __future__ import annotations

import builtins
import sys
from importlib.util import find_spec
from typing import Any

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.answer_measures import (
    accuracy,
    answer_measure,
    answer_values,
    exact_match,
    f1,
    normalized,
    rouge_l,
)
from seal_ir.eval.measures import parse_measures

needs_rouge = pytest.mark.skipif(find_spec("rouge") is None, reason="rouge is not installed (extra `kilt`)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Beatles", "beatles"),
        ("  an  Apple,\ta day ", "apple day"),
        ("U.S.A.", "usa"),
        ("rock-n-roll", "rocknroll"),
        ("theatre", "theatre"),
        ("the", ""),
        ("a.", ""),  # punctuation goes first, so that this is an article
        ("«Straße» 1", "«straße» 1"),  # only ASCII's punctuation goes
        ("café", "café"),
        ("İzmir", "i̇zmir"),  # as str.lower has it
    ],
)
def test_normalised_as_squad_does(text: str, expected: str) -> None:
    assert normalized(text) == expected


@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("the Mont Blanc!", ["Mont Blanc"], (0, 1, 1)),
        (" Mont Blanc ", ["Mont Blanc\n"], (1, 1, 1)),
        ("Blanc", ["Mont Blanc"], (0, 0, 2 / 3)),
        ("blanc blanc", ["Mont Blanc"], (0, 0, 1 / 2)),  # a word counts as often as both have it
        ("mont blanc mont", ["mont mont blanc peak"], (0, 0, 6 / 7)),
        ("Paris", ["London", "paris"], (0, 1, 1)),  # the best of the answers
        ("Paris", "Paris", (1, 1, 1)),  # one string is one answer
        ("Rome", ["Paris"], (0, 0, 0)),
        ("", ["Paris"], (0, 0, 0)),
        ("", ["the"], (0, 0, 0)),  # nothing is no answer, though it is equal, normalised
        (" \n", [""], (0, 0, 0)),
        ("Paris", [], (0, 0, 0)),
        ("the", ["a"], (0, 1, 0)),  # both nothing, normalised: equal, and without a word in common
    ],
)
def test_accuracy_exact_match_and_f1(
    prediction: str, golds: list[str], expected: tuple[float, float, float]
) -> None:
    found = accuracy(prediction, golds), exact_match(prediction, golds), f1(prediction, golds)
    assert found == pytest.approx(expected)


@needs_rouge
@pytest.mark.parametrize(
    ("prediction", "golds", "expected"),
    [
        ("police killed the gunman", ["police kill the gunman"], 3 / 4),  # Lin (2004), sentence level
        ("police ended the gunman", ["police killed the gunman"], 3 / 4),
        ("The gunman", ["the gunman"], 1 / 2),  # case counts
        ("w1 w2 w6 w7 w8. w1 w3 w8 w9 w5", ["w1 w2 w3 w4 w5"], 2 * 0.8 * 0.5 / 1.3),  # union of two sentences
        ("x", ["y", "x"], 1),
        ("x x x", ["x"], 1),  # distinct words
        ("...", ["x"], 0),
        ("x", ["..."], 0),
        ("", ["x"], 0),
        ("x", [], 0),
    ],
)
def test_rouge_l(prediction: str, golds: list[str], expected: float) -> None:
    assert rouge_l(prediction, golds) == pytest.approx(expected, abs=1e-7)


@needs_rouge
def test_rouge_l_of_sentences_longer_than_the_stack() -> None:
    limit = sys.getrecursionlimit()
    words = " ".join(str(i) for i in range(limit // 2 + 50))
    other = " ".join(str(-i - 1) for i in range(limit // 2 + 50))
    n = limit // 2 + 50
    assert rouge_l(f"0 {other}", [words]) == pytest.approx(
        2 / (2 * n + 1), rel=1e-4
    )  # both walked to their 0
    assert sys.getrecursionlimit() == limit


def test_rouge_l_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Told when it is asked for; the other measures need nothing."""
    found = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "rouge":
            raise ImportError("No module named 'rouge'")
        return found(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UsageError, match=r"RougeL needs the package rouge .*pip install 'seal-ir\[kilt\]'"):
        rouge_l("x", ["x"])
    for name in ("RougeL", "KiltRougeL"):
        with pytest.raises(UsageError, match=rf"--measures: '{name}': RougeL needs the package rouge"):
            parse_measures([name])
    assert len(parse_measures(["EM", "KiltF1", "AC"])) == 3


def test_names() -> None:
    assert answer_measure("Success@1") is None
    assert answer_measure("Kilt") is None
    plain, credited = answer_measure("EM"), answer_measure("KiltRougeL")
    assert plain is not None
    assert credited is not None
    assert (plain.label, plain.credited) == ("EM", False)
    assert (credited.label, credited.credited) == ("KILT-ROUGE-L", True)


def test_values_of_topics() -> None:
    """Missing predictions and answers are 0; KILT's form needs the whole of one set in the first places."""
    predictions = {"1": "x", "2": "x", "3": "x", "5": "x", "6": "y"}
    golds = {qid: ["x"] for qid in "123467"}
    topics = list("1234567")
    plain, credited = answer_measure("EM"), answer_measure("KiltEM")
    assert plain is not None
    assert credited is not None
    assert answer_values(plain, predictions, golds, topics) == dict(
        zip(topics, [1, 1, 1, 0, 0, 0, 0], strict=True)
    )
    rankings = {"1": ["p", "q"], "2": ["p", "z", "q"], "3": ["p"], "6": ["p"]}
    evidence = {"1": [["q", "p"]], "2": [["p", "q"]], "6": [["p"]]}  # 3 is not judged
    predictions["4"], evidence["4"] = "x", [["p"]]  # and of 4 nothing was found
    assert answer_values(credited, predictions, golds, topics, rankings, evidence) == dict(
        zip(topics, [1, 0, 0, 0, 0, 0, 0], strict=True)
    )
