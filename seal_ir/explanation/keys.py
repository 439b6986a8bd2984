"""The parts of a document's score as keys with texts and places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from seal_ir.arrays import Ints, Symbols
from seal_ir.config import RankConfig
from seal_ir.index.directory import damaged
from seal_ir.index.reader import Index
from seal_ir.rank.taken import places
from seal_ir.rank.weights import weights_of
from seal_ir.records import Document, HitKey, Key, ScoredKey
from seal_ir.text.positions import CONTENTS, Layout, Place
from seal_ir.text.symbols import to_tokens

_PART = "\N{REPLACEMENT CHARACTER}"  # what a piece of a character is decoded to


def contents_of(document: Document) -> str:
    """Title, a line feed and the text; the text alone where there is no title."""
    return f"{document.title}\n{document.text}" if document.title else document.text


def ranked_keys(
    index: Index,
    config: RankConfig,
    number: int,
    document: Document,
    matched: Sequence[ScoredKey],
    score: float,
) -> tuple[HitKey, ...]:
    """The keys of a ranked document.

    Args:
        index: what it was ranked in.
        config: how.
        number: the document's.
        document: the same.
        matched: the parts of its score.
        score: their sum.

    Raises:
        IndexDirError: the index is damaged.
    """
    stream = index.streams([number])[0]
    try:
        ends = places(matched, stream)
    except ValueError as error:
        raise damaged(index.directory, f"document {document.id}: {error}") from error
    return hit_keys(index, config, document, stream, matched, ends, score)


def hit_keys(
    index: Index,
    config: RankConfig,
    document: Document,
    stream: Symbols,
    matched: Sequence[ScoredKey],
    ends: Sequence[Ints],
    score: float,
) -> tuple[HitKey, ...]:
    """Keys of which is known where they end in a document's stream; see `ranked_keys`."""
    names = {marks.start: name for name, marks in index.whole_fields.items()}
    layout = Layout(stream, document, names, index.tokenizer)
    parts = list(matched)
    texts = key_texts(index, [part.key for part in parts])
    weights = weights_of([part.key for part in parts], config, index.n_tokens)
    contents = contents_of(document)
    found = []
    for part, text, weight, of_part in zip(parts, texts, weights.tolist(), ends, strict=True):
        length = len(part.key.symbols)
        its = [place for end in of_part.tolist() if (place := layout.place(end, length)) is not None]
        found.append(
            HitKey(
                text=_whole(text, its, contents, document),
                kind=part.key.kind,
                weight=weight,
                share=part.weight,
                fraction=part.weight / score if score else 1.0 / len(parts),
                count=part.key.count,
                logprob=part.key.logprob,
                positions=tuple((place.start, place.end) for place in its if place.field == CONTENTS),
                further=tuple(
                    (place.field, place.value, place.start, place.end)
                    for place in its
                    if place.field != CONTENTS
                ),
            )
        )
    return tuple(found)


def query_keys(index: Index, config: RankConfig, scored: Iterable[ScoredKey]) -> tuple[HitKey, ...]:
    """Keys that add nothing to a document, with their weights and no places."""
    parts = list(scored)
    texts = key_texts(index, [part.key for part in parts])
    return tuple(
        HitKey(text, part.key.kind, part.weight, 0.0, 0.0, part.key.count, part.key.logprob)
        for part, text in zip(parts, texts, strict=True)
    )


def key_texts(index: Index, keys: Sequence[Key]) -> list[str]:
    """What keys read, without white space at their ends unless they are nothing else."""
    texts = [index.tokenizer.decode(to_tokens(np.array(key.symbols, np.uint32))) for key in keys]
    return [text.strip() or text for text in texts]


def _whole(text: str, places: Sequence[Place], contents: str, document: Document) -> str:
    """The text of a key; where its tokens cut a character, what it covers in the document."""
    if _PART not in text or not places:
        return text
    place = places[0]
    if place.field == CONTENTS:
        return contents[place.start : place.end]
    values = [value for name, value in document.further if name == place.field]
    return values[place.value][place.start : place.end]
