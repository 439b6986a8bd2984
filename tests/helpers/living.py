"""An index that a writer changes again and again while others read, and what each commit holds.

`python -m tests.helpers.living write DIR SECONDS` makes a commit every second, or as soon as it can, and says
of each when it began and ended; `read DIR` searches until its stdin ends and says what it found, and when.
All times are `time.monotonic()`, which processes share.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from seal_ir.index.indexer import SealIndexer
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny

QUERIES = ["what is the capital of Japan", "the whale in the sea"]
_PAUSE = 0.1  # seconds between two searches of a reader, so that others have the processor, too
_ENDINGS = ["Japan", "France", "the sea", "the whale", "London", "the city"]


class Change(NamedTuple):
    """What a commit does to the one before."""

    added: list[Document]
    updated: list[Document]
    deleted: list[str]
    merges: bool


class Answer(NamedTuple):
    """What a reader found between two moments, for each query ids and scores."""

    began: float
    ended: float
    hits: list[list[list[str | float]]]


def changes() -> Iterator[Change]:
    """The changes of one commit after another, the first of which makes the index; always the same."""
    held: list[str] = []
    number = 0
    while True:
        chance = random.Random(number)
        known = chance.sample(held, min(len(held), 4))
        deleted, updated = known[:3], [_document(docid, number, chance) for docid in known[3:]]
        added = [_document(f"n{number}.{i}", number, chance) for i in range(3 if number else 30)]
        held = [docid for docid in held if docid not in known] + [d.id for d in (*added, *updated)]
        yield Change(added, updated, deleted, number % 7 == 6)
        number += 1


def _document(docid: str, number: int, chance: random.Random) -> Document:
    return Document(docid, "Tokyo", f"the capital of {chance.choice(_ENDINGS)} {number} {chance.random()}")


def states() -> Iterator[list[Document]]:
    """The documents that each commit holds, in order."""
    held: dict[str, Document] = {}
    for change in changes():
        for document in (*change.added, *change.updated):
            held.pop(document.id, None)
            held[document.id] = document
        for docid in change.deleted:
            del held[docid]
        yield list(held.values())


def make(writer: SealIndexer, change: Change) -> None:
    """Commit a change."""
    writer.add(change.added)
    writer.update(change.updated)
    writer.delete(change.deleted)
    if change.merges:
        writer.merge()
    else:
        writer.commit()


def answers(searcher: SealSearcher) -> list[list[list[str | float]]]:
    """For each query ids and scores of its hits."""
    found = searcher.batch_search(QUERIES, QUERIES, k=5)
    return [[[hit.docid, hit.score] for hit in found[query]] for query in QUERIES]


def read(searcher: SealSearcher, until: threading.Event, tell: Callable[[Answer], object]) -> None:
    """Refresh and search until an event is set, once at least."""
    while True:
        began = time.monotonic()
        searcher.refresh()
        hits = answers(searcher)
        tell(Answer(began, time.monotonic(), hits))
        if until.wait(_PAUSE):
            return


def _write(directory: Path, seconds: float) -> None:
    due = time.monotonic()
    last = due + seconds
    with SealIndexer(directory, tiny.tokenizer()) as writer:
        for change in changes():
            began = time.monotonic()
            make(writer, change)
            print(json.dumps([began, time.monotonic()]), flush=True)
            due += 1
            time.sleep(max(0.0, due - time.monotonic()))
            if time.monotonic() > last:
                return


def _read(directory: Path) -> None:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    read(SealSearcher(directory, tiny.generator()), ended, lambda found: print(json.dumps(found), flush=True))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        _write(Path(sys.argv[2]), float(sys.argv[3]))
    else:
        _read(Path(sys.argv[2]))
