"""KILT's measures of written answers against their published definitions, written down plainly again.

Petroni et al. (2021): accuracy, exact match and F1 as in SQuAD's evaluation (Rajpurkar et al., 2016), ROUGE-L
(Lin, 2004) at summary level over distinct words, each the best over the gold answers and averaged over all
topics; KILT's own forms count a topic only where the R-precision of its pages is 1. On the complete dev files
of HotpotQA and WoW where they are at hand, and on made-up ones.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import InputError
from seal_ir.eval.evaluation import evaluate
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.questions import Sources, load_questions

pytestmark = pytest.mark.skipif(find_spec("rouge") is None, reason="rouge is not installed (extra `kilt`)")

Record = dict[str, Any]
PLAIN = ("AC", "EM", "F1", "RougeL")
NAMES = (*PLAIN, *(f"Kilt{name}" for name in PLAIN), "KiltRprec")

# The definitions


def squad_words(text: str) -> list[str]:
    kept = "".join(c for c in text.lower() if c not in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
    spaced = "".join(c if c.isalnum() or c == "_" else f"\0{c}\0" for c in kept).split("\0")  # \b of a regex
    return "".join("" if piece in ("a", "an", "the") else piece for piece in spaced).split()


def same_words(guess: str, gold: str) -> float:
    return float(squad_words(guess) == squad_words(gold))


def overlap(guess: str, gold: str) -> float:
    left = squad_words(gold)
    n_gold, n_guess, n_same = len(left), len(squad_words(guess)), 0
    for word in squad_words(guess):
        if word in left:
            left.remove(word)
            n_same += 1
    return 2 * n_same / (n_gold + n_guess) if n_same else 0.0


def common(one: Sequence[str], other: Sequence[str]) -> frozenset[str]:
    """The words of a longest common subsequence; of several the one that goes on from the end in `one`."""

    @cache
    def length(i: int, j: int) -> int:
        if not i or not j:
            return 0
        if one[i - 1] == other[j - 1]:
            return 1 + length(i - 1, j - 1)
        return max(length(i - 1, j), length(i, j - 1))

    i, j, words = len(one), len(other), set()
    while i and j:
        if one[i - 1] == other[j - 1]:
            words.add(one[i - 1])
            i, j = i - 1, j - 1
        elif length(i - 1, j) > length(i, j - 1):
            i -= 1
        else:
            j -= 1
    return frozenset(words)


def summary_rouge(guess: str, gold: str) -> float:
    # A sentence of white space is one empty word: so the package that KILT names counts it.
    ours, theirs = ([part.split() or [""] for part in text.split(".") if part] for text in (guess, gold))
    if not ours or not theirs:
        return 0.0
    union = frozenset().union(*(common(sentence, other) for sentence in theirs for other in ours))
    n_ours, n_theirs = (len({word for part in parts for word in part}) for parts in (ours, theirs))
    return 2 * len(union) / (n_ours + n_theirs) if union else 0.0


SCORES: dict[str, Callable[[str, str], float]] = {
    "AC": lambda guess, gold: float(guess == gold),
    "EM": same_words,
    "F1": overlap,
    "RougeL": summary_rouge,
}


def evidence_is_right(record: Record, pages: Sequence[str]) -> float:
    best = 0.0
    for output in record["output"]:
        wanted = {entry["wikipedia_id"] for entry in output.get("provenance", [])}
        if wanted:
            first = list(dict.fromkeys(pages))[: len(wanted)]
            best = max(best, sum(page in wanted for page in first) / len(wanted))
    return best


def defined(gold: Sequence[Record], guesses: Sequence[Record]) -> dict[str, float]:
    """All measures of the guesses, over all gold records."""
    by_id = {guess["id"]: guess["output"][0] for guess in guesses}
    totals = dict.fromkeys(NAMES, 0.0)
    for record in gold:
        output = by_id.get(record["id"], {})
        answer = (output.get("answer") or "").strip()
        golds = {o["answer"].strip() for o in record["output"] if (o.get("answer") or "").strip()}
        pages = [entry["wikipedia_id"] for entry in output.get("provenance", [])]
        precision = evidence_is_right(record, pages)
        totals["KiltRprec"] += precision
        for name, score in SCORES.items():
            value = max((score(answer, text) for text in golds), default=0.0) if answer else 0.0
            totals[name] += value
            totals[f"Kilt{name}"] += value * (precision == 1)
    return {name: total / len(gold) for name, total in totals.items()}


# Guesses


def reworded(text: str, draw: random.Random) -> str:
    words = text.split() or [""]
    return draw.choice(
        [
            text,
            f" {text}\n",
            text.upper(),
            f"The {text}!",
            ". ".join(text.split(", ")),
            " ".join(words[: len(words) // 2 + 1]),
            " ".join(draw.sample(words, len(words))),
            f"{text} {text}",
            f"a {words[0]} of an {words[-1]}-{words[0]}",
            "Something else. Entirely",
            "the",
            "...",
        ]
    )


def pages_of(record: Record, draw: random.Random) -> list[str]:
    outputs = [output for output in record["output"] if output.get("provenance")]
    pages = [entry["wikipedia_id"] for entry in draw.choice(outputs)["provenance"]] if outputs else []
    if draw.random() < 0.4:
        pages = draw.sample(pages, len(pages) // 2) + ["1", "2"]
    return pages


def guessed(record: Record, answer: str | None, pages: Sequence[str]) -> Record:
    output: Record = {"provenance": [{"wikipedia_id": page} for page in pages]}
    if answer is not None:
        output["answer"] = answer
    return {"id": record["id"], "input": record["input"], "output": [output]}


def good(gold: Sequence[Record], draw: random.Random) -> list[Record]:
    found = []
    for record in gold:
        answers = [output["answer"] for output in record["output"] if output.get("answer")] or ["none"]
        found.append(guessed(record, reworded(draw.choice(answers), draw), pages_of(record, draw)))
    return found


def partial(gold: Sequence[Record], draw: random.Random) -> list[Record]:
    """Topics left out, and datapoints without an answer, in another order."""
    found = [guess for guess in good(gold, draw) if draw.random() < 0.6]
    for guess in found:
        if draw.random() < 0.2:
            guess["output"][0].pop("answer")
    draw.shuffle(found)
    return found


def empty(gold: Sequence[Record], draw: random.Random) -> list[Record]:
    """Nothing but white space, and here and there an answer without pages."""
    return [
        guessed(record, draw.choice(["", " ", "\t\n"]), pages_of(record, draw))
        if draw.random() < 0.95
        else guessed(record, (record["output"][0].get("answer") or ""), [])
        for record in gold
    ]


def made_up(draw: random.Random) -> list[Record]:
    """Several answers and sets, outputs with one of the two only, topics without any."""
    words = ["Paris", "the", "U.S.", "café", "a", "1953.", "ice-cream", "of", "Ω", "an", "«x»", "man"]
    gold = []
    for number in range(150):
        outputs = []
        for _ in range(draw.randint(1, 4)):
            output: Record = {}
            if draw.random() < 0.8:
                output["answer"] = " ".join(draw.choices(words, k=draw.randint(1, 8)))
            if draw.random() < 0.7:
                pages = draw.choices("123456", k=draw.randint(1, 3))
                output["provenance"] = [{"wikipedia_id": page} for page in pages]
            outputs.append(output)
        gold.append({"id": f"q{number}", "input": "?", "output": outputs})
    gold[0]["output"] = [{"answer": "x", "provenance": [{"wikipedia_id": "1"}]}]
    return gold


def judged(gold: Sequence[Record]) -> int:
    return sum(any(output.get("provenance") for output in record["output"]) for record in gold)


def write(path: Path, records: Sequence[object]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def measured(gold: Path, guess: Path) -> dict[str, float]:
    columns = parse_measures(NAMES)
    questions = load_questions(Sources("kilt", None, gold, gold), columns)
    return dict(evaluate([guess], questions, columns).results[0].figures)


def compare(folder: Path, records: Sequence[Record], guesses: Sequence[Record]) -> dict[str, float]:
    """Our figures, once they are known to be those of the definitions."""
    gold, guess = write(folder / "gold.jsonl", records), write(folder / "guess.jsonl", guesses)
    ours, expected = measured(gold, guess), defined(records, guesses)
    ours["KiltRprec"] *= judged(records) / len(records)  # ours is over judged topics, as documented
    assert ours == pytest.approx(expected, abs=1e-6)
    return ours


@pytest.mark.parametrize("make", [good, partial, empty])
@pytest.mark.parametrize("seed", range(2))
def test_on_made_up_topics(
    tmp_path: Path, make: Callable[[Sequence[Record], random.Random], list[Record]], seed: int
) -> None:
    draw = random.Random(seed)
    records = made_up(draw)
    ours = compare(tmp_path, records, make(records, draw))
    if make is not empty:
        assert all(0 < value < 1 for value in ours.values())
        assert ours["AC"] < ours["EM"] < ours["F1"]
        assert all(ours[f"Kilt{name}"] < ours[name] for name in PLAIN)


@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")
@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("make", [good, partial, empty])
@pytest.mark.parametrize(("name", "n_topics"), [("hotpotqa", 5600), ("wow", 3054)])
def test_on_complete_dev_files(
    tmp_path: Path, name: str, n_topics: int, make: Callable[[Sequence[Record], random.Random], list[Record]]
) -> None:
    path = Path(os.environ["SEAL_IR_DATA"]) / "kilt" / f"{name}-dev-kilt.jsonl"
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(records) == n_topics
    ours = compare(tmp_path, records, make(records, random.Random(11)))
    assert all(value < 1 for value in ours.values())
    if make is not empty:
        assert all(value > 0 for value in ours.values())


# Malformed guesses


def with_output(guess: Record, **fields: object) -> Record:
    return {**guess, "output": [{**guess["output"][0], **fields}]}


FAULTS: dict[str, tuple[Callable[[Record], object], str]] = {
    "a number": (
        lambda guess: with_output(guess, answer=1786),
        "topic 'q7': \"answer\" is 1786; it must be a",
    ),
    "a list": (lambda guess: with_output(guess, answer=["x"]), "topic 'q7': \"answer\" is"),
    "two outputs": (
        lambda guess: {**guess, "output": guess["output"] * 2},
        "topic 'q7': a run has one output a datapoint, seen 2",
    ),
    "no output": (
        lambda guess: {**guess, "output": []},
        "topic 'q7': a run has one output a datapoint, seen 0",
    ),
    "an object": (lambda guess: {**guess, "output": {}}, "topic 'q7': \"output\" is"),
    "pages": (lambda guess: with_output(guess, provenance="12"), "topic 'q7': \"provenance\" is '12'"),
    "a page": (
        lambda guess: with_output(guess, provenance=[{"wikipedia_id": "1 2"}]),
        "topic 'q7': provenance .*: a page id must be a string",
    ),
    "no id": (lambda guess: {"input": "x", "output": guess["output"]}, "some records have an id and some"),
    "an id": (lambda guess: {**guess, "id": ["q7"]}, '"id" is'),
    "twice": (lambda guess: {**guess, "id": "q2"}, r"topic 'q2' comes twice, first at .*guess\.jsonl:3"),
    "no object": (lambda guess: "q7", "a JSON object is needed"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_malformed_guesses_are_named(tmp_path: Path, fault: str) -> None:
    """One line that says where; which topic, where there is one."""
    records = made_up(random.Random(3))[:20]
    guesses: list[object] = list(good(records, random.Random(3)))
    spoil, message = FAULTS[fault]
    guesses[7] = spoil(dict(guesses[7]))  # type: ignore[call-overload]
    gold, guess = write(tmp_path / "gold.jsonl", records), write(tmp_path / "guess.jsonl", guesses)
    with pytest.raises(InputError, match=rf"guess\.jsonl:8: {message}") as told:
        measured(gold, guess)
    assert "\n" not in str(told.value)


def test_broken_json_is_named(tmp_path: Path) -> None:
    records = made_up(random.Random(3))[:20]
    gold, guess = (
        write(tmp_path / "gold.jsonl", records),
        write(tmp_path / "guess.jsonl", good(records, random.Random(3))),
    )
    lines = guess.read_text(encoding="utf-8").splitlines()
    guess.write_text("\n".join([*lines[:7], lines[7][:-9], *lines[8:]]), encoding="utf-8")
    with pytest.raises(InputError, match=r"guess\.jsonl:8: not JSON"):
        measured(gold, guess)
