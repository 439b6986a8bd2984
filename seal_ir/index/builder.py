"""Building an index: documents -> streams -> segments -> manifest.

The new index grows beside the old one, in a folder of its own, and takes its place by renaming when it
is complete: a build that dies leaves the old index as it was, and its debris is cleared by the next.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.index.documents import Text, write_documents
from seal_ir.index.engine import SDSL, EngineSpec, build_engine
from seal_ir.index.manifest import MANIFEST, Manifest, SegmentInfo, describe_files
from seal_ir.index.reader import ENGINE_FILE, TOKENIZER_FILE
from seal_ir.records import Document
from seal_ir.text.symbols import Symbols, stream
from seal_ir.text.tokenizer import TextTokenizer

MAX_SEGMENT_TOKENS = 1 << 30
FIELDS = ("title", "body")
_BATCH = 1000  # documents tokenised at a time
Progress = Callable[[str, int], None]  # phase, how many so far


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build.

    Attributes:
        engine: the FM-index engine.
        max_segment_tokens: a segment is closed before it would pass this many symbols.
    """

    engine: EngineSpec = EngineSpec(SDSL)
    max_segment_tokens: int = MAX_SEGMENT_TOKENS


@dataclass(slots=True)
class _Block:
    """The documents of the segment that is being filled."""

    streams: list[Symbols] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    texts: dict[int, Text] = field(default_factory=dict)
    n_tokens: int = 0


def build_index(
    documents: Iterable[Document],
    directory: Path,
    tokenizer: TextTokenizer,
    about: Callable[[], Mapping[str, Any]],
    options: BuildOptions = BuildOptions(),
    progress: Progress = lambda phase, done: None,
) -> Manifest:
    """Index documents; replaces an index that is already in `directory`.

    Args:
        documents: in the order that becomes the internal numbering; ids must be distinct.
        directory: the index directory.
        tokenizer: turns fields into ids.
        about: called when all documents are read; gives `model` and `collection` of the manifest.
        options: how to build.
        progress: told of each phase.

    Returns:
        The manifest of the finished index.

    Raises:
        UsageError: `directory` holds something that is not an index.
        InputError: there are no documents.
        IndexDirError: the index cannot be written (a full disk), or the engine was not built.
    """
    directory = Path(os.path.realpath(directory))  # a link stays, what it leads to is replaced
    working = directory.with_name(f".{directory.name}.building")
    try:
        _clear_debris(directory, working)
        _check_target(directory)
        working.mkdir(parents=True)
        segments = [
            _write_segment(working, f"segment-{i:06d}", block, options.engine, progress)
            for i, block in enumerate(_blocks(documents, tokenizer, options, progress))
        ]
        if not segments:
            raise InputError("no documents to index: every one was empty, malformed or left out")
        (working / TOKENIZER_FILE).write_text(tokenizer.definition, encoding="utf-8")
        manifest = Manifest(
            tokenizer=tokenizer.fingerprint,
            fields=FIELDS,
            segments=tuple(segments),
            files=describe_files(working),
            **about(),
        )
        (working / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        _replace(directory, working)
    except OSError as error:
        raise IndexDirError(f"{directory}: cannot write the index: {error.strerror or error}") from error
    finally:
        shutil.rmtree(working, ignore_errors=True)
    return manifest


def _blocks(
    documents: Iterable[Document], tokenizer: TextTokenizer, options: BuildOptions, progress: Progress
) -> Iterator[_Block]:
    """Consecutive documents, cut where a segment would grow too large: bounds depend on tokens only."""
    block = _Block()
    for n_documents, (document, symbols, exact) in enumerate(_tokenised(documents, tokenizer), start=1):
        if len(symbols) > options.max_segment_tokens:
            raise InputError(
                f"document {document.id!r} has {len(symbols)} tokens; a segment holds at most "
                f"{options.max_segment_tokens}; split it"
            )
        if block.ids and block.n_tokens + len(symbols) > options.max_segment_tokens:
            yield block
            block = _Block()
        if not exact:
            block.texts[len(block.ids)] = (document.title, document.text)
        block.streams.append(symbols)
        block.ids.append(document.id)
        block.n_tokens += len(symbols)
        if n_documents % _BATCH == 0:
            progress("tokenising", n_documents)
    if block.ids:
        yield block


def _tokenised(
    documents: Iterable[Document], tokenizer: TextTokenizer
) -> Iterator[tuple[Document, Symbols, bool]]:
    """Each document with its stream, and whether the tokenizer gives its fields back exactly."""
    stream_of = iter(documents)
    while batch := list(islice(stream_of, _BATCH)):
        fields = [text for document in batch for text in (document.title, document.text)]
        ids = tokenizer.encode_fields(fields)
        back = tokenizer.decode_fields(ids)
        for i, document in enumerate(batch):
            exact = back[2 * i] == document.title and back[2 * i + 1] == document.text
            yield document, stream(ids[2 * i], ids[2 * i + 1]), exact


def _write_segment(
    working: Path, name: str, block: _Block, engine: EngineSpec, progress: Progress
) -> SegmentInfo:
    folder, temporary = working / name, working / "temporary"
    folder.mkdir()
    temporary.mkdir()
    progress(f"building {name} of {block.n_tokens:,} tokens", len(block.ids))
    lengths = np.array([len(symbols) for symbols in block.streams], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    build_engine(engine, folder / ENGINE_FILE, np.concatenate(block.streams), starts, temporary)
    write_documents(folder, block.ids, block.texts)
    shutil.rmtree(temporary)
    return SegmentInfo(name, engine.name, len(block.ids), block.n_tokens)


def _clear_debris(directory: Path, working: Path) -> None:
    """Remove what a killed build has left; an old index that it was about to replace goes back."""
    old = _old(directory)
    if (old / MANIFEST).is_file() and not directory.exists():
        old.replace(directory)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(working, ignore_errors=True)


def _old(directory: Path) -> Path:
    return directory.with_name(f".{directory.name}.old")


def _check_target(directory: Path) -> None:
    if not directory.exists():
        return
    if not directory.is_dir():
        raise UsageError(f"{directory}: is a file; give a directory for the index")
    if any(directory.iterdir()) and not (directory / MANIFEST).is_file():
        raise UsageError(f"{directory}: holds files that are not an index; choose an empty or new directory")


def _replace(directory: Path, working: Path) -> None:
    """Put the finished index in its place. Two renames: a reader sees the old index or the new one."""
    if not directory.exists():
        working.replace(directory)
        return
    old = _old(directory)
    directory.replace(old)
    try:
        working.replace(directory)
    except OSError:
        old.replace(directory)
        raise
    shutil.rmtree(old, ignore_errors=True)
