"""An index that one process may change: where it lies, and how its new segments are made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from seal_ir.errors import IndexDirError, ModelError, UsageError, shown
from seal_ir.formats.collections.splitting import Split
from seal_ir.index.builder import BuildOptions
from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import (
    FIELDS,
    LIBRARIES,
    MANIFEST,
    Manifest,
    SegmentInfo,
    check_files,
    read_manifest,
)
from seal_ir.index.memory import Budget
from seal_ir.index.segmenting import Cutter, PhaseReport
from seal_ir.index.segments import SegmentWriter, build_segment
from seal_ir.text.pretrained import DEFAULT_MODEL, find_model, load_tokenizer
from seal_ir.text.tokenizer import TextTokenizer

Model = str | Path | TextTokenizer


@dataclass(frozen=True, slots=True)
class Home:
    """An index that one process may change.

    Attributes:
        directory: the index directory.
        working: a folder for what is in the making.
        tokenizer: the index's own.
        cutter: cuts documents into segments.
        progress: told of each phase.
    """

    directory: Path
    working: Path
    tokenizer: TextTokenizer
    cutter: Cutter
    progress: PhaseReport

    @property
    def spec(self) -> EngineSpec:
        """The engine of new segments."""
        return self.cutter.budget.spec

    @contextmanager
    def making(self) -> Iterator[Path]:
        """A new folder for one commit; it is gone afterwards."""
        folder = self.working / "commit"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def build(self, writer: SegmentWriter) -> SegmentInfo:
        """Build the FM-index of a closed segment.

        Raises:
            IndexDirError: the disk or memory is full.
            OSError: a file cannot be read or written.
        """
        name, size = writer.folder.name, writer.size
        temporary = self.working / "temporary"
        temporary.mkdir()
        what = f"building {name} of {size.n_tokens:,} tokens"
        build_segment(
            writer.folder,
            temporary,
            self.spec,
            lambda phase: self.progress(f"{what}: {phase}", size.n_documents),
        )
        shutil.rmtree(temporary)
        return SegmentInfo(name, self.spec.name, self.spec.layout, size.n_documents, size.n_tokens)


def begun(directory: Path, model: Model | None, options: BuildOptions) -> tuple[Manifest, TextTokenizer]:
    """The manifest to go on from, without segments where there is no index yet, and the tokenizer.

    Raises:
        UsageError: the options split documents otherwise than the index.
        ModelError: the model cannot be found, or its tokenizer is not the index's.
        IndexDirError: the index is damaged.
    """
    if (directory / MANIFEST).exists():
        base = read_manifest(directory)
        check_split(directory, base, options)
        check_files(directory, base, [base.tokenizer_file])
        tokenizer = TextTokenizer.from_file(directory / base.tokenizer_file)
        if model is not None and _tokenizer_of(model).fingerprint != tokenizer.fingerprint:
            raise ModelError(
                f"{directory}: built with the tokenizer of {base.model!r}, which is not that of"
                f" {_name_of(model)!r}; leave the model out, or index the collection again"
            )
        return base, tokenizer
    chosen = DEFAULT_MODEL if model is None else model
    tokenizer = _tokenizer_of(chosen)
    about = {"kind": "SealIndexer", **options.of_split}
    library = LIBRARIES[options.engine.name]
    fields = (*FIELDS, *options.fields)
    stored = dict(options.all_stored)
    return Manifest(
        _name_of(chosen), tokenizer.fingerprint, fields, library, (), {}, about, stored
    ), tokenizer


def check_split(directory: Path, base: Manifest, options: BuildOptions) -> None:
    """Refuse to split documents otherwise than those that are there.

    Raises:
        UsageError: the options name another split than the index's.
    """
    if options.splitting is not None and str(options.splitting) != base.split:
        told = "not split" if base.split is None else f"split by {base.split}"
        raise UsageError(
            f"{directory}: its documents are {told}, and an index keeps its own; leave out --split"
            f" {options.split}, or index the collection anew"
        )


def split_of(directory: Path, base: Manifest) -> Split | None:
    """How an index splits documents.

    Raises:
        IndexDirError: in a way that this program does not know.
    """
    try:
        return None if base.split is None else Split.parse(base.split)
    except (TypeError, UsageError) as error:
        raise IndexDirError(
            f"{directory}: its documents are split by {shown(base.split)}, which this program does not know;"
            " update it, or index the collection anew"
        ) from error


def cutter_for(base: Manifest, tokenizer: TextTokenizer, options: BuildOptions) -> Cutter:
    """How documents are cut into new segments, which are like those that are there.

    Raises:
        UsageError: the memory is too little for any segment.
    """
    spec, store_raw = options.engine, options.store_raw
    if base.segments:
        last = base.segments[-1]
        spec, store_raw = EngineSpec(last.engine, last.layout), base.has_raw
    budget = Budget(spec, tokenizer.n_symbols, options.memory)
    budget.check()
    return Cutter(options.max_segment_tokens, budget, store_raw, base.stored_fields)


def _tokenizer_of(model: Model) -> TextTokenizer:
    return model if isinstance(model, TextTokenizer) else load_tokenizer(find_model(os.fspath(model)))


def _name_of(model: Model) -> str:
    """By what the manifest knows a model; a folder by its full path, and a bare tokenizer by none."""
    if isinstance(model, TextTokenizer):
        return ""
    return str(Path(model).resolve()) if Path(model).is_dir() else os.fspath(model)
