"""Thirty-six collections of 5 to 50 documents, with questions that one document of them obviously answers.

tests/data/tiny/NAME.tsv: title and text of a document a line, an empty title for none; a blank line; question
and number of its document, from 0, a line. All is written for this project.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from seal_ir.records import Query

_FOLDER = Path(__file__).parents[1] / "data" / "tiny"


class TinyCollection(NamedTuple):
    """Documents, and queries with the ids of the documents that answer them."""

    name: str
    documents: list[tuple[str, str]]  # title, text; the id is the number
    queries: list[Query]
    right: dict[str, str]

    def write(self, folder: Path) -> Path:
        """A JSON collection as Pyserini's users write it: `contents` is title, line feed and text."""
        path = folder / f"{self.name}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number, (title, text) in enumerate(self.documents):
                contents = f"{title}\n{text}" if title else text
                file.write(json.dumps({"id": str(number), "contents": contents}) + "\n")
        return path


def tiny_collections() -> list[TinyCollection]:
    """All of them, by name."""
    return [_read(path) for path in sorted(_FOLDER.glob("*.tsv"))]


def _read(path: Path) -> TinyCollection:
    upper, lower = path.read_text(encoding="utf-8").strip("\n").split("\n\n")
    documents = [(title, text) for title, text in (line.split("\t") for line in upper.split("\n"))]
    queries, right = [], {}
    for number, line in enumerate(lower.split("\n")):
        question, answer = line.split("\t")
        queries.append(Query(f"{path.stem}-{number}", question))
        right[queries[-1].id] = answer
    return TinyCollection(path.stem, documents, queries, right)
