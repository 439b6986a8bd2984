"""An index of the same documents in so many segments, as many in each, built once below the cache."""

from __future__ import annotations

import hashlib
import shutil
import sys
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path

from seal_ir.formats.io.resolve import Places
from seal_ir.index.engine import EngineSpec
from seal_ir.index.generations import building, commit, named_by_content
from seal_ir.index.manifest import MANIFEST, SegmentInfo, read_manifest
from seal_ir.index.memory import MAX_SEGMENT_TOKENS, Budget
from seal_ir.index.parts import opened_parts
from seal_ir.index.segmenting import Cutter
from seal_ir.index.segments import build_segment
from seal_ir.text.tokenizer import TextTokenizer


def cut(directory: Path, n_segments: int) -> Path:
    """The directory of an index of what `directory` holds in `n_segments` segments."""
    if len(read_manifest(directory).segments) == n_segments:
        return directory
    checksum = hashlib.sha256((directory / MANIFEST).read_bytes()).hexdigest()[:12]
    made = Places.from_environment().cache / "bench" / f"{directory.name}-{checksum}-{n_segments}-segments"
    if not made.is_dir():
        print(f"building {made}", file=sys.stderr)
        _build(directory, made, n_segments)
    return made


def _build(directory: Path, made: Path, n_segments: int) -> None:
    base = read_manifest(directory)
    tokenizer = TextTokenizer.from_file(directory / base.tokenizer_file)
    spec = EngineSpec(base.segments[-1].engine, base.segments[-1].layout)
    cutter = Cutter(MAX_SEGMENT_TOKENS, Budget(spec, tokenizer.n_symbols))
    items = chain.from_iterable(part.live() for part in opened_parts(directory, base))
    cuts = [base.n_documents * i // n_segments for i in range(n_segments + 1)]
    segments = []
    with building(made) as working:
        for number, (lo, hi) in enumerate(pairwise(cuts)):
            ((writer, _),) = cutter.segments(islice(items, hi - lo), working, number)
            temporary = working / "temporary"
            temporary.mkdir()
            build_segment(writer.folder, temporary, spec, lambda _: None)
            shutil.rmtree(temporary)
            size = writer.size
            segments.append(
                SegmentInfo(writer.folder.name, spec.name, spec.layout, size.n_documents, size.n_tokens)
            )
        shutil.copy(directory / base.tokenizer_file, working)
        named, files = named_by_content(working, segments)
        manifest = replace(base, segments=tuple(named), files=files, stored={})
        commit(made, working, manifest)
