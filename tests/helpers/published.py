"""Indexes as the published system writes them, made of documents of `tests.helpers.tiny`."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.records import Document
from tests.helpers import tiny

SHIFT, EOS = 10, 2


def token_list(document: Document) -> list[int]:
    """`title @@ body </s>`, tokenised as one text, as a title has a space before it."""
    text = f" {document.title} @@ {document.text}"
    return [*tiny.tokenizer().encode(text), EOS]


def write(
    prefix: Path,
    lists: Sequence[Sequence[int]],
    labels: Sequence[str] | None,
    side: Callable[[Any], Any] = lambda value: value,
    protocol: int = pickle.DEFAULT_PROTOCOL,
) -> None:
    """Write both files; `side` may change what the side file holds."""
    from seal_ir import _sdsl

    text = np.array([token + SHIFT for tokens in lists for token in tokens], dtype=np.uint32)
    _sdsl.build_published(str(prefix) + ".fmi", text)
    beginnings = np.cumsum([0, *map(len, lists)]).tolist()
    value = side((beginnings, set(text.tolist()), None if labels is None else list(labels)))
    Path(str(prefix) + ".oth").write_bytes(pickle.dumps(value, protocol))
