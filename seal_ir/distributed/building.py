"""Building an index as tasks of a Ray cluster: blocks are tokenised while more are read, then segments built.

One process reads the collection, as it has to see every id. Blocks of documents wait in Ray's object store,
which writes to disk what does not fit, until all are read and it is known where the segments end.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seal_ir.arguments import check_least
from seal_ir.arrays import Bools, Ints, Symbols
from seal_ir.distributed.cluster import Cluster, connected
from seal_ir.errors import ClusterError, SealError
from seal_ir.index.builder import BuildOptions
from seal_ir.index.manifest import SegmentInfo
from seal_ir.index.memory import Budget
from seal_ir.index.segmenting import Cutter, PhaseReport, Tokenised, tokenised
from seal_ir.index.segments import build_segment
from seal_ir.records import Document
from seal_ir.text.tokenizer import TextTokenizer
from seal_ir.text.words import FieldEncoder

_BLOCK = 2000  # documents that a task tokenises
_AHEAD = 4  # blocks that wait for each core


class Block(NamedTuple):
    """Some neighbouring documents with their streams, one after another."""

    documents: list[Document]
    symbols: Symbols
    lengths: Ints  # of the streams
    exact: Bools  # whether the tokenizer gives title and text back

    def items(self, first: int, end: int) -> Iterator[Tokenised]:
        """Documents [first, end) of it."""
        ends = np.cumsum(self.lengths)
        for at in range(first, min(end, len(self.documents))):
            symbols = self.symbols[ends[at] - self.lengths[at] : ends[at]]
            yield Tokenised(self.documents[at], symbols, bool(self.exact[at]))


@dataclass(frozen=True, slots=True)
class RaySegments:
    """Makes the segments of an index in a Ray cluster, whose nodes all find the index under its path.

    Attributes:
        cluster: where.
        shards: how many segments to make, of about as many tokens each; there are more where those would be
            larger than segments may be, and fewer of few documents.
    """

    cluster: Cluster
    shards: int

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        check_least(self, shards=1)

    def __call__(
        self,
        documents: Iterable[Document],
        working: Path,
        tokenizer: TextTokenizer,
        budget: Budget,
        options: BuildOptions,
        progress: PhaseReport,
    ) -> list[SegmentInfo]:
        """Write all segments into the working folder; see `build_index`.

        Raises:
            ClusterError: Ray is not installed, there is no such cluster, or it has lost a task for good.
            InputError: a document is longer than a segment may be.
            IndexDirError: the disk or memory is full; `budget` is that of each task.
            OSError: a file cannot be written.
        """
        ray = connected(self.cluster)
        cutter = Cutter(options.max_segment_tokens, budget, options.store_raw, options.all_stored)
        blocks, lengths = _read(ray, documents, tokenizer, options, progress)
        if not blocks:
            return []
        ends = _ends(np.concatenate(lengths), self.shards)
        build = ray.remote(_build).options(num_cpus=1)
        tasks, first = [], 0
        for number, end in enumerate(ends.tolist()):
            lo, hi = first // _BLOCK, -(-end // _BLOCK)
            place = str((working / f"task-{number:06d}").absolute())
            tasks.append(build.remote(place, cutter, blocks[lo:hi], first - lo * _BLOCK, end - lo * _BLOCK))
            first = end
        progress(f"building {len(tasks)} segments", first)
        segments: list[SegmentInfo] = []
        for number, found in enumerate(_results(ray, tasks)):
            for segment in found:
                name = f"segment-{len(segments):06d}"
                (working / f"task-{number:06d}" / segment.name).rename(working / name)
                segments.append(replace(segment, name=name))
            (working / f"task-{number:06d}").rmdir()
        return segments


def _read(
    ray: Any,
    documents: Iterable[Document],
    tokenizer: TextTokenizer,
    options: BuildOptions,
    progress: PhaseReport,
) -> tuple[list[Any], list[Ints]]:
    """Let blocks be tokenised while documents are read; the blocks in Ray's store, and lengths of streams."""
    tokenise = ray.remote(_tokenise).options(num_cpus=1, num_returns=2)
    definition = ray.put(tokenizer.definition)
    most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    blocks, lengths, left, n_read = [], [], iter(documents), 0
    while batch := list(islice(left, _BLOCK)):
        block, sizes = tokenise.remote(batch, definition, options.fields)
        blocks.append(block)
        lengths.append(sizes)
        n_read += len(batch)
        progress("tokenising", n_read)
        if len(lengths) > most:
            ray.wait([lengths[-most]], num_returns=1)
    return blocks, _results(ray, lengths)


def _tokenise(documents: list[Document], definition: str, fields: tuple[str, ...]) -> tuple[Block, Ints]:
    """In a task: a block, and the lengths of its streams."""
    items = list(tokenised(documents, _encoder(definition), fields, lambda phase, done: None))
    lengths = np.array([len(item.symbols) for item in items], dtype=np.int64)
    exact = np.array([item.exact for item in items], dtype=bool)
    return Block(documents, np.concatenate([item.symbols for item in items]), lengths, exact), lengths


@lru_cache(maxsize=1)
def _encoder(definition: str) -> FieldEncoder:
    """The encoder of a worker, which remembers words from task to task."""
    return FieldEncoder(TextTokenizer(definition))


def _build(place: str, cutter: Cutter, blocks: Sequence[Any], first: int, end: int) -> list[SegmentInfo]:
    """In a task: segments of the documents [first, end) of some blocks, in a folder of their own."""
    folder, spec = Path(place), cutter.budget.spec
    shutil.rmtree(folder, ignore_errors=True)  # of a task that was lost
    folder.mkdir()
    made = []
    temporary = folder / "temporary"
    for writer, _ in cutter.segments(_items(blocks, first, end), folder):
        temporary.mkdir()
        build_segment(writer.folder, temporary, spec)
        shutil.rmtree(temporary)
        size = writer.size
        made.append(SegmentInfo(writer.folder.name, spec.name, spec.layout, size.n_documents, size.n_tokens))
    return made


def _items(blocks: Sequence[Any], first: int, end: int) -> Iterator[Tokenised]:
    import ray

    for number, block in enumerate(blocks):
        at = number * _BLOCK
        yield from ray.get(block).items(max(0, first - at), end - at)


def _ends(lengths: Ints, n: int) -> Ints:
    """Where n segments of about as many tokens each end, in documents; fewer of few documents."""
    total = np.cumsum(lengths)
    nearest = [int(np.argmin(np.abs(total - total[-1] * part / n))) + 1 for part in range(1, n)]
    return np.unique([*nearest, len(lengths)])


def _results(ray: Any, tasks: Sequence[Any]) -> list[Any]:
    from ray import exceptions

    try:
        return list(ray.get(list(tasks)))
    except exceptions.RayTaskError as error:
        if isinstance(error.cause, SealError | OSError):
            raise error.cause from None
        raise
    except exceptions.RayError as error:
        raise ClusterError(
            "a task that builds the index is lost, and Ray could not bring it back; see whether its node runs"
            " (ray status) and has enough memory, and build again"
        ) from error
