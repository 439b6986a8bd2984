"""Answer matching against a reading of its rule token by token; figures against their definitions."""

from __future__ import annotations

import unicodedata

import regex
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.eval.answers import TOKENS, first_ranks, holds_answer, token_text
from seal_ir.eval.measures import aggregate, judged_values, parse_measures
from tests.helpers.examples import examples

# Where unicodedata and the regex package know different versions of Unicode, new characters are unassigned.
KNOWN = st.characters(exclude_categories=("Cs", "Cn"), max_codepoint=0x1FFFF)
WORDS = st.lists(
    st.sampled_from(["a", "b", "A.", "É", "e\u0301", "-", "$5", "5", "ΣΑΣ", "İ", " ", "\u200d", "\n"])
    | KNOWN,
    max_size=12,
).map("".join)
TOKEN = regex.compile(r"[\p{L}\p{N}\p{M}]+|[^\p{Z}\p{C}]")


def tokens(text: str) -> list[str]:
    return [token.lower() for token in TOKEN.findall(unicodedata.normalize("NFD", text))]


def naive(body: str, answers: list[str]) -> bool:
    words = tokens(body)
    return any(
        words[i : i + len(wanted)] == wanted
        for answer in answers
        if (wanted := tokens(answer))
        for i in range(len(words))
    )


@examples(300)
@given(WORDS)
def test_tokens_equal_the_rule(text: str) -> None:
    assert token_text(text).split(" ") == (tokens(text) or [""])


@examples(300)
@given(WORDS, st.lists(WORDS, max_size=3))
def test_matching_equals_the_rule(body: str, answers: list[str]) -> None:
    assert holds_answer(body, answers) == naive(body, answers)


@examples(200)
@given(st.lists(st.sampled_from("abc.-"), min_size=1, max_size=20), st.data())
def test_every_run_of_tokens_is_found(body: list[str], data: st.DataObject) -> None:
    lo = data.draw(st.integers(0, len(body) - 1))
    hi = data.draw(st.integers(lo + 1, len(body)))
    assert holds_answer(" ".join(body), ["  ".join(body[lo:hi]).upper()])


@examples(100)
@given(
    st.dictionaries(st.sampled_from("12345"), st.lists(st.sampled_from("abcdef"), unique=True, min_size=1)),
    st.dictionaries(st.sampled_from("12345"), st.lists(st.sampled_from("xyz"), max_size=2)),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("xyz"), min_size=6, max_size=6),
)
def test_first_ranks_equal_a_scan(
    rankings: dict[str, list[str]], answers: dict[str, list[str]], bodies: dict[str, str]
) -> None:
    expected = {
        qid: next(i for i, docid in enumerate(docids, start=1) if bodies[docid] in answers[qid])
        for qid, docids in rankings.items()
        if any(bodies[docid] in answers.get(qid, ()) for docid in docids)
    }
    assert first_ranks(rankings, answers, bodies, TOKENS) == expected


@examples(50)
@given(
    st.dictionaries(
        st.sampled_from("12345"),
        st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2), min_size=1),
        min_size=1,
    ),
    st.dictionaries(
        st.sampled_from("1234567"), st.lists(st.sampled_from("abcdef"), unique=True, min_size=1), min_size=1
    ),
    st.integers(1, 7),
)
def test_hits_and_recall_equal_their_definitions(
    qrels: dict[str, dict[str, int]], rankings: dict[str, list[str]], k: int
) -> None:
    success, recall = parse_measures([f"Success@{k}", f"R@{k}"])
    relevant = {qid: {docid for docid, grade in grades.items() if grade > 0} for qid, grades in qrels.items()}
    found = {qid: len(relevant[qid] & set(rankings.get(qid, [])[:k])) for qid in qrels}
    got = judged_values(success, qrels, rankings)
    assert got == {qid: float(found[qid] > 0) for qid in qrels}
    assert abs(aggregate(success, got.values()) - sum(got.values()) / len(qrels)) < 1e-12
    expected = {qid: found[qid] / max(1, len(relevant[qid])) for qid in qrels}
    assert all(
        abs(value - expected[qid]) < 1e-9 for qid, value in judged_values(recall, qrels, rankings).items()
    )
