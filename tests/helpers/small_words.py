"""Four documents of six words, and their tokenizer: an index that is small enough to write by hand.

`CORPORA` has what frozen indexes hold, by their format: `PLAIN` or `WITH_FIELDS`.

As a program, `python -m tests.helpers.small_words DIRECTORY [ENGINE]` builds one of the newest format, frozen
for tests/data.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import NEWEST_FORMAT
from seal_ir.records import Document
from tests.helpers import tiny

WORDS = ["harbour", "the", "sea", "is", "calm", "[UNK]"]
DEFINITION = json.dumps(
    {
        "added_tokens": [],
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "unk_token": "[UNK]",
            "vocab": {word: i for i, word in enumerate(WORDS)},
        },
        "normalizer": None,
        "padding": None,
        "post_processor": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "truncation": None,
        "version": "1.0",
    },
    sort_keys=True,
    ensure_ascii=False,
)
DOCUMENTS = [
    Document(
        "b", "harbour", "the sea is", '{"id": "b", "title": "harbour", "contents": "the sea is", "n": 1.0}'
    ),
    Document("a", "", "sea is calm", '{ "id":"a","contents":"sea is calm" }'),
    Document("\u00e9", "calm", "the  sea is", '{"id": "\u00e9", "title": "calm", "contents": "the  sea is"}'),
    Document("B", "harbour the", "[UNK] [UNK] [UNK]", None),
]
FURTHER = {
    "b": (("docid", "calm sea"),),
    "a": (("tags", "sea"),),
    "\u00e9": (("docid", "calm is"), ("tags", "the sea"), ("tags", "harbour")),
}


class Corpus(NamedTuple):
    """Documents and what their index must answer, worked out by hand."""

    documents: list[Document]
    fields: tuple[str, ...]  # further ones
    streams: list[list[int]]
    places: dict[str, list[tuple[int, int]]]  # document and end of each occurrence
    counts: dict[int, int]  # by symbol


PLAIN = Corpus(
    DOCUMENTS,
    (),
    [[1, 16, 2, 17, 18, 19], [1, 2, 18, 19, 20], [1, 20, 2, 17, 18, 19], [1, 16, 17, 2, 21, 21, 21]],
    {"the sea": [(0, 5), (2, 5)], "sea is": [(0, 6), (1, 4), (2, 6)]},
    {1: 4, 2: 4, 16: 2, 17: 3, 18: 3, 19: 3, 20: 2, 21: 3},
)
WITH_FIELDS = Corpus(
    [document._replace(further=FURTHER.get(document.id, ())) for document in DOCUMENTS],
    ("docid", "tags"),
    [
        [1, 16, 2, 17, 18, 19, 3, 20, 18, 4],
        [1, 2, 18, 19, 20, 5, 18, 6],
        [1, 20, 2, 17, 18, 19, 3, 20, 19, 4, 5, 17, 18, 6, 5, 16, 6],
        [1, 16, 17, 2, 21, 21, 21],
    ],
    {
        "the sea": [(0, 5), (2, 5), (2, 13)],
        "sea is": [(0, 6), (1, 4), (2, 6)],
        "calm sea": [(0, 9)],
        "calm is": [(2, 9)],
        "is calm": [(1, 5)],
    },
    {1: 4, 2: 4, 3: 2, 4: 2, 5: 3, 6: 3, 16: 3, 17: 4, 18: 6, 19: 4, 20: 4, 21: 3},
)
CORPORA = {2: PLAIN, 3: WITH_FIELDS, 4: WITH_FIELDS, 5: WITH_FIELDS}


def symbols_of(text: str) -> list[int]:
    """The symbols of words."""
    return [WORDS.index(word) + 16 for word in text.split()]


if __name__ == "__main__":
    from seal_ir.text.tokenizer import TextTokenizer

    corpus = CORPORA[NEWEST_FORMAT]
    tiny.build(
        Path(sys.argv[1]),
        corpus.documents,
        text_tokenizer=TextTokenizer(DEFINITION),
        store_raw=True,
        engine=EngineSpec(*sys.argv[2:]),
        fields=corpus.fields,
    )
