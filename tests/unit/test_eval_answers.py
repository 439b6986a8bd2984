"""Finding answers in passages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.eval.answers import (
    REGEX,
    TOKENS,
    Matching,
    Usable,
    first_ranks,
    holds_answer,
    token_text,
    usable,
)
from seal_ir.eval.texts import collection_texts
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.answers import read_answers


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The U.S. won 3-0!", "the u . s . won 3 - 0 !"),
        ("snake_case costs $5", "snake _ case costs $ 5"),
        ("½ of №7 is ²", "½ of № 7 is ²"),
        ("東京 大学", "東京 大学"),
        ("co\u00adop\u200bx\ty\u00a0z\x00w", "co op x y z w"),
        ("ΟΔΟΣ. ΟΔΟΣ", "οδος . οδος"),
        ("Zürich", "zu\u0308rich"),
        ("\ue000\U000e0001 \n", ""),
    ],
)
def test_tokens(text: str, tokens: str) -> None:
    assert token_text(text) == tokens


@pytest.mark.parametrize(
    ("body", "answer", "expected"),
    [
        ("It was in May, 1953.", "may 1953", False),
        ("It was in May, 1953.", "May , 1953", True),
        ("the newest york", "new", False),
        ("New York", "new york", True),
        ("New\n  York", "New York", True),
        ("costs $5.50", "$5", True),
        ("3,357 metres", "357", True),
        ("13,357 metres", "3,357", False),
        ("anything", "", False),
        ("anything", " \u200b ", False),
    ],
)
def test_answers_are_found_by_whole_tokens(body: str, answer: str, expected: bool) -> None:
    assert holds_answer(body, [answer]) is expected
    assert holds_answer(body, ["absent", answer]) is expected


def test_b6_answers_that_are_regular_expressions() -> None:
    answer, body = r"(18th|19th) of May,? 190\d", "He died on the 18th of may 1904."
    assert holds_answer(body, [answer], REGEX)
    assert not holds_answer(body, [answer], TOKENS)
    message = r"^topic 't7': answer '\(19' is no regular expression \(.*\); mend it, or leave out --regex$"
    with pytest.raises(InputError, match=message):
        first_ranks({}, {"t7": ["(19"]}, {}, REGEX)
    with pytest.raises(InputError, match=message):
        usable({"t7": ["x", "(19"]}, ["t7"], REGEX)


@pytest.mark.parametrize("matching", [TOKENS, REGEX])
def test_b12_composed_and_decomposed_accents(matching: Matching) -> None:
    composed, decomposed = "caf\u00e9 of Z\u00fcrich", "cafe\u0301 of Zu\u0308rich"
    for body in (composed, decomposed):
        for answer in (composed, decomposed, "CAF\u00c9"):
            assert holds_answer(f"The {body}.", [answer], matching)
    assert not holds_answer(composed, ["cafe of"], matching)
    assert not holds_answer("cafe", ["caf\u00e9"], matching)


def test_regex_sees_one_character_for_an_accented_letter_and_every_line() -> None:
    assert holds_answer("in Zu\u0308rich", ["Z.rich"], REGEX)
    assert holds_answer("first\nsecond line", ["^second"], REGEX)
    assert not holds_answer("anything", [""], REGEX)
    assert not holds_answer("cafe", ["caf[\u00e9\u00e8]"], REGEX)


def test_first_ranks_prepare_a_body_once() -> None:
    seen: list[str] = []

    def prepare(text: str) -> str:
        seen.append(text)
        return TOKENS.prepare(text)

    ranks = first_ranks(
        {"1": ["a", "b", "c"], "2": ["b", "a"], "3": ["a"], "4": ["a"]},
        {"1": ["two"], "2": ["two"], "3": ["two"]},
        {"a": "one", "b": "two", "c": "two"},
        TOKENS._replace(prepare=prepare),
    )
    assert ranks == {"1": 2, "2": 1}
    assert seen == ["one", "two"]


def test_usable_answers() -> None:
    found = usable({"1": [], "2": ["", " "], "3": ["", "x"], "4": ["y"]}, ["1", "2", "3", "5"])
    assert found.answers == {"3": ["x"]}
    assert found.left_out == {"2": 2, "3": 1}
    assert found.without == ["1", "2", "5"]
    assert found.warnings() == [
        "3 answers of 2 topics match any text or none, and were left out: topics 2, 3",
        "3 of 4 topics have no answer to look for: topics 1, 2, 5",
    ]
    assert usable({"1": ["x"]}, ["1"]).warnings() == []
    many = usable({}, map(str, range(12)))
    assert many.warnings() == [
        "12 of 12 topics have no answer to look for: topics 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..."
    ]


def test_what_is_told_of_answers() -> None:
    """One that is left out is; signs are from 1 % of the topics on."""
    left_out = "1 answers of 1 topics match any text or none, and were left out: topics a"
    assert Usable({}, {"a": 1}, {}, 300, []).warnings() == [left_out]
    common = dict.fromkeys("abc", 2)
    (told,) = Usable({}, {}, common, 300, []).warnings()
    assert told == (
        "6 answers of 3 topics are a sign that most texts hold, and count as in DPR's evaluation: topics a,"
        " b, c"
    )
    assert Usable({}, {}, common, 301, []).warnings() == []
    assert len(Usable({}, {}, {"a": 1}, 20, []).warnings()) == 1  # 1 % of so few is less than one


INVISIBLE = ["", " ", "\t\n", "\u00a0", "\u200b", "\u00ad", "\ufeff", "\ue000", " \u200b\ufeff "]
ANYTHING = [
    "zzz|",
    "|zzz",
    "zzz| ",
    "x*",
    ".*",
    ".",
    r"\w+",
    r"\S",
    r"\s",
    r"\b",
    "^",
    "$",
    "^$",
    "(?!zzz)",
    "(?i)",
    "()",
]


@pytest.mark.parametrize("answer", INVISIBLE)
@pytest.mark.parametrize("matching", [TOKENS, REGEX])
def test_i4_answers_that_cannot_be_seen_match_nothing_and_are_counted(
    answer: str, matching: Matching
) -> None:
    assert not holds_answer(f"a text{answer}with all of it {answer} and more", [answer, "zzz"], matching)
    found = usable({"t": [answer, "zzz"]}, ["t"], matching)
    assert (found.answers, found.left_out, found.without) == ({"t": ["zzz"]}, {"t": 1}, [])
    assert usable({"t": [answer]}, ["t"], matching).without == ["t"]


@pytest.mark.parametrize("matching", [TOKENS, REGEX])
def test_answers_given_as_one_string_are_one_answer(matching: Matching) -> None:
    assert not holds_answer("P a r i s", "Paris", matching)
    assert holds_answer("in Paris", "Paris", matching)
    assert first_ranks({"1": ["a"]}, {"1": "Paris"}, {"a": "a p"}, matching) == {}
    assert usable({"1": "Paris"}, ["1"], matching).answers == {"1": ["Paris"]}


@pytest.mark.parametrize("answer", ANYTHING)
def test_i4_patterns_that_match_any_text_match_nothing_and_are_counted(answer: str) -> None:
    assert not holds_answer("any text at all", [answer], REGEX)
    assert holds_answer("any text at all", [answer, "text"], REGEX)
    assert usable({"t": [answer, "text"]}, ["t"], REGEX).left_out == {"t": 1}


@pytest.mark.parametrize("unseen", list("\t\n\r\v\f\u00a0\u00ad\u200b\ufeff\ue000 "))
def test_patterns_that_match_what_cannot_be_seen_are_left_out(unseen: str) -> None:
    assert usable({"t": [f"zzz|{unseen}", "text"]}, ["t"], REGEX).answers == {"t": ["text"]}


@pytest.mark.parametrize("sign", list(".,'\"()-:;"))
def test_common_signs(sign: str) -> None:
    assert usable({"t": [sign]}, ["t"]).common == {"t": 1}
    assert usable({"t": [f"zz|[{sign}]"]}, ["t"], REGEX).common == {"t": 1}
    assert usable({"t": [f"{sign} z"]}, ["t"]).common == {}


@pytest.mark.parametrize(
    "answer", [r"\d+", "a", "xx", "5", "(?=.*any)(?=.*text)", "no ?thing|text", r"19\d\d", r"\$5"]
)
def test_patterns_that_tell_texts_apart_are_kept(answer: str) -> None:
    assert usable({"t": [answer]}, ["t"], REGEX).answers == {"t": [answer]}


@pytest.mark.parametrize(
    ("matching", "answer"), [(TOKENS, ","), (TOKENS, " ) "), (REGEX, r"\."), (REGEX, "zz|,")]
)
def test_answers_that_are_common_signs_are_kept_and_told(matching: Matching, answer: str) -> None:
    found = usable({"t": [answer, "zzz"], "u": ["$", "x, y"]}, ["t", "u"], matching)
    assert found.answers["t"] == [answer, "zzz"]
    assert found.warnings()[-1] == (
        "1 answers of 1 topics are a sign that most texts hold, and count as in DPR's evaluation: topics t"
    )


@pytest.mark.data
@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="needs SEAL_IR_DATA")
def test_gold_passages_of_nq_hold_their_answers() -> None:
    """99.3 % do; the rest are annotations with odd quotes or of text outside the passage."""
    data = Path(os.environ["SEAL_IR_DATA"])
    answers = read_answers(data / "answers" / "nq-test.jsonl")
    qrels = read_qrels(data / "qrels" / "nq-test.trec")
    gold = [(qid, docid) for qid, grades in qrels.items() for docid, grade in grades.items() if grade > 0]
    bodies = collection_texts("JsonCollection", data / "corpus.jsonl.gz")(docid for _, docid in gold)
    share = sum(holds_answer(bodies[docid], answers[qid]) for qid, docid in gold) / len(gold)
    assert len(gold) == 3391
    assert 0.99 < share < 1
