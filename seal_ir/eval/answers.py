"""Whether a passage holds an answer: by tokens as in DPR, or by regular expressions."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from seal_ir.errors import InputError
from seal_ir.formats.files import shown

Finder = Callable[[str], bool]


class Matching(NamedTuple):
    """A rule for finding answers.

    Attributes:
        name: the rule in words, for the table.
        prepare: the form of a body that finders read; costly, so done once a passage.
        finder: from a topic's id and answers, the test of a prepared body.
    """

    name: str
    prepare: Callable[[str], str]
    finder: Callable[[str, Sequence[str]], Finder]


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


def _token_finder(qid: str, answers: Sequence[str]) -> Finder:
    """Whether a body has the tokens of an answer one after another; answers without tokens never match."""
    wanted = [f" {tokens} " for answer in answers if (tokens := token_text(answer))]
    return lambda body: any(tokens in body for tokens in wanted)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)  # one character for a dot or a class to match, not two


def _regex_finder(qid: str, answers: Sequence[str]) -> Finder:
    """Whether a pattern is found somewhere in a body; `^` and `$` also match at its line ends."""
    patterns = [_compiled(qid, answer) for answer in answers if answer]
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


TOKENS = Matching("DPR tokens (NFD, any case, accents significant)", _padded_tokens, _token_finder)
REGEX = Matching("regular expressions (NFC, any case)", _composed, _regex_finder)


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


def usable(answers: Mapping[str, Sequence[str]], topics: Iterable[str]) -> dict[str, Sequence[str]]:
    """The answers of those topics that have one with text in it."""
    return {
        qid: answers[qid]
        for qid in topics
        if qid in answers and any(answer and not answer.isspace() for answer in answers[qid])
    }
