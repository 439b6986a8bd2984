"""What readers take and give: passages of a question, and its answer with what it quotes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Context:
    r"""A passage that a reader is given.

    Attributes:
        docid: the document's id.
        title: its title; may be "".
        text: its text; may be "".
    """

    docid: str
    title: str
    text: str

    @property
    def contents(self) -> str:
        r"""`title + "\n" + text`, as `Hit.contents`: what places of citations are counted in."""
        return f"{self.title}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Citation:
    """A place that an answer quotes.

    Attributes:
        docid: the document.
        start, end: characters of its `Context.contents`, half-open.
        text: what stands there.
    """

    docid: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a reader says.

    Attributes:
        text: the answer in one line, without white space around it; "" where it found none.
        citations: places of the passages that the answer quotes, those of the best passage first.
    """

    text: str
    citations: tuple[Citation, ...] = ()
