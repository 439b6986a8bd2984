"""What an index costs when it is asked: opening, memory, a step of decoding, a query.

`python tests/bench/scale_ask.py [--index NAME_OR_DIR] [--topics squadwiki-dev] [--queries 8] [--output F]`.
The queries are decoded and ranked in one batch, twice; the second time counts, when the files are in memory.
Times are CPU milliseconds of this process. `step` is the index's calls in a step of decoding for the whole
batch; `index` (decoding's calls of it), `rank` and `query` (all but the model) are of one query.

`step_bytes`, of the whole batch, and `match_bytes`, of one query, are what a shard and its caller would send
each other if ranges stayed with the shard, computed from the arrays of the calls: a hypothesis as two numbers
of 4 bytes, its parent and its symbol; a symbol that follows with its count as 12 bytes; a count as 8; a
match, document and end, as 16.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from search_parts import Measured, counted_steps, measure

from seal_ir.arrays import Ints, Symbols
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.engine import Occurrences, Successors
from seal_ir.index.reader import Index
from seal_ir.index.registry import find_index
from seal_ir.records import Range
from seal_ir.search.searcher import SealSearcher

_SUCCESSORS, _EXTEND, _LOCATE = Index.successors, Index.extend, Index.locate


def memory(*kinds: str) -> int:
    """Bytes that this process has in memory, of some lines of /proc/self/status."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(kinds))


class Traffic:
    """Bytes that decoding and locating would send, by the arrays of the index's calls."""

    def __init__(self) -> None:
        self.step = self.matches = 0

    def successors(self, index: Index, ranges: Ints) -> Successors:
        """`Index.successors`, counted."""
        found = _SUCCESSORS(index, ranges)
        self.step += 8 * len(ranges) + 12 * len(found.symbols)
        return found

    def extend(self, index: Index, ranges: Ints, symbols: Symbols) -> Ints:
        """`Index.extend`, counted."""
        self.step += 16 * len(ranges)
        return _EXTEND(index, ranges, symbols)

    def locate(self, index: Index, ranges: Iterable[tuple[Range, ...]]) -> Occurrences:
        """`Index.locate`, counted."""
        found = _LOCATE(index, ranges)
        self.matches += 16 * len(found.documents)
        return found


def traffic(searcher: SealSearcher, queries: list[str]) -> Traffic:
    """What the queries in one batch would send."""
    counted = Traffic()
    with ExitStack() as stack:
        for name in ("successors", "extend", "locate"):
            call = getattr(counted, name)
            # A function of its own, which Python hands the index to.
            own = lambda index, *args, call=call: call(index, *args)  # noqa: E731
            stack.enter_context(patch.object(Index, name, own))
        for keys in searcher.decode(queries):
            searcher.rank(keys, 100)
    return counted


def asked(searcher: SealSearcher, queries: list[str]) -> dict[str, float]:
    """CPU milliseconds of the queries in one batch, by part, and how many steps there were."""
    with counted_steps() as steps:
        found: Measured = measure(searcher, queries, len(queries))
    seconds, n = found.seconds, len(queries)
    return {
        "steps": steps.n,
        "step": 1e3 * seconds["constraint"] * n / steps.n,
        "index": 1e3 * seconds["constraint"],
        "rank": 1e3 * (seconds["locate"] + seconds["score"] + seconds["text"]),
        "query": 1e3 * (found.total - seconds["model"]),
        "model": 1e3 * seconds["model"],
        "keys": found.n_keys,
        "hits": found.n_hits,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", default="wikipedia-sample")
    parser.add_argument("--topics", default="squadwiki-dev")
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/scale-ask.json"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    places = Places.from_environment()
    directory = find_index(args.index, places)
    queries = [topic.text for topic in read_topics(resolve_topics(args.topics, places))][: args.queries]
    before, since = memory("RssAnon"), time.process_time()
    index = Index(directory, check="sizes")
    opened, since = time.process_time() - since, time.process_time()
    own = memory("RssAnon") - before
    Index(directory)
    hashed = time.process_time() - since - opened
    searcher = SealSearcher(directory, dtype="bfloat16")
    sent = traffic(searcher, queries)
    costs = asked(searcher, queries)
    found: dict[str, Any] = {
        "n_documents": index.n_documents,
        "n_tokens": index.n_tokens,
        "n_segments": len(index.manifest.segments),
        "disk_bytes": index.manifest.n_bytes,
        "open_ms": 1e3 * opened,
        "checksums_ms": 1e3 * hashed,
        "own_bytes": own,
        "mapped_bytes": memory("RssFile"),
        "peak_bytes": memory("VmHWM"),
        **costs,
        "step_bytes": sent.step / costs["steps"],
        "match_bytes": sent.matches / len(queries),
    }
    print(json.dumps(found, indent=2))
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
