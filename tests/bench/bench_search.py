"""Where the time of a search goes, end to end, on the demo collection and the default model.

`python tests/bench/bench_search.py [--queries 32] [--output runs/bench/search.json]`; needs `make demo`
once. Times are CPU seconds of the process, all threads together. The baseline is the model's own forward
passes: what a search costs beyond them is ours.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from seal_ir.decode.model import Prompt
from seal_ir.formats.named import Places, resolve_topics
from seal_ir.formats.topics import read_topics
from seal_ir.search.registry import named_index
from seal_ir.search.searcher import SealSearcher


class Stopwatch:
    """CPU seconds by part; parts do not nest."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        started = time.process_time()
        yield
        self.seconds[name] += time.process_time() - started

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **options: Any) -> Any:
            with self.part(name):
                return function(*args, **options)

        return timed


class TimedModel:
    """A language model whose forward passes are timed."""

    def __init__(self, model: Any, watch: Stopwatch) -> None:
        self._model, self._watch = model, watch
        self.max_tokens = model.max_tokens

    def start(self, prompts: Sequence[Prompt]) -> Any:
        with self._watch.part("model"):
            session = self._model.start(prompts)
        session.advance = self._watch.wrap("model", session.advance)
        return session


def measure(searcher: SealSearcher, queries: list[str], batch_size: int) -> dict[str, float]:
    """CPU seconds per query by part, and their total."""
    watch = Stopwatch()
    generator = searcher.generator
    index = searcher.index
    searcher._model = replace(generator, model=TimedModel(generator.model, watch))
    originals = {name: getattr(index, name) for name in ("successors", "extend", "locate", "streams")}
    parts = {"successors": "constraint", "extend": "constraint", "locate": "locate", "streams": "extract"}
    for name, part in parts.items():
        setattr(index, name, watch.wrap(part, originals[name]))
    started = time.process_time()
    for at in range(0, len(queries), batch_size):
        for keys in searcher.decode(queries[at : at + batch_size]):
            ranked = searcher.rank(keys, 100)
            with watch.part("text"):
                searcher.hits(ranked[:10], texts=False)
    total = time.process_time() - started
    for name, function in originals.items():
        setattr(index, name, function)
    searcher._model = generator
    seconds = {name: value / len(queries) for name, value in watch.seconds.items()}
    seconds["total"] = total / len(queries)
    seconds["other"] = seconds["total"] - sum(watch.seconds.values()) / len(queries)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--queries", type=int, default=32)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/search.json"))
    args = parser.parse_args()
    places = Places.from_environment()
    topics = read_topics(resolve_topics(args.topics, places))[: args.queries]
    queries = [topic.text for topic in topics]
    directory = Path(args.index) if Path(args.index).is_dir() else named_index(args.index, places).directory
    searcher = SealSearcher(directory)
    measure(searcher, queries[:2], 2)  # load, warm up
    rows = []
    for batch_size in (1, 8):
        seconds = measure(searcher, queries, batch_size)
        outside = 1.0 - seconds["model"] / seconds["total"]
        for name, value in {**seconds, "share_outside_model": outside}.items():
            unit = "ratio" if name.startswith("share") else "cpu_s/query"
            rows.append({"metric": name, "batch_size": batch_size, "value": value, "unit": unit})
            print(f"batch {batch_size}  {name:<20} {value:8.4f} {unit}")
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    rows.append({"metric": "peak_rss", "batch_size": 8, "value": rss, "unit": "bytes"})
    print(f"peak_rss {rss / 1e6:.0f} MB")
    args.output.parent.mkdir(parents=True, exist_ok=True)
    result = {"machine": platform.processor(), "n_queries": len(queries), "rows": rows}
    args.output.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
