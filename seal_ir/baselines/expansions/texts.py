"""What GAR's files hold of what a model wrote: a whole sentence on a line, titles without repeats."""

from __future__ import annotations

import re
from dataclasses import dataclass

from seal_ir.arguments import check_least

SENTENCES, TITLES = "sentences", "titles"
KINDS = (SENTENCES, TITLES)  # GAR's "answers" would need a prompt that these models were not trained with
SEPARATOR = " *** "  # between titles, as in GAR's own files
# Before this word a sentence's end does not count: what is written begins in the middle of a sentence.
_FIRST_WORDS = 10
_SENTENCE_END = re.compile(r"[.!?][\"')\]\u201d\u2019]*(?=\s|$)")


@dataclass(frozen=True, slots=True)
class ExpansionConfig:
    """How much is written.

    Attributes:
        sentence_tokens: of a sentence at most.
        titles: how many are written by beam search; those that come to an end are kept.
        title_tokens: of a title at most.
        batch_size: questions that are written for together.
    """

    sentence_tokens: int = 30
    titles: int = 5
    title_tokens: int = 15
    batch_size: int = 16

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, sentence_tokens=1, titles=1, title_tokens=1, batch_size=1)


def sentence_of(text: str, finished: bool) -> str:
    """What a model wrote as a piece of a passage, on one line, to the end of a sentence.

    That is the first end from the tenth word on. Without one the last word is left out if it may be a half.

    Args:
        text: as written.
        finished: whether the model ended it by itself.
    """
    words = text.split()
    text = " ".join(words)
    start = len(" ".join(words[: _FIRST_WORDS - 1]))
    end = _SENTENCE_END.search(text, start)
    if end is not None:
        return text[: end.end()]
    return text if finished else text.rpartition(" ")[0]


def titles_of(texts: list[str]) -> str:
    """Titles as GAR's files have them, best first; of equal ones, in any case, only the first."""
    titles: dict[str, str] = {}
    for text in texts:
        title = " ".join(text.split())
        if title:
            titles.setdefault(title.casefold(), title)
    return SEPARATOR.join(titles.values())
