"""What ranking costs a query: CPU milliseconds by part, candidates, located rows, documents read.

`python tests/bench/bench_rank.py [--index demo] [--topics demo] [--queries 12] [--keys FILE]`. The default
model writes the keys once and they are kept in FILE, without rows, so that they can be ranked on any other
index of the same tokenizer. The first pass meets every candidate for the first time; the second finds the
texts that the first has kept. `--baseline N` ranks N of the queries as `--preset published` does, too.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from seal_ir.config import PRESETS
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.reader import Index
from seal_ir.index.registry import named_index
from seal_ir.published import rank as published
from seal_ir.rank.ranker import DEFAULT_CACHE_BYTES, Streams, rank
from seal_ir.records import Key, QueryKeys, Range, Unigrams
from seal_ir.search.searcher import SealSearcher

Written = list[dict[str, Any]]


def written_keys(directory: Path, topics: str, n: int, places: Places) -> Written:
    """Keys of the default model for the first n topics, as plain JSON values."""
    searcher = SealSearcher(directory)
    texts = [topic.text for topic in read_topics(resolve_topics(topics, places))[:n]]
    rows: Written = []
    for at in range(0, n, 4):
        for found in searcher.decode(texts[at : at + 4]):
            symbols, logprobs, _ = found.unigrams
            keys = [[list(map(int, key.symbols)), key.logprob, key.kind] for key in found.keys]
            rows.append({"keys": keys, "symbols": symbols.tolist(), "logprobs": logprobs.tolist()})
    return rows


def found_keys(index: Index, row: dict[str, Any]) -> QueryKeys:
    """The same keys with their rows in this index; those that do not occur are left out."""
    keys = []
    for symbols, logprob, kind in row["keys"]:
        ranges = tuple(Range(*pair) for pair in index.find(symbols))
        count = sum(hi - lo for lo, hi in ranges)
        if count:
            keys.append(Key(tuple(symbols), logprob, count, ranges, kind))
    unigrams = np.array(row["symbols"], dtype=np.uint32)
    everything = np.repeat(index.everything[None], len(unigrams), axis=0)
    ranges = index.extend(everything, unigrams)
    counts = (ranges[..., 1] - ranges[..., 0]).sum(axis=1)
    there = counts > 0
    logprobs = np.array(row["logprobs"], dtype=np.float64)
    return QueryKeys(tuple(keys), Unigrams(unigrams[there], logprobs[there], counts[there]))


class Counted:
    """CPU seconds and amounts of the index's part."""

    def __init__(self, index: Index) -> None:
        self.totals: dict[str, float] = defaultdict(float)
        locate, extract = index.locate, index.extract
        self._wrap(index, "locate", locate, lambda found: len(found.ends))
        self._wrap(index, "extract", extract, lambda found: len(found[0]) - 1)

    def _wrap(self, index: Index, name: str, call: Callable[..., Any], size: Callable[..., int]) -> None:
        def counted(*args: Any) -> Any:
            started = time.thread_time()
            found = call(*args)
            self.totals[f"{name}_ms"] += 1000 * (time.thread_time() - started)
            self.totals[f"{name}_n"] += size(found)
            return found

        setattr(index, name, counted)


def timed(
    ranked: Callable[[QueryKeys], object], queries: list[QueryKeys], counted: Counted
) -> dict[str, float]:
    """CPU milliseconds and amounts per query."""
    counted.totals.clear()
    started = time.thread_time()
    for query in queries:
        ranked(query)
    row = {"total_ms": 1000 * (time.thread_time() - started), **counted.totals}
    row["rest_ms"] = row["total_ms"] - row.get("locate_ms", 0) - row.get("extract_ms", 0)
    return {name: round(value / len(queries), 2) for name, value in row.items()}


def measure(index: Index, queries: list[QueryKeys], args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row per preset, number of hits and pass."""
    counted = Counted(index)
    rows: list[dict[str, Any]] = []
    for preset in args.preset:
        config = PRESETS[preset].rank
        for k in args.hits:
            ranked = partial(rank, index, config=config, n_hits=k, streams=Streams(index, args.cache))
            for which in ("first pass", "second pass"):
                rows.append({"preset": preset, "k": k, "what": which, **timed(ranked, queries, counted)})
                print(*(f"{name}={value}" for name, value in rows[-1].items()), flush=True)
    if args.baseline:
        ranked = partial(published.rank, index, config=PRESETS["intersective"].rank, n_hits=100)
        cost = timed(ranked, queries[: args.baseline], counted)
        rows.append({"preset": "published", "k": 100, "what": "baseline", **cost})
        print(*(f"{name}={value}" for name, value in rows[-1].items()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--queries", type=int, default=12)
    parser.add_argument("--keys", type=Path, help="read if it is there, else written")
    parser.add_argument("--preset", nargs="+", default=["intersective", "paper", "lm-fm", "lm"])
    parser.add_argument("--hits", nargs="+", type=int, default=[100, 1000])
    parser.add_argument("--cache", type=int, default=DEFAULT_CACHE_BYTES, help="bytes for texts read before")
    parser.add_argument("--baseline", type=int, default=0, metavar="N")
    parser.add_argument("--output", type=Path, default=Path("runs/bench/rank.json"))
    args = parser.parse_args()
    places = Places.from_environment()
    directory = Path(args.index) if Path(args.index).is_dir() else named_index(args.index, places).directory
    if args.keys and args.keys.exists():
        written = json.loads(args.keys.read_text(encoding="utf-8"))[: args.queries]
    else:
        written = written_keys(directory, args.topics, args.queries, places)
        if args.keys:
            args.keys.write_text(json.dumps(written), encoding="utf-8")
    index = Index(directory)
    rows = measure(index, [found_keys(index, row) for row in written], args)
    args.output.parent.mkdir(parents=True, exist_ok=True)
    result = {"index": str(args.index), "n_queries": len(written), "n_tokens": index.n_tokens, "rows": rows}
    args.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
