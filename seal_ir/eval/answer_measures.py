"""How good a written answer is: KILT's accuracy, exact match, F1 and ROUGE-L, and those of whole files.

Each compares one prediction with a topic's gold answers and takes the best of them. White space around an
answer never counts, and a prediction of nothing else scores 0 in all four.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from string import punctuation
from typing import Any, NamedTuple

from seal_ir.errors import UsageError
from seal_ir.eval.evidence import EvidenceSets, r_precision

AnswerScore = Callable[[str, Sequence[str]], float]

_PUNCTUATION = str.maketrans("", "", punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


class AnswerMeasure(NamedTuple):
    """A measure of written answers.

    Attributes:
        label: how tables head it.
        score: from a prediction and the gold answers, one or more, a value in 0 to 1.
        credited: whether it counts only where the evidence's R-precision is 1: KILT's own form of it.
    """

    label: str
    score: AnswerScore
    credited: bool


def answer_measure(name: str) -> AnswerMeasure | None:
    """The measure that `AC`, `EM`, `F1` or `RougeL` names, or with `Kilt` before it; None for other names."""
    plain = name.removeprefix("Kilt")
    if plain not in _MEASURES:
        return None
    label, score = _MEASURES[plain]
    credited = plain != name
    return AnswerMeasure(f"KILT-{label}" if credited else label, score, credited)


def normalized(text: str) -> str:
    """An answer as SQuAD's evaluation compares it: lower case, no ASCII punctuation, no English articles.

    White space is one blank between words and none around them.
    """
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def accuracy(prediction: str, golds: Sequence[str]) -> float:
    """1 if the prediction is one of the gold answers, letter by letter, else 0."""
    return _best(lambda ours, gold: float(ours == gold), prediction, golds)


def exact_match(prediction: str, golds: Sequence[str]) -> float:
    """1 if the prediction, normalised, is one of the gold answers, normalised, else 0."""
    return _best(lambda ours, gold: float(normalized(ours) == normalized(gold)), prediction, golds)


def f1(prediction: str, golds: Sequence[str]) -> float:
    """The best 2 P R / (P + R) of the words, normalised, that prediction and gold answer share.

    A word counts as often as both have it; P is their share of the prediction's, R of the gold answer's.
    """
    return _best(_word_f1, prediction, golds)


def rouge_l(prediction: str, golds: Sequence[str]) -> float:
    """The best F of ROUGE-L at summary level (Lin, 2004), as the package `rouge` and so KILT computes it.

    Nothing is normalised, so case and punctuation count; sentences end at full stops. A text without any
    sentence scores 0.

    Raises:
        UsageError: the package is missing.
    """
    rouge = _rouge()

    def score(ours: str, gold: str) -> float:
        try:
            with _recursion_of(len(ours.split()) + len(gold.split())):
                return float(rouge.get_scores(ours, gold)[0]["rouge-l"]["f"])
        except ValueError:  # full stops alone: no sentence
            return 0.0

    return _best(score, prediction, golds)


def answer_values(
    measure: AnswerMeasure,
    predictions: Mapping[str, str],
    golds: Mapping[str, Sequence[str]],
    topics: Iterable[str],
    rankings: Mapping[str, Sequence[str]] | None = None,
    evidence: Mapping[str, EvidenceSets] | None = None,
) -> dict[str, float]:
    """The measure for every topic; one without a prediction or without gold answers has 0.

    Args:
        measure: see `answer_measure`.
        predictions: the answer written for each topic.
        golds: the gold answers of each topic.
        topics: ids of all of them.
        rankings: for a credited measure, each topic's pages as predicted evidence, best first.
        evidence: for a credited measure, each topic's sets of pages; a topic without any has 0.

    Raises:
        UsageError: `RougeL` without its package.
    """
    values = {}
    for qid in topics:
        sets = (evidence or {}).get(qid, ())
        counts = not measure.credited or (sets and r_precision((rankings or {}).get(qid, ()), sets) == 1)
        prediction, gold = predictions.get(qid, ""), golds.get(qid, ())
        values[qid] = measure.score(prediction, gold) if counts else 0.0
    return values


def check_rouge() -> None:
    """Refuse to go on without the package that ROUGE-L is computed by.

    Raises:
        UsageError: it is missing.
    """
    _rouge()


def _best(score: Callable[[str, str], float], prediction: str, golds: Sequence[str]) -> float:
    ours = prediction.strip()
    texts = dict.fromkeys(gold.strip() for gold in ([golds] if isinstance(golds, str) else golds))
    return max((score(ours, gold) for gold in texts if gold), default=0.0) if ours else 0.0


def _word_f1(ours: str, gold: str) -> float:
    words, gold_words = normalized(ours).split(), normalized(gold).split()
    n_shared = (Counter(words) & Counter(gold_words)).total()
    if not n_shared:
        return 0.0
    precision, recall = n_shared / len(words), n_shared / len(gold_words)
    return 2 * precision * recall / (precision + recall)


def _rouge() -> Any:
    try:
        from rouge import Rouge
    except ImportError as error:
        raise UsageError(
            f"RougeL needs the package rouge ({error}); pip install 'seal-ir[kilt]', or leave RougeL out"
        ) from error
    return Rouge(metrics=["rouge-l"], stats=["f"])


@contextmanager
def _recursion_of(n_words: int) -> Iterator[None]:
    """Lets the package recurse once for every word of two texts, as it does along their longest sentences."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + n_words)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


_MEASURES: dict[str, tuple[str, AnswerScore]] = {
    "AC": ("AC", accuracy),
    "EM": ("EM", exact_match),
    "F1": ("F1", f1),
    "RougeL": ("ROUGE-L", rouge_l),
}
