"""Passages for tests of their formats, and what each format's own readers would find in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seal_ir.formats.runs.passages import PassageWriter
from seal_ir.formats.runs.shapes import Asked, Passage
from seal_ir.records import BODY, UNIGRAM, HitKey

KEY = HitKey("the Alps", BODY, 4.0, 3.5, 1.0, 2, -1.5, ((14, 22),))
WORD = HitKey("In", UNIGRAM, 0.5, 0.25, 0.1, 9, -3.0, ((11, 13),))
MONT_BLANC = Passage("12#0", 7, 3.5, "Mont Blanc", "In the Alps.", (KEY,))

# The passages of a topic, as JSON values, out of what a file holds of it.
FOUND: Mapping[str, Callable[[Any], list[Any]]] = {
    "passages": lambda topic: topic["passages"],
    "dpr": lambda topic: topic["ctxs"],
    "flashrag": lambda topic: topic["output"]["retrieval_result"],
    "flashrag-cache": lambda topic: topic,
    "ragatouille": lambda topic: topic["results"],
    "llama-index": lambda topic: topic["nodes"],
    "langchain": lambda topic: topic["documents"],
}


def write(path: Path, output_format: str, *topics: tuple[Asked, list[Passage]]) -> Path:
    """A file of passages."""
    with PassageWriter(path, output_format, {asked.qid: asked for asked, _ in topics}) as writer:
        for asked, passages in topics:
            writer.write(asked.qid, passages)
    return path


def loaded(path: Path, output_format: str) -> list[Any]:
    """What a file holds of each topic, by JSON's own reader."""
    text = path.read_text(encoding="utf-8")
    if output_format == "dpr":
        return list(json.loads(text))
    if output_format == "flashrag-cache":
        return list(json.loads(text).values())
    return [json.loads(line) for line in text.splitlines()]


def found(path: Path, output_format: str) -> list[list[Any]]:
    """The passages of each topic, by JSON's own reader."""
    return [FOUND[output_format](topic) for topic in loaded(path, output_format)]
