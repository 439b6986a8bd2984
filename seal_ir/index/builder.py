"""Building an index: documents -> streams -> segments -> manifest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from seal_ir.arguments import check_least
from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.splitting import Split, with_positions
from seal_ir.formats.collections.stored import StoredFields, stored_fields
from seal_ir.index.directory import unwritable
from seal_ir.index.document_checks import checked
from seal_ir.index.engine import EngineSpec
from seal_ir.index.generations import building, commit, named_by_content
from seal_ir.index.manifest import (
    FIELDS,
    LIBRARIES,
    SPLIT,
    Manifest,
    SegmentInfo,
    tokenizer_name,
)
from seal_ir.index.memory import MAX_SEGMENT_TOKENS, Budget, Size
from seal_ir.index.pages import pieces
from seal_ir.index.segmenting import Cutter, PhaseReport, Tokenised, tokenised
from seal_ir.index.segments import build_segment
from seal_ir.index.workers import Workers
from seal_ir.records import Document
from seal_ir.text.symbols import MAX_FURTHER
from seal_ir.text.tokenizer import TextTokenizer
from seal_ir.text.words import FieldEncoder


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build. The index depends on all but `threads`.

    Attributes:
        engine: the FM-index engine.
        max_segment_tokens: a segment is closed before it would pass this many symbols, or the engine's limit.
        store_raw: keep every record as it was read.
        memory: bytes that the build may take, all its processes together; None for no limit.
        fields: names of the further fields that documents have, beside title and body.
        store: fields of JSON records to store, to filter by: NAME or NAME:TYPE each; see `stored_fields`.
        threads: segments that are built at a time, in processes of their own, where there are several.
        split: cut documents into passages: words:N or words:N:OVERLAP, see `Split`; None for whole ones.
    """

    engine: EngineSpec = EngineSpec()
    max_segment_tokens: int = MAX_SEGMENT_TOKENS
    store_raw: bool = False
    memory: int | None = None
    threads: int = 1
    fields: tuple[str, ...] = ()
    store: tuple[str, ...] = ()
    split: str | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        check_least(self, max_segment_tokens=1, threads=1)
        if len(self.fields) > MAX_FURTHER:
            raise UsageError(f"{len(self.fields)} further fields; an index has at most {MAX_FURTHER}")
        _ = self.all_stored

    @property
    def stored(self) -> StoredFields:
        """The fields of records to store.

        Raises:
            UsageError: `store` means nothing.
        """
        return stored_fields(self.store)

    @property
    def splitting(self) -> Split | None:
        """How documents are cut into passages.

        Raises:
            UsageError: `split` means nothing.
        """
        return None if self.split is None else Split.parse(self.split)

    @property
    def all_stored(self) -> StoredFields:
        """The fields to store, with those that say where passages stood.

        Raises:
            UsageError: `store` or `split` means nothing, or a field has the name of one of these.
        """
        return self.stored if self.splitting is None else with_positions(self.stored)

    @property
    def of_split(self) -> dict[str, str]:
        """What the manifest's `collection` says of the split; nothing where there is none."""
        return {} if self.splitting is None else {SPLIT: str(self.splitting)}


Segmenting = Callable[
    [Iterable[Document], Path, TextTokenizer, Budget, BuildOptions, PhaseReport], list[SegmentInfo]
]


def segmented(
    documents: Iterable[Document],
    working: Path,
    tokenizer: TextTokenizer,
    budget: Budget,
    options: BuildOptions,
    progress: PhaseReport,
) -> list[SegmentInfo]:
    """Write the segments of documents into the working folder, on this machine; see `build_index`."""
    items = tokenised(documents, FieldEncoder(tokenizer), options.fields, progress)
    return _build_segments(items, working, budget, options, progress)


def build_index(
    documents: Iterable[Document],
    directory: Path,
    tokenizer: TextTokenizer,
    about: Callable[[], Mapping[str, Any]],
    options: BuildOptions = BuildOptions(),
    progress: PhaseReport = lambda phase, done: None,
    segmenting: Segmenting = segmented,
) -> Manifest:
    """Index documents; replaces an index that is already in `directory`.

    Args:
        documents: in the order that becomes the internal numbering; ids must be distinct.
        directory: the index directory.
        tokenizer: turns fields into ids.
        about: called when all documents are read; gives `model` and `collection` of the manifest.
        options: how to build.
        progress: told of each phase.
        segmenting: makes the segments, here or elsewhere.

    Returns:
        The manifest of the finished index.

    Raises:
        UsageError: `directory` holds something that is not an index, or is being built by another process;
            the memory is too little for any build.
        ArgumentError: one of `documents` is no `Document` of texts; names its place and what it holds.
        InputError: there are no documents, one is longer than a segment, or cannot be split for its id.
        IndexDirError: the index cannot be written (a full disk), or the engine was not built; memory ran out.
    """
    documents = pieces(checked(documents, options.fields, options.stored), options.splitting)
    directory = Path(os.path.realpath(directory))  # a link stays, what it leads to is replaced
    if not directory.name:
        raise UsageError(f"{directory}: cannot be an index; name a directory below it")
    budget = Budget(options.engine, tokenizer.n_symbols, options.memory)
    budget.check()
    try:
        with building(directory) as working:
            segments = segmenting(documents, working, tokenizer, budget, options, progress)
            if not segments:
                raise InputError("no documents to index: every one was empty, malformed or left out")
            path = working / tokenizer_name(tokenizer.fingerprint)
            path.write_text(tokenizer.definition, encoding="utf-8", newline="\n")
            progress("computing checksums", sum(segment.n_documents for segment in segments))
            segments, files = named_by_content(working, segments)
            told = about()
            manifest = Manifest(
                tokenizer=tokenizer.fingerprint,
                fields=(*FIELDS, *options.fields),
                library=LIBRARIES[options.engine.name],
                segments=tuple(segments),
                files=files,
                stored=dict(options.all_stored),
                **{**told, "collection": {**told["collection"], **options.of_split}},
            )
            commit(directory, working, manifest)
    except OSError as error:
        raise unwritable(directory, error) from error
    return manifest


def _build_segments(
    items: Iterable[Tokenised], working: Path, budget: Budget, options: BuildOptions, progress: PhaseReport
) -> list[SegmentInfo]:
    """Write all segments into the working folder.

    With several threads, other processes build the segments while this one reads, unless there is but one.
    """
    spec, n_read = options.engine, 0
    cutter = Cutter(options.max_segment_tokens, budget, options.store_raw, options.all_stored)
    segments: list[SegmentInfo] = []
    with Workers(options.threads, budget) as workers:
        for writer, last in cutter.segments(items, working):
            name, size = writer.folder.name, writer.size
            n_read += size.n_documents
            temporary = working / f"temporary-{name}"
            temporary.mkdir()
            told = partial(_tell, progress, f"building {name} of {size.n_tokens:,} tokens", size)
            if options.threads == 1 or (last and not segments):
                build_segment(writer.folder, temporary, spec, told)
            else:
                workers.start(writer.folder, temporary, size, n_read, told)
            segments.append(SegmentInfo(name, spec.name, spec.layout, size.n_documents, size.n_tokens))
        workers.finish()
    for segment in segments:
        shutil.rmtree(working / f"temporary-{segment.name}")
    return segments


def _tell(progress: PhaseReport, what: str, size: Size, phase: str) -> None:
    progress(f"{what}: {phase}", size.n_documents)
