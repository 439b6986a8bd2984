"""Where a quotation stands: how often in the collection, in which documents, at which characters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seal_ir.arguments import items, whole, wholes
from seal_ir.arrays import Symbols
from seal_ir.errors import ArgumentError, shown
from seal_ir.index.reader import Index
from seal_ir.records import BODY, TITLE, Document
from seal_ir.text.symbols import FIRST_TOKEN, split_further, split_stream, to_tokens


@dataclass(frozen=True, slots=True)
class Source:
    """One place of a quotation.

    Attributes:
        docid: the document.
        field: "title", "body" or a further field's name.
        start, end: characters of the field, half-open; None where the tokenizer does not give the document's
            text back as it was.
    """

    docid: str
    field: str
    start: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Quote:
    """A quotation.

    Attributes:
        text: without white space around it.
        tokens: as they were generated.
        count: F, how often these tokens stand in the collection.
        sources: the first places, as many as were asked for.
    """

    text: str
    tokens: tuple[int, ...]
    count: int
    sources: tuple[Source, ...]


def quotes(
    index: Index,
    tokens: Iterable[int],
    ends: Iterable[int] = (),
    separators: Iterable[int] = (),
    n_sources: int = 10,
) -> list[Quote]:
    """The quotations of a generated text, in order.

    Args:
        index: the collection's.
        tokens: what was generated after the prompt.
        ends: tokens that end the text; what follows the first of them does not count.
        separators: as `FMIndexLogitsProcessor` had them.
        n_sources: places to look up of each.

    Raises:
        ArgumentError: a part of the text stands nowhere in the collection, or what is given holds no tokens.
    """
    n_sources = whole(n_sources, "n_sources", 1)
    found, known = [], index.tokenizer.n_vocabulary
    given = wholes(tokens, "tokens").tolist()
    for span in _spans(given, set(token_ids(ends, "ends")), set(token_ids(separators, "separators"))):
        odd = next((token for token in span if not 0 <= token < known), None)
        if odd is not None:
            raise ArgumentError(f"tokens holds {odd}; those of {index.directory} are 0 to {known - 1}")
        ranges = index.find([token + FIRST_TOKEN for token in span])
        count = sum(hi - lo for lo, hi in ranges)
        text = index.tokenizer.decode(span)
        if not count:
            raise ArgumentError(f"{shown(text)} stands nowhere in {index.directory}")
        rows = [
            (segment, row) for segment, (lo, hi) in enumerate(ranges) for row in range(lo, hi)[:n_sources]
        ]
        sources = tuple(_source(index, span, *index.locate_row(*row)) for row in rows[:n_sources])
        found.append(Quote(text.strip(), tuple(span), count, sources))
    return found


def token_ids(values: Iterable[int], name: str) -> list[int]:
    """Token ids, which may be a set.

    Raises:
        ArgumentError: one is no integer of at least 0, or `values` holds none one after the other.
    """
    given = list(values) if isinstance(values, set | frozenset) else items(values, name)
    return [whole(token, name, 0) for token in given]


def _spans(tokens: Sequence[int], ends: set[int], separators: set[int]) -> Iterator[list[int]]:
    span: list[int] = []
    for token in tokens:
        if token in ends:
            break
        if token not in separators:
            span.append(token)
        elif span:
            yield span
            span = []
    if span:
        yield span


def _source(index: Index, span: Sequence[int], number: int, end: int) -> Source:
    """The place of a span that ends before the symbol at `end` of the stream of a document."""
    (stream,), (document,) = index.streams([number]), index.documents([number])
    starts = [at for at in range(end) if stream[at] < FIRST_TOKEN]
    marks = len(starts) - 1  # control symbols before the field: 0 in the title, 1 in the body
    first = starts[-1] + 1
    name, text, whole_field = _field(document, stream, marks)
    ids = to_tokens(stream[first : end - len(span)])
    tokenizer = index.tokenizer
    added = len(tokenizer.decode(whole_field)) - len(tokenizer.decode_field(whole_field))
    quoted = tokenizer.decode(span)
    start = len(tokenizer.decode(ids)) - added + len(quoted) - len(quoted.lstrip())
    stop = start + len(quoted.strip())
    if text[start:stop] != quoted.strip():
        return Source(document.id, name, None, None)
    return Source(document.id, name, start, stop)


def _field(document: Document, stream: Symbols, marks: int) -> tuple[str, str, list[int]]:
    """Name, text and tokens of the field after so many control symbols and one."""
    title, body = split_stream(stream)
    if marks == 0:
        return TITLE, document.title, to_tokens(title)
    if marks == 1:
        return BODY, document.text, to_tokens(body)
    number = (marks - 2) // 2  # each further value has a start and an end
    name, text = document.further[number]
    return name, text, to_tokens(split_further(stream)[number][1])
