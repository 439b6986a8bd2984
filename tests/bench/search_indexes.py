"""Indexes of the same documents for another tokenizer or engine, built once below the cache."""

from __future__ import annotations

import hashlib
import os
import sys
from bisect import bisect_left
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.extensions import NATIVE, SDSL
from seal_ir.formats.io.resolve import Places
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.index.registry import named_index
from seal_ir.records import Document
from seal_ir.text.tokenizer import TextTokenizer

_AT_ONCE = 1000  # documents read together
_WHOLE = np.zeros(1, dtype=np.int64)  # where the one document starts that is the whole text


def bart_tokenizer() -> Path | None:
    """The real one's file, where it lies beside the real data."""
    data = os.environ.get("SEAL_IR_DATA")
    path = Path(data).parent / "models" / "bart-tokenizer" / "tokenizer.json" if data else None
    return path if path is not None and path.is_file() else None


def source(name: str) -> Path:
    """The directory of an index, by that or by its registered name."""
    return Path(name) if Path(name).is_dir() else named_index(name, Places.from_environment()).directory


def index_like(directory: Path, engine: str, tokenizer: Path | None = None) -> Path:
    """The directory of an index of the same documents with this engine, and this tokenizer if given."""
    index = Index(directory)
    wanted = TextTokenizer.from_file(tokenizer) if tokenizer else index.tokenizer
    if {segment.engine for segment in index.manifest.segments} == {engine} and (
        wanted.fingerprint == index.manifest.tokenizer
    ):
        return directory
    name = f"{directory.name}-{_checksum(directory)}-{wanted.fingerprint[:8]}-{engine}"
    made = Places.from_environment().cache / "bench" / name
    if not made.is_dir():
        print(f"building {made}", file=sys.stderr)
        about = {"model": index.manifest.model, "collection": {"kind": "bench"}}
        build_index(_documents(index), made, wanted, lambda: about, BuildOptions(engine=EngineSpec(engine)))
    return made


class PublishedEngine:
    """The published configuration (`csa_wt_int<>`) behind our interface; it has the rows of our sdsl engine.

    Only the successors are that engine's, which is faster: the baseline's own binding counts them and does
    not name them.
    """

    def __init__(self, engine: Any, baseline: Any, starts: np.ndarray) -> None:
        self._baseline, self._bounds = baseline, starts.tolist()
        self.n_rows, self.n_documents = engine.n_rows, engine.n_documents
        self.successors, self.verify = engine.successors, engine.verify

    def extend(self, ranges: np.ndarray, symbols: np.ndarray) -> np.ndarray:
        """See `Engine.extend`; the binding returns its seconds before the answer, here and below."""
        return self._baseline.extend(ranges, symbols)[1]

    def locate(self, rows: np.ndarray) -> np.ndarray:
        """See `Engine.locate`."""
        return np.array([self.place(row) for row in rows.tolist()], dtype=np.int64).reshape(-1, 2)

    def place(self, row: int) -> tuple[int, int]:
        """Document and end of one row: the binding tells the place in the text, and a bisection the document.

        Told where all documents start, the binding would check that list in each call.
        """
        end = int(self._baseline.locate(np.array([row]), _WHOLE)[1][0, 1])
        document = bisect_left(self._bounds, end) - 1
        return document, end - self._bounds[document]

    def extract(self, documents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Engine.extract`; one at a time."""
        texts = [self._text(number) for number in documents.tolist()]
        offsets = np.cumsum([0, *map(len, texts)]).astype(np.int64)
        return offsets, np.concatenate([np.empty(0, np.uint32), *texts])

    def _text(self, document: int) -> np.ndarray:
        starts = np.array([0, *self._bounds[max(document, 1) : document + 2]], dtype=np.int64)
        which = np.array([1 if document else 0])
        found: np.ndarray = self._baseline.extract(which, starts)[2]
        return found


def use_published_engine(index: Index) -> None:
    """Let an index of the sdsl engine answer from the published configuration, where that was prepared."""
    engines: list[Any] = []
    for segment, engine in zip(index.manifest.segments, index._engines, strict=True):
        path = _published_file(index, segment.name)
        if not path.is_file():
            return
        starts = np.load(path.with_suffix(".npy"))
        engines.append(PublishedEngine(engine, _sdsl().Baseline.open(str(path)), starts))
    index._engines, index.stores = engines, None
    bases = index._bases.tolist()

    def locate_row(segment: int, row: int) -> tuple[int, int]:
        document, end = engines[segment].place(row)
        return document + bases[segment], end

    index.locate_row = locate_row  # type: ignore[method-assign]


def build_published(index: Index) -> None:
    """The published configuration's files, once; about 65 bytes of memory a token."""
    if not hasattr(_sdsl(), "Baseline"):
        return
    for segment, engine in zip(index.manifest.segments, index._engines, strict=True):
        path = _published_file(index, segment.name)
        if not path.is_file():
            print(f"building {path}", file=sys.stderr)
            path.parent.mkdir(parents=True, exist_ok=True)
            offsets, symbols = engine.extract(np.arange(segment.n_documents))
            np.save(path.with_suffix(".npy"), offsets[:-1])
            building = path.with_suffix(".building")
            _sdsl().build_published(str(building), symbols)
            building.replace(path)


def _published_file(index: Index, segment: str) -> Path:
    name = f"{index.directory.name}-{_checksum(index.directory)}-{segment}.published"
    return Places.from_environment().cache / "bench" / name


def _sdsl() -> Any:
    return import_module("seal_ir._sdsl")


def main(arguments: list[str]) -> None:
    """Prepare an index for one side and print its directory: NAME SIDE TOKENIZER."""
    name, side, tokenizer = arguments
    published = side == "published"
    chosen = bart_tokenizer() if tokenizer == "bart" else None
    directory = index_like(source(name), SDSL if published else our_engine(), chosen)
    if published:
        build_published(Index(directory))
    print(directory)


def our_engine() -> str:
    """The native engine where it was built, else the paper's."""
    try:
        from seal_ir import _native  # noqa: F401
    except ImportError:
        return SDSL
    return NATIVE


def _checksum(directory: Path) -> str:
    return hashlib.sha256((directory / MANIFEST).read_bytes()).hexdigest()[:8]


def _documents(index: Index) -> Iterator[Document]:
    for at in range(0, index.n_documents, _AT_ONCE):
        yield from index.documents(range(at, min(at + _AT_ONCE, index.n_documents)))


if __name__ == "__main__":
    main(sys.argv[1:])
