"""Where an answer stands in the passages that it was read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seal_ir.read.records import Citation, Context

MOST_CITATIONS = 10


def citations(answer: str, contexts: Sequence[Context], most: int = MOST_CITATIONS) -> tuple[Citation, ...]:
    """The places at which the answer stands letter by letter, passage by passage in their order.

    Places at which it begins and ends where words do are the only ones, unless there is none.

    Args:
        answer: its text; "" stands nowhere.
        contexts: the passages.
        most: how many places are told.
    """
    found = list(_places(answer, contexts)) if answer else []
    whole = [place for place in found if _is_whole(place, contexts)]
    return tuple(citation for _, citation in (whole or found)[:most])


def _places(answer: str, contexts: Sequence[Context]) -> Iterator[tuple[int, Citation]]:
    """Number of the passage and place, of every occurrence."""
    for number, context in enumerate(contexts):
        contents = context.contents
        at = contents.find(answer)
        while at >= 0:
            yield number, Citation(context.docid, at, at + len(answer), answer)
            at = contents.find(answer, at + len(answer))


def _is_whole(place: tuple[int, Citation], contexts: Sequence[Context]) -> bool:
    """Whether no word goes on across either end of a place."""
    number, citation = place
    contents = contexts[number].contents
    return not any(
        _joined(contents[max(at - 1, 0) : at], contents[at : at + 1]) for at in (citation.start, citation.end)
    )


def _joined(before: str, after: str) -> bool:
    """Whether two characters are of one word."""
    return before.isalnum() and after.isalnum()
