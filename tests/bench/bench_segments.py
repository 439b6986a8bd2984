"""What many segments cost, beside one segment of the same documents in the same run.

`python tests/bench/bench_segments.py [--index DIR] [--topics FILE] [--queries 8] [--segments 1 4 16 64]
[--output FILE]`; the index is cut into so many segments once, below the cache. The same queries, in one
batch, are decoded and ranked over each, `--rounds` times in turn, without garbage collection; the least
counts. All are CPU milliseconds of this process: of a step of decoding for the whole batch `step`
(everything), `outside` (all but the model) and `index` (the index's calls); of a query `rank` (ranking, its
locating included) and `query` (everything). `looped` asks the most segments one after the other in Python.
Keys and hits must be those of one segment.
See docs/performance.md.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from cut_indexes import cut
from search_parts import Measured, counted_steps, measure

from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.engines import LoopedEngines
from seal_ir.index.manifest import read_manifest
from seal_ir.index.registry import find_index
from seal_ir.lm.load import load_generator
from seal_ir.search.searcher import SealSearcher

WARM_UP = ["who was the first person to walk on the moon"]
COSTS = ("step", "outside", "index", "rank", "query")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/segments.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    places = Places.from_environment()
    queries = [topic.text for topic in read_topics(resolve_topics(args.topics, places))][: args.queries]
    directory = find_index(args.index, places)
    generator = load_generator(read_manifest(directory).model)
    sides = {}
    for n in args.segments:
        for way in ("", " looped") if n == max(args.segments) else ("",):
            sides[f"{n}{way}"] = searcher = SealSearcher(cut(directory, n), generator)
            if way:
                vars(searcher.index)["_joined"] = LoopedEngines(searcher.index._engines)
            searcher.decode(WARM_UP)
    rows = compared(sides, queries, args.rounds)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


def compared(sides: Mapping[str, SealSearcher], queries: list[str], rounds: int) -> list[dict[str, Any]]:
    """The least costs of each side, and how many times those of the first; all find the same."""
    best: dict[str, dict[str, float]] = {}
    base = next(iter(sides))
    expected = None
    for _ in range(rounds):
        for name, side in sides.items():
            found, answers = _measured(side, queries)
            expected = expected or answers
            if answers != expected:
                raise AssertionError(f"{name}: other keys or hits than {base}")
            best[name] = {key: min(value, best.get(name, found)[key]) for key, value in found.items()}
    rows = []
    for name, found in best.items():
        ratios = {f"{cost}_ratio": found[cost] / best[base][cost] for cost in COSTS}
        rows.append({"segments": name, **found, **ratios})
        print(
            json.dumps({key: round(v, 2) if isinstance(v, float) else v for key, v in rows[-1].items()}),
            flush=True,
        )
    return rows


def _measured(searcher: SealSearcher, queries: list[str]) -> tuple[dict[str, float], Any]:
    """CPU milliseconds of a side, and what it found."""
    ranked, rank = [], searcher.rank

    def kept(keys: Any, n: int) -> Any:
        ranked.append((keys, rank(keys, n)))
        return ranked[-1][1]

    with counted_steps() as steps, patch.object(searcher, "rank", kept):
        gc.collect()
        gc.disable()  # else it falls to whichever side happens to fill a generation
        try:
            found: Measured = measure(searcher, queries, len(queries))
        finally:
            gc.enable()
    seconds, n = found.seconds, len(queries)
    outside = seconds["read"] + seconds["constraint"] + seconds["other"]
    costs = {
        "step": 1e3 * (seconds["model"] + outside) * n / steps.n,
        "outside": 1e3 * outside * n / steps.n,
        "index": 1e3 * seconds["constraint"] * n / steps.n,
        "rank": 1e3 * (seconds["locate"] + seconds["score"] + seconds["text"]),
        "locate": 1e3 * seconds["locate"],
        "query": 1e3 * found.total,
    }
    answers = [
        (
            [(key.symbols, key.logprob, key.count, key.kind) for key in keys.keys],
            [(item.document, item.score) for item in hits],
        )
        for keys, hits in ranked
    ]
    return costs, answers


if __name__ == "__main__":
    main()
