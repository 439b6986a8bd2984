"""An index that grew by many small commits, beside the same documents merged into one segment.

`python tests/bench/bench_commits.py [--index DIR] [--topics FILE] [--commits 1000] [--size 100]
[--queries 8] [--output FILE]`; the documents are the first of the index, over again with other ids where it
has too few. One line has the throughput of the commits (adding included: tokenizer, segments, merging,
checksums), in seconds of CPU and of the clock, and how many segments there were at most and are in the end.
The others are `bench_segments.py`'s of both indexes. See docs/updating.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from bench_segments import WARM_UP, compared

from seal_ir import SealIndexer
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index
from seal_ir.index.registry import find_index
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/commits.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    places = Places.from_environment()
    queries = [topic.text for topic in read_topics(resolve_topics(args.topics, places))][: args.queries]
    source = Index(find_index(args.index, places))
    with tempfile.TemporaryDirectory(prefix="bench-commits-") as folder:
        grown, merged = Path(folder) / "grown", Path(folder) / "merged"
        written = grow(source, grown, args.commits, args.size)
        print(json.dumps({key: round(v, 3) if isinstance(v, float) else v for key, v in written.items()}))
        shutil.copytree(grown, merged)
        with SealIndexer(merged) as writer:
            writer.merge()
        sides = {"merged": SealSearcher(merged), f"{written['segments']}": SealSearcher(grown)}
        for side in sides.values():
            side.decode(WARM_UP)
        rows = compared(sides, queries, args.rounds)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps([written, *rows], indent=2) + "\n", encoding="utf-8")


def grow(source: Index, directory: Path, n_commits: int, size: int) -> dict[str, Any]:
    """Commit documents `size` at a time; what that took."""
    cpu, clock, n_segments = [], [], []
    batches = _batches(source, size)
    with SealIndexer(directory, source.manifest.model) as writer:
        for _ in range(n_commits):
            batch = next(batches)
            started = time.process_time(), time.perf_counter()
            writer.add(batch)
            writer.commit()
            cpu.append(time.process_time() - started[0])
            clock.append(time.perf_counter() - started[1])
            n_segments.append(len(writer.manifest.segments))
        manifest = writer.manifest
    return {
        "commits": n_commits,
        "documents": manifest.n_documents,
        "tokens": manifest.n_tokens,
        "cpu_s": sum(cpu),
        "clock_s": sum(clock),
        "documents_per_cpu_s": manifest.n_documents / sum(cpu),
        "median_cpu_ms": 1e3 * sorted(cpu)[n_commits // 2],
        "slowest_cpu_ms": 1e3 * max(cpu),
        "most_segments": max(n_segments),
        "segments": n_segments[-1],
    }


def _batches(source: Index, size: int) -> Iterator[list[Document]]:
    made = 0
    while True:
        numbers = [number % source.n_documents for number in range(made, made + size)]
        found = source.documents(numbers)
        yield [document._replace(id=f"{made + i}") for i, document in enumerate(found)]
        made += size


if __name__ == "__main__":
    main()
