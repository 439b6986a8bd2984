"""The engines under test, and how tests talk to them: one n-gram at a time, in plain Python."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

BOUNDARY = 1

Documents = Sequence[Sequence[int]]
Range = tuple[int, int]


def ranges(*pairs: Range) -> np.ndarray:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def symbols(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.uint32)


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def flatten(documents: Documents) -> tuple[np.ndarray, np.ndarray]:
    """The streams one after another, uint32 [n], and where each starts, int64 [n_documents]."""
    lengths = [len(document) for document in documents]
    starts = np.cumsum([0, *lengths])[:-1].astype(np.int64)
    return symbols(*(symbol for document in documents for symbol in document)), starts


class Probe:
    """An open engine with answers as tuples, lists and dicts."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def range(self, ngram: Sequence[int], start: Range | None = None) -> Range:
        """The rows of the n-gram, found by extending symbol by symbol from `start` (else from all rows)."""
        current = ranges((0, self.engine.n_rows) if start is None else start)
        for symbol in ngram:
            current = self.engine.extend(current, symbols(symbol))
        lo, hi = current[0].tolist()
        return lo, hi

    def count(self, ngram: Sequence[int]) -> int:
        lo, hi = self.range(ngram)
        return hi - lo

    def occurrences(self, ngram: Sequence[int]) -> list[tuple[int, int]]:
        rows = np.arange(*self.range(ngram), dtype=np.int64)
        return sorted((document, end) for document, end in self.engine.locate(rows).tolist())

    def successors(self, ngram: Sequence[int]) -> dict[int, Range]:
        offsets, found, extended = self.engine.successors(ranges(self.range(ngram)))
        assert offsets.tolist() == [0, len(found)]
        return {symbol: (lo, hi) for symbol, (lo, hi) in zip(found.tolist(), extended.tolist(), strict=True)}

    def extract(self, documents: Sequence[int]) -> list[list[int]]:
        offsets, found = self.engine.extract(integers(*documents))
        return [found[lo:hi].tolist() for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]


Factory = Callable[[Documents], Probe]


def sdsl(documents: Documents, boundary: int = BOUNDARY) -> Probe:
    from seal_ir import _sdsl

    streams, starts = flatten(documents)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "index")
        _sdsl.build(path, streams, starts, boundary, folder)
        return Probe(_sdsl.Engine.open(path))


def native(documents: Documents, boundary: int = BOUNDARY, sample_rate: int = 8) -> Probe:
    from seal_ir import _native
    from seal_ir.index.native import suffix_array

    streams, starts = flatten(documents)
    alphabet, text = _native.densify(streams, starts, boundary)
    suffixes = suffix_array(text, len(text) // len(streams))
    builder = _native.Builder.make(alphabet, text, suffixes, starts, boundary, sample_rate)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "index")
        builder.save(path)
        return Probe(_native.Engine.open(path))  # the file stays mapped when its name is gone


def among_others(factory: Factory, way: str, documents: Documents) -> Probe:
    """The documents as a view, `only` or `without`, of an engine that holds others between them."""
    source = random.Random(repr(documents))
    words = sorted({symbol for document in documents for symbol in document} - {BOUNDARY}) + [6, 10]
    mixed: list[Sequence[int]] = []
    named: dict[str, list[int]] = {"only": [], "without": []}

    def add(document: Sequence[int], kind: str) -> None:
        named[kind].append(len(mixed))
        mixed.append(document)

    def add_others() -> None:
        for _ in range(source.choice((0, 0, 1, 2))):
            copied = source.choice(documents)[1 : source.randrange(8)]
            new = source.choices(words, k=source.randrange(6))
            add([BOUNDARY, *copied, *new], "without")

    for document in documents:
        add_others()
        add(document, "only")
    add_others()
    chosen = source.sample(named[way], len(named[way]))
    return Probe(getattr(factory(mixed).engine, way)(integers(*chosen)))


FACTORIES: dict[str, Factory] = {
    "native": native,
    "native-small": partial(native, sample_rate=32),
    "native-fast": partial(native, sample_rate=1),
    "native-only": partial(among_others, native, "only"),
    "native-without": partial(among_others, native, "without"),
    "sdsl": sdsl,
    "sdsl-without": partial(among_others, sdsl, "without"),
}
MODULES = {name: f"seal_ir._{name.split('-')[0]}" for name in FACTORIES}


def ticks_during(call: Callable[[], object]) -> int:
    """How often this thread gets to run while another is inside `call`."""
    started, finished = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        call()
        finished.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    ticks = 0
    while not finished.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    return ticks
