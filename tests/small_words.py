"""Four documents of six words, and their tokenizer: an index that is small enough to write by hand.

As a program, `python -m tests.small_words DIRECTORY [ENGINE]` builds it, as a frozen index for tests/data.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from seal_ir.index.engine import EngineSpec
from seal_ir.records import Document
from tests import tiny

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


def symbols_of(text: str) -> list[int]:
    """The symbols of words."""
    return [WORDS.index(word) + 16 for word in text.split()]


if __name__ == "__main__":
    from seal_ir.text.tokenizer import TextTokenizer

    spec = EngineSpec(*sys.argv[2:])
    tiny.build(
        Path(sys.argv[1]), DOCUMENTS, text_tokenizer=TextTokenizer(DEFINITION), store_raw=True, engine=spec
    )
