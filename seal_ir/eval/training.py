"""Topics that are also training questions: word for word, or nearly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from math import log
from pathlib import Path
from typing import NamedTuple

from seal_ir.eval.findings import Finding, tell
from seal_ir.eval.questions import Questions
from seal_ir.formats.io.files import listed, named, shown
from seal_ir.formats.topics.questions import question_words
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Query

NEAR = 0.75  # likeness; see `likeness`

Words = Set[str]
Weights = Mapping[str, float]


class Met(NamedTuple):
    """A topic and the training question that is most like it."""

    qid: str
    question: str
    likeness: float
    exact: bool


def word_weights(questions: Iterable[Words]) -> dict[str, float]:
    """ln(1 + N / n) of each word, n of the N questions having it: rare words say more."""
    all_words = list(questions)
    counts = Counter(word for words in all_words for word in words)
    return {word: log(1 + len(all_words) / n) for word, n in counts.items()}


def likeness(one: Words, other: Words, weights: Weights) -> float:
    """Weight of the words that both questions have, over that of the words that either has; 0 to 1."""
    union = _weight(one | other, weights)
    return _weight(one & other, weights) / union if union else 0.0


def overlaps(topics: Sequence[Query], questions: Iterable[str], near: float = NEAR) -> list[Met]:
    """The topics with a likeness of `near` or more to a training question, with the question most like each.

    Words are runs of letters and numbers, in NFKC form and lower case. A topic is exactly a training question
    where all its words follow one another there, and there are no others.
    """
    by_text: dict[str, str] = {}
    for question in questions:
        by_text.setdefault(question_words(question), question)
    known = [(text, frozenset(text.split())) for text in by_text if text]
    asked = [(topic.id, question_words(topic.text)) for topic in topics]
    weights = word_weights([*(words for _, words in known), *(frozenset(text.split()) for _, text in asked)])
    having: dict[str, list[int]] = defaultdict(list)
    for number, (_, words) in enumerate(known):
        for word in _telling(words, weights, near):
            having[word].append(number)
    found: list[Met] = []
    for qid, text in asked:
        if text and text in by_text:
            found.append(Met(qid, by_text[text], 1.0, exact=True))
            continue
        words = frozenset(text.split())
        numbers = sorted({number for word in _telling(words, weights, near) for number in having[word]})
        best = max(
            ((likeness(words, known[number][1], weights), -number) for number in numbers), default=(0.0, 0)
        )
        if best[0] >= near:
            found.append(Met(qid, by_text[known[-best[1]][0]], best[0], exact=False))
    return found


def _telling(words: Words, weights: Weights, near: float) -> Iterator[str]:
    """The rarest words of a question, one of which every question as like as `near` has among its own.

    What two such questions share weighs at least `near` of each. So the rarest word that they share is one
    at which less than 1 - `near` of the question's weight is used up, in both.
    """
    total = left = _weight(words, weights)
    for word in sorted(words, key=lambda word: (-weights[word], word)):
        if left < near * total * (1 - 1e-9):
            return
        yield word
        left -= weights[word]


def _weight(words: Iterable[str], weights: Weights) -> float:
    return sum(weights[word] for word in sorted(words))


def training_findings(path: Path, topics: Sequence[Query], questions: Iterable[str]) -> list[Finding]:
    """What of the topics was trained on, by a file of training questions."""
    found = overlaps(topics, questions)
    exact = [met for met in found if met.exact]
    nearly = [met for met in found if not met.exact]
    findings = []
    if exact:
        findings.append(
            f"{named(path)}: {len(exact)} of {len(topics)} topics are training questions, word for word:"
            f" topics {listed(met.qid for met in exact)}"
        )
    if nearly:
        asked = {topic.id: topic.text for topic in topics}
        best = max(nearly, key=lambda met: met.likeness)
        findings.append(
            f"{named(path)}: {len(nearly)} of {len(topics)} topics are nearly training questions, such as"
            f" {best.qid} ({shown(asked[best.qid])} and {shown(best.question)}):"
            f" topics {listed(met.qid for met in nearly)}"
        )
    return [Finding("training", text) for text in findings]


def with_training(questions: Questions, topics: Path, training: Sequence[Path]) -> Questions:
    """The questions, with what of them is in files of training questions; that is also logged.

    Args:
        questions: as loaded.
        topics: the file with their texts.
        training: topics of any format, or JSON lines with "question".

    Raises:
        InputError: a file cannot be read, or holds no questions.
    """
    wanted = {*questions.topics, *(questions.qrels or ())}
    asked = [query for query in read_topics(topics) if query.id in wanted]
    findings = [
        finding
        for path in training
        for finding in training_findings(path, asked, (query.text for query in read_topics(path)))
    ]
    tell(findings)
    return replace(questions, findings=(*questions.findings, *findings))
