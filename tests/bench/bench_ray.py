"""What shards cost beside one process, in one run: bytes and round trips of a step, and time.

`python tests/bench/bench_ray.py --index DIR [--topics FILE] [--queries 16] [--batch-size 8] [--shards 2]
[--preset NAME ...] [--ray ADDRESS] [--output FILE]`. The index needs as many segments as there are to be
shards. For each preset the same queries are searched in this process and over actors, `--rounds` times each,
and the least time counts. Wall milliseconds: `step` of the index's part of a decoding step for a whole batch,
`rank` of ranking a query, `query` of everything. `step_bytes`, `ngram_bytes` (of the queries' own n-grams, a
batch) and `rank_bytes` are the pickled arguments and answers of all shards, `load` the machine's at the end.
The runs of both sides must be equal. See docs/distributed.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from ray import cloudpickle
from search_parts import counted_steps

from seal_ir.distributed.cluster import Cluster, open_sharded
from seal_ir.distributed.index import ShardedIndex
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index
from seal_ir.index.registry import find_index
from seal_ir.search.pipeline import QueryPipeline
from seal_ir.search.searcher import SealSearcher

KINDS = ("step", "ngrams", "rank", "else")
PARTS = {"continued": "step", "counted": "ngrams", "ranked": "rank", "holders": "rank"}
IN_STEPS = ("continued", "counted", "first_symbols", "n_rows")  # whose time is that of steps
CALLS = ("extend", "successors", "find_all")


class Meter:
    """Counts what travels, and what the index's part takes."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.seconds = dict.fromkeys(KINDS, 0.0)
        self.n_bytes = dict.fromkeys(KINDS, 0)
        self.n_trips = dict.fromkeys(KINDS, 0)
        self.depth = dict.fromkeys(KINDS, 0)
        if isinstance(index, ShardedIndex):
            self._ask, index.shards.ask = index.shards.ask, self.ask  # type: ignore[method-assign]

    def ask(self, method: str, arguments: Sequence[Sequence[Any] | None]) -> list[Any]:
        answers = self._ask(method, arguments)
        part = PARTS.get(method, "else")  # texts of hits, lengths of titles
        started = time.perf_counter()
        self.n_trips[part] += 1
        self.n_bytes[part] += sum(len(cloudpickle.dumps(v)) for v in (*arguments, *answers) if v is not None)
        self.seconds["step" if method in IN_STEPS else part] -= time.perf_counter() - started
        return answers

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def measured(*args: Any, **options: Any) -> Any:
            started = time.perf_counter()
            self.depth[part] += 1  # one of these calls makes others
            try:
                return call(*args, **options)
            finally:
                self.depth[part] -= 1
                if not self.depth[part]:
                    self.seconds[part] += time.perf_counter() - started

        return measured


def _measured(searcher: SealSearcher, queries: Sequence[str]) -> tuple[dict[str, float], object]:
    meter = Meter(searcher.index)
    kind = type(searcher.index)
    patches = [patch.object(kind, name, meter.timed("step", getattr(kind, name))) for name in CALLS]
    patches.append(patch.object(QueryPipeline, "rank", meter.timed("rank", QueryPipeline.rank)))
    for each in patches:
        each.start()
    with counted_steps() as counted:
        started = time.perf_counter()
        found = searcher.batch_search(queries, [str(i) for i in range(len(queries))], k=100)
        total = time.perf_counter() - started
    for each in patches:
        each.stop()
    if isinstance(searcher.index, ShardedIndex):
        del searcher.index.shards.ask  # type: ignore[attr-defined]
    n, steps = len(queries), counted.n
    values = {
        "step_ms": 1e3 * meter.seconds["step"] / steps,
        "rank_ms": 1e3 * meter.seconds["rank"] / n,
        "query_ms": 1e3 * total / n,
        "steps": steps,
        "trips_a_step": meter.n_trips["step"] / steps,
        "step_bytes": meter.n_bytes["step"] / steps,
        "ngram_bytes": meter.n_bytes["ngrams"] / max(1, meter.n_trips["ngrams"]),
        "rank_trips": meter.n_trips["rank"] / n,
        "rank_bytes": meter.n_bytes["rank"] / n,
    }
    return values, {qid: [(hit.docid, hit.score) for hit in hits] for qid, hits in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--queries", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--preset", nargs="+", default=["balanced", "thorough"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--ray", default="local")
    parser.add_argument("--output", type=Path, default=Path("runs/bench/ray.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    places = Places.from_environment()
    queries = [topic.text for topic in read_topics(resolve_topics(args.topics, places))][: args.queries]
    directory = find_index(args.index, places)
    indexes = {
        "one process": Index(directory, check="sizes"),
        f"{args.shards} shards": open_sharded(directory, Cluster(args.ray), args.shards, "sizes"),
    }
    generator = SealSearcher(indexes["one process"]).generator
    rows = []
    for preset in args.preset:
        best: dict[str, dict[str, float]] = {}
        runs = []
        for _ in range(args.rounds):
            for name, index in indexes.items():
                searcher = SealSearcher(index, generator, preset=preset, batch_size=args.batch_size)
                found, run = _measured(searcher, queries)
                runs.append(run)
                best[name] = {key: min(value, best.get(name, found)[key]) for key, value in found.items()}
        if any(run != runs[0] for run in runs):
            raise SystemExit(f"{preset}: the runs differ")
        for name, values in best.items():
            row = {"preset": preset, "index": name, **{key: round(v, 2) for key, v in values.items()}}
            row["load"] = round(os.getloadavg()[0], 1)
            rows.append(row)
            print(json.dumps(row), flush=True)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
