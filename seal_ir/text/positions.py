"""Where the tokens of a document are in its texts, as half-open ranges of characters.

Offsets are the tokenizer's own, of the text as the document has it: a tokenizer that lower-cases or strips
accents still says which characters a token was made of. Texts that it does not cut as the index has them
(imported indexes) are walked through by decoding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from seal_ir.arrays import Symbols
from seal_ir.records import Document
from seal_ir.text.symbols import BOUNDARY, FIRST_TOKEN, TITLE_END
from seal_ir.text.tokenizer import Span, TextTokenizer

CONTENTS = "contents"
_MOST_PARTS = 16  # tokens of one character, at most: four bytes, or a joined emoji piece by piece


class Place(NamedTuple):
    """A piece of a document's text.

    Attributes:
        field: "contents", or the name of a further field.
        value: which of the field's values, from 0.
        start, end: characters `[start, end)`.
    """

    field: str
    value: int
    start: int
    end: int


class _Piece(NamedTuple):
    """A field's value in a stream, with what each of its tokens covers."""

    first: int  # symbol of the stream
    field: str
    value: int
    shift: int  # characters before it in the field
    text: str
    spans: list[Span]


class Layout:
    """A document's stream laid over its texts; `contents` is the title, a line feed and the text."""

    def __init__(
        self, stream: Symbols, document: Document, names: dict[int, str], tokenizer: TextTokenizer
    ) -> None:
        """Find what every token covers.

        Args:
            stream: uint32 [m], the document's symbols.
            document: the same as text.
            names: of further fields, by the symbol that starts their values.
            tokenizer: the index's.
        """
        values = _values(stream)
        others = iter(document.further)
        texts = [document.title, document.text, *(value for _, value in others)]
        shift = len(document.title) + 1 if document.title else 0
        spans = token_spans(tokenizer, texts, [ids for _, _, ids in values])
        self._pieces: list[_Piece] = []
        numbers: dict[str, int] = {}
        for (first, start, _), text, covered in zip(values, texts, spans, strict=True):
            field = names.get(start, CONTENTS) if start not in (BOUNDARY, TITLE_END) else CONTENTS
            number = 0 if field == CONTENTS else numbers.get(field, 0)
            numbers[field] = number + 1
            before = shift if start == TITLE_END else 0
            self._pieces.append(_Piece(first, field, number, before, text, covered))

    def place(self, end: int, length: int) -> Place | None:
        """What an occurrence of `length` symbols covers that ends, exclusively, at symbol `end`.

        White space around it is left out. None if it covers no character.
        """
        for piece in self._pieces:
            lo = max(end - length - piece.first, 0)
            hi = min(end - piece.first, len(piece.spans))
            covered = [span for span in piece.spans[lo:hi] if span[0] < span[1]] if lo < hi else []
            if covered:
                start, stop = min(span[0] for span in covered), max(span[1] for span in covered)
                start, stop = _stripped(piece.text, start, stop)
                return Place(piece.field, piece.value, piece.shift + start, piece.shift + stop)
        return None


def token_spans(
    tokenizer: TextTokenizer, texts: Sequence[str], ids: Sequence[Sequence[int]]
) -> list[list[Span]]:
    """What each token of texts covers, `[start, end)` in characters; empty where that cannot be told.

    Tokens that hold parts of one character cover the whole character.

    Args:
        tokenizer: what made the tokens.
        texts: as documents have them.
        ids: the tokens of each, as the index has them.
    """
    found = []
    for text, known, (encoded, spans) in zip(texts, ids, tokenizer.encode_spans(texts), strict=True):
        found.append(spans if encoded == list(known) else _decoded_spans(tokenizer, text, known))
    return found


def _decoded_spans(tokenizer: TextTokenizer, text: str, ids: Sequence[int]) -> list[Span]:
    """By decoding a few tokens at a time, as many as make whole characters."""
    text = tokenizer.prefix + text
    spans: list[Span] = []
    at = first = 0
    for i in range(len(ids)):
        piece = tokenizer.decode(ids[first : i + 1])
        if text.startswith(piece, at):
            spans += [(at, at + len(piece))] * (i + 1 - first)
            at, first = at + len(piece), i + 1
        elif i - first >= _MOST_PARTS:
            break
    spans += [(at, at)] * (len(ids) - len(spans))
    n = len(tokenizer.prefix)
    return [(max(start - n, 0), max(end - n, 0)) for start, end in spans]


def _values(stream: Symbols) -> list[tuple[int, int, list[int]]]:
    """Title, body and values of further fields: first symbol, the control symbol before, and token ids."""
    found: list[tuple[int, int, list[int]]] = []
    inside = False
    for at, symbol in enumerate(stream.tolist()):
        if symbol >= FIRST_TOKEN:
            if inside:
                found[-1][2].append(symbol - FIRST_TOKEN)
            continue
        # A further field's value stands between two symbols, an odd one and an even one.
        inside = symbol in (BOUNDARY, TITLE_END) or symbol % 2 == 1
        if inside:
            found.append((at + 1, symbol, []))
    return found


def _stripped(text: str, start: int, end: int) -> Span:
    """Without white space at its ends, unless it is nothing else."""
    piece = text[start:end]
    if not piece.strip():
        return start, end
    return start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))
