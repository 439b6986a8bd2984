"""What a filter costs, beside a search without one in the same run.

`python tests/bench/bench_filter.py [--index DIR] [--topics FILE] [--queries 8] [--shares 0.01 0.1 0.5]
[--output FILE]`; documents are allowed at random. Each filter is made once; then the same queries, in one
batch, are decoded and ranked without a filter and within each, `--rounds` times in turn; the least counts.
All are CPU milliseconds of this process: `made` of the filter, `step` of the index's calls in a step of
decoding for the whole batch, and of a query `index` (the index's calls in decoding and locating), `rank`
(ranking, with an empty memory for texts) and `query` (everything). See docs/filters.md.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from search_parts import Measured, counted_steps, measure

from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.registry import find_index
from seal_ir.search.searcher import SealSearcher

WARM_UP = ["who was the first person to walk on the moon"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--shares", type=float, nargs="+", default=[0.01, 0.1, 0.5])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/filter.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    places = Places.from_environment()
    queries = [topic.text for topic in read_topics(resolve_topics(args.topics, places))][: args.queries]
    searcher = SealSearcher(find_index(args.index, places))
    searcher.decode(WARM_UP)
    sides, rows = {}, []
    sides["none"] = searcher
    made = {"none": 0.0}
    for share in args.shares:
        name = f"{share:.0%}"
        docids = _drawn(searcher, share)
        started = time.process_time()
        allowed = searcher.make_filter(docids)
        made[name] = time.process_time() - started
        sides[name] = searcher.within(allowed)
    best: dict[str, dict[str, float]] = {}
    for _ in range(args.rounds):
        for name, side in sides.items():
            found = _measured(side, queries)
            best[name] = {key: min(value, best.get(name, found)[key]) for key, value in found.items()}
    for name, found in best.items():
        ratio = found["query"] / best["none"]["query"]
        row: dict[str, Any] = {"allowed": name, "made": made[name] * 1e3, **found, "ratio": ratio}
        rows.append(row)
        print(json.dumps({key: round(v, 2) if isinstance(v, float) else v for key, v in row.items()}))
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def _drawn(searcher: SealSearcher, share: float) -> list[str]:
    index = searcher.index
    chosen = np.flatnonzero(np.random.default_rng(0).random(index.n_documents) < share)
    return [index.docid(number) for number in chosen.tolist()]


def _measured(searcher: SealSearcher, queries: list[str]) -> dict[str, float]:
    """CPU milliseconds of a side; texts that were read before are forgotten."""
    fresh = searcher._snapshot.streams
    object.__setattr__(searcher._snapshot, "streams", type(fresh)(fresh._index))
    with counted_steps() as steps:
        found: Measured = measure(searcher, queries, len(queries))
    seconds, n = found.seconds, len(queries)
    return {
        "step": 1e3 * seconds["constraint"] * n / steps.n,
        "index": 1e3 * (seconds["constraint"] + seconds["locate"]),
        "rank": 1e3 * (seconds["locate"] + seconds["score"] + seconds["text"]),
        "query": 1e3 * found.total,
        "keys": found.n_keys,
        "hits": found.n_hits,
    }


if __name__ == "__main__":
    main()
