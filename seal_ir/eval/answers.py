"""Whether a passage holds an answer: by tokens as in DPR, or by regular expressions."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.io.files import listed, shown

Finder = Callable[[str], bool]

# Text without a token: what is found in nothing, or in this, is found in any text.
_BLANK = " \t\n\r\v\f\u00a0\u00ad\u200b\ufeff\ue000 "
_COMMON = ".,'\"()-:;"  # signs that most passages hold one of
_COMMON_TOLD = 0.01  # share of the topics


class Matching(NamedTuple):
    """A rule for finding answers.

    Attributes:
        name: the rule in words, for the table.
        prepare: the form of a body that finders read; costly, so done once a passage.
        tells: from a topic's id and an answer, whether finding it says anything; other answers never match.
        common: the same, whether a common sign such as a comma is all that the answer needs.
        finder: from a topic's id and answers, the test of a prepared body.
    """

    name: str
    prepare: Callable[[str], str]
    tells: Callable[[str, str], bool]
    common: Callable[[str, str], bool]
    finder: Callable[[str, Sequence[str]], Finder]


class Usable(NamedTuple):
    """Answers that can be looked for.

    Attributes:
        answers: of each topic that has some.
        left_out: how many of a topic's answers match any text or none; only topics that have such.
        common: how many of those kept need a common sign only, likewise.
        n_topics: how many topics there are.
        without: topics without an answer that can be looked for.
    """

    answers: dict[str, Sequence[str]]
    left_out: dict[str, int]
    common: dict[str, int]
    n_topics: int
    without: Sequence[str]

    def warnings(self) -> list[str]:
        """What the user should know of them, a sentence each; none where all is well.

        Common signs are told from 1 % of the topics on: NQ's and SQuAD's answers have one in 500 to 4,000.
        """
        said = []
        for counts, fault, least in (
            (self.left_out, "match any text or none, and were left out", 1),
            (
                self.common,
                "are a sign that most texts hold, and count as in DPR's evaluation",
                max(1, _COMMON_TOLD * self.n_topics),
            ),
        ):
            if len(counts) >= least:
                n = sum(counts.values())
                said.append(f"{n} answers of {len(counts)} topics {fault}: topics {listed(counts)}")
        if self.without:
            said.append(
                f"{len(self.without)} of {self.n_topics} topics have no answer to look for:"
                f" topics {listed(self.without)}"
            )
        return said


class _Separator(dict[int, str]):
    """What str.translate puts for a code point; remembers the characters that it has met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        general = unicodedata.category(character)[0]
        if general in "LNM":
            text = character
        elif general in "ZC":
            text = " "
        else:
            text = f" {character} "
        self[code] = text
        return text


_SEPARATOR = _Separator()  # a memo: what it answers never changes


def token_text(text: str) -> str:
    """The tokens of a text in NFD and lower case, one blank between them.

    A token is a run of letters, numbers and marks, or any other single character that is neither a
    separator nor a control, format, private or unassigned one.
    """
    separated = unicodedata.normalize("NFD", text).translate(_SEPARATOR)
    # Lower case comes last: a final sigma is one at the end of its token.
    return " ".join(separated.split()).lower()


def _padded_tokens(text: str) -> str:
    return f" {token_text(text)} "


def _each(answers: Sequence[str]) -> Sequence[str]:
    """The answers; one string is one answer, not its letters."""
    return [answers] if isinstance(answers, str) else answers


def _has_token(qid: str, answer: str) -> bool:
    return bool(token_text(answer))


def _is_sign(qid: str, answer: str) -> bool:
    return answer.strip() in tuple(_COMMON)


def _token_finder(qid: str, answers: Sequence[str]) -> Finder:
    """Whether a body has the tokens of an answer one after another."""
    wanted = [_padded_tokens(answer) for answer in _each(answers) if _has_token(qid, answer)]
    return lambda body: any(tokens in body for tokens in wanted)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)  # one character for a dot or a class to match, not two


def _tells_texts_apart(qid: str, answer: str) -> bool:
    """Whether a pattern needs more than text of any kind: a letter of some kind, at least."""
    pattern = _compiled(qid, answer)
    if not _has_token(qid, answer) or pattern.search("") or pattern.search(_BLANK):
        return False
    return not all(pattern.search(letter) for letter in ascii_lowercase)


def _finds_a_sign(qid: str, answer: str) -> bool:
    pattern = _compiled(qid, answer)
    return any(pattern.search(sign) for sign in _COMMON)


def _regex_finder(qid: str, answers: Sequence[str]) -> Finder:
    """Whether a pattern is found somewhere in a body; `^` and `$` also match at its line ends."""
    patterns = [_compiled(qid, answer) for answer in _each(answers) if _tells_texts_apart(qid, answer)]
    return lambda body: any(pattern.search(body) for pattern in patterns)


def _compiled(qid: str, answer: str) -> re.Pattern[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python may change about sets in patterns some day
            return re.compile(_composed(answer), re.IGNORECASE | re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(
            f"topic {shown(qid)}: answer {shown(answer)} is no regular expression ({error});"
            " mend it, or leave out --regex"
        ) from error


TOKENS = Matching(
    "DPR tokens (NFD, any case, accents significant)", _padded_tokens, _has_token, _is_sign, _token_finder
)
REGEX = Matching(
    "regular expressions (NFC, any case)", _composed, _tells_texts_apart, _finds_a_sign, _regex_finder
)


def holds_answer(body: str, answers: Sequence[str], matching: Matching = TOKENS) -> bool:
    """Whether the body of one passage holds one of the answers.

    Raises:
        InputError: an answer is to be a regular expression and is none.
    """
    return matching.finder("", answers)(matching.prepare(body))


def first_ranks(
    rankings: Mapping[str, Sequence[str]],
    answers: Mapping[str, Sequence[str]],
    bodies: Mapping[str, str],
    matching: Matching = TOKENS,
) -> dict[str, int]:
    """Rank, from 1, of the first passage that holds an answer, for the topics that have one.

    `bodies` are the texts of all passages in the rankings; each is prepared once, when it is needed.

    Raises:
        InputError: an answer is to be a regular expression and is none.
    """
    prepared: dict[str, str] = {}
    finders = {qid: matching.finder(qid, values) for qid, values in answers.items()}
    ranks: dict[str, int] = {}
    for qid, docids in rankings.items():
        if qid not in finders:
            continue
        for rank, docid in enumerate(docids, start=1):
            if docid not in prepared:
                prepared[docid] = matching.prepare(bodies[docid])
            if finders[qid](prepared[docid]):
                ranks[qid] = rank
                break
    return ranks


def usable(
    answers: Mapping[str, Sequence[str]], topics: Iterable[str], matching: Matching = TOKENS
) -> Usable:
    """The answers of the topics that can be looked for under a rule, and what was left out.

    Raises:
        InputError: an answer is to be a regular expression and is none.
    """
    kept: dict[str, Sequence[str]] = {}
    left_out: dict[str, int] = {}
    common: dict[str, int] = {}
    topics = list(dict.fromkeys(topics))
    for qid in topics:
        given = _each(answers.get(qid, ()))
        telling = [answer for answer in given if matching.tells(qid, answer)]
        n_common = sum(matching.common(qid, answer) for answer in telling)
        if len(telling) < len(given):
            left_out[qid] = len(given) - len(telling)
        if n_common:
            common[qid] = n_common
        if telling:
            kept[qid] = telling
    return Usable(kept, left_out, common, len(topics), [qid for qid in topics if qid not in kept])
