"""What decoding costs by how much of it is left out: `python tests/bench/bench_decode.py --index DIR`.

CPU seconds of one thread, per query, of decoding alone, and rows that the model reads. Each pair is measured
in turns, so that a busy machine slows both alike; the figure of a side is the median of its rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from seal_ir.config import DecodeConfig, preset
from seal_ir.decode.beam import decode
from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.registry import opened
from seal_ir.lm.causal import CausalModel, CausalSession
from seal_ir.lm.device import use_threads
from seal_ir.lm.load import load_generator


class Side(NamedTuple):
    """One side of a pair: settings of decoding, and whether n-grams of the query are read in one go."""

    decode: DecodeConfig
    nested: bool = True


class Cost(NamedTuple):
    seconds: float  # of CPU, per query
    rows: float  # that the model read, per query
    calls: float  # of the model, per query
    keys: float  # per query


def pairs(beam: int) -> dict[str, tuple[Side, Side]]:
    """What is compared, baseline first."""
    usual = replace(preset("body").decode, beam=beam)
    by_steps = {f"one_go_{n}_steps": replace(usual, body_steps=n) for n in (1, 3, 10)}
    found = {name: (Side(config, nested=False), Side(config)) for name, config in by_steps.items()}
    for name, values in (
        ("stop", {}),
        ("least_weight_4", {"least_weight": 4.0}),
        ("least_weight_7", {"least_weight": 7.0}),
        ("retired_1", {"retired": 1}),
    ):
        found[name] = (Side(usual), Side(replace(usual, stop=True, **values)))
    return found


@contextmanager
def counted(rows: list[int]) -> Iterator[None]:
    """Notes the rows of each call of the model."""
    forward = CausalModel.forward

    def noting(model: CausalModel, tokens: Any, *args: Any) -> Any:
        rows.append(len(tokens))
        return forward(model, tokens, *args)

    with patch.object(CausalModel, "forward", noting):
        yield


def cost(generator: Any, index: Any, queries: Sequence[str], side: Side, batch_size: int) -> Cost:
    rows: list[int] = []
    n_keys, started = 0, time.process_time()
    with counted(rows), patch.object(CausalSession, "nested", side.nested):
        for at in range(0, len(queries), batch_size):
            found = decode(generator, index, queries[at : at + batch_size], side.decode)
            n_keys += sum(len(keys.keys) for keys in found.queries)
    n = len(queries)
    return Cost((time.process_time() - started) / n, sum(rows) / n, len(rows) / n, n_keys / n)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", required=True)
    parser.add_argument("--topics", default="demo")
    parser.add_argument("--queries", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", help="names of pairs")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    use_threads(1)
    index = opened(args.index)
    generator = load_generator(index.manifest.model, dtype=args.dtype)
    topics = read_topics(resolve_topics(args.topics, Places.from_environment()))
    queries = [topic.text for topic in topics[:: max(1, len(topics) // args.queries)]][: args.queries]
    found = []
    for name, sides in pairs(args.beam).items():
        if args.only and name not in args.only:
            continue
        costs: tuple[list[Cost], list[Cost]] = ([], [])
        for number in range(args.rounds + 1):
            for side, so_far in zip(sides, costs, strict=True):
                measured = cost(generator, index, queries, side, args.batch_size)
                so_far.extend([measured] if number else [])  # the first round warms up
        base, ours = (Cost(*np.median(np.array(part), axis=0).tolist()) for part in costs)
        row = {"metric": name, "unit": "CPU s/query", "n_tokens": index.n_tokens, "baseline": base.seconds}
        row |= {"ours": ours.seconds, "ratio": base.seconds / ours.seconds, "dtype": generator.dtype}
        row |= {"rows": [base.rows, ours.rows], "calls": [base.calls, ours.calls]}
        row |= {"keys": [base.keys, ours.keys], "beam": args.beam, "batch": args.batch_size}
        found.append(row | {"n_queries": len(queries)})
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    text = json.dumps(found, indent=1)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)


if __name__ == "__main__":
    main()
