"""Time and space of the engines on synthetic text: `python tests/bench/bench_engine.py --tokens 1000000`.

The text is seeded: tokens follow Zipf's law, and most follow from the token before, so that wide, middling
and narrow ranges occur. Times are CPU time of the calling thread, the call from Python included.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seal_ir import _sdsl

ENGINES = {"sdsl": _sdsl}
BOUNDARY = 1
FIRST_WORD = 10
DOCUMENT_LENGTH = 130
SEED = 20


class Row(NamedTuple):
    """One measurement; `n` is how many operations or tokens the value is a mean over."""

    metric: str
    value: float
    unit: str
    n: int
    engine: str


class Text(NamedTuple):
    """Streams of equal length in reading order, as engines want them."""

    symbols: np.ndarray  # uint32 [n]
    starts: np.ndarray  # int64 [n_documents]


def synthetic_text(n_tokens: int, n_words: int = 50_000) -> Text:
    """About `n_tokens` tokens: 0.6 of them are drawn from the few that follow the token before."""
    source = np.random.default_rng(SEED)
    weights = 1 / (np.arange(n_words) + 2.7) ** 1.05
    cumulative = np.cumsum(weights / weights.sum())
    n_documents = max(1, n_tokens // DOCUMENT_LENGTH)
    words = np.zeros((n_documents, DOCUMENT_LENGTH), dtype=np.int64)
    for position in range(1, DOCUMENT_LENGTH):
        choice = source.geometric(0.15, n_documents).astype(np.uint64)
        before = words[:, position - 1].astype(np.uint64)
        mixed = (before * np.uint64(1_000_003) + choice) * np.uint64(0x9E3779B97F4A7C15)
        following = (mixed >> np.uint64(11)).astype(np.float64) / 2**53
        uniform = np.where(source.random(n_documents) < 0.6, following, source.random(n_documents))
        words[:, position] = np.minimum(np.searchsorted(cumulative, uniform), n_words - 1)
    symbols = (words + FIRST_WORD).astype(np.uint32)
    symbols[:, 0] = BOUNDARY
    starts = np.arange(n_documents, dtype=np.int64) * DOCUMENT_LENGTH
    return Text(symbols.reshape(-1), starts)


class Probes(NamedTuple):
    """Ranges int64 [n, 2] by width; the n-grams behind them with one more token; candidates."""

    wide: np.ndarray
    middling: np.ndarray
    narrow: np.ndarray
    prefixes: np.ndarray  # int64 [n, 2], and
    continuations: np.ndarray  # uint32 [n], a token that follows each
    candidates: np.ndarray  # uint32 [n, width], most of which do not follow


def make_probes(engine: Any, text: Text) -> Probes:
    """Ranges of n-grams of 1 to 3 tokens drawn from the text."""
    source = np.random.default_rng(SEED + 1)
    inside = np.flatnonzero(text.symbols != BOUNDARY)
    inside = inside[inside % DOCUMENT_LENGTH < DOCUMENT_LENGTH - 4]
    at = source.choice(inside, 20_000)
    whole = np.tile(np.array([[0, engine.n_rows]], dtype=np.int64), (len(at), 1))
    one = engine.extend(whole, text.symbols[at])
    two = engine.extend(one, text.symbols[at + 1])
    three = engine.extend(two, text.symbols[at + 2])
    every = np.concatenate([one, two, three])
    follows = np.concatenate([text.symbols[at + k] for k in (1, 2, 3)])
    widths = every[:, 1] - every[:, 0]
    shuffled = source.permutation(len(every))[:20_000]
    frequent = np.unique(one, axis=0)
    frequent = frequent[np.argsort(frequent[:, 0] - frequent[:, 1])][:200]
    return Probes(
        wide=frequent,
        middling=every[(widths >= 1000) & (widths < 20_000)][:500],
        narrow=every[(widths >= 2) & (widths < 200)][:20_000],
        prefixes=every[shuffled],
        continuations=follows[shuffled],
        candidates=source.choice(text.symbols, (len(shuffled) // 40, 40)),
    )


def measure(metric: str, call: Callable[[], object], n: int, engine: str, unit: str = "ns") -> Row:
    """The mean CPU time of one of the `n` operations that `call` does, the best of three calls."""
    best = min(_cpu_ns(call) for _ in range(3))
    scale = {"ns": 1, "us": 1000}[unit]
    return Row(metric, best / max(n, 1) / scale, unit, n, engine)


def _cpu_ns(call: Callable[[], object]) -> int:
    start = time.thread_time_ns()
    call()
    return time.thread_time_ns() - start


def build_and_open(name: str, text: Text, folder: str) -> tuple[Any, list[Row]]:
    """The open engine, and what building and opening took."""
    module, path, n = ENGINES[name], str(Path(folder) / name), len(text.symbols)
    building = _cpu_ns(lambda: module.build(path, text.symbols, text.starts, BOUNDARY, folder))
    start = time.thread_time_ns()
    engine = module.Engine.open(path)
    rows = [
        Row("build", building / n, "ns/token", n, name),
        Row("open", (time.thread_time_ns() - start) / 1e6, "ms", 1, name),
        Row("size", 8 * Path(path).stat().st_size / n, "bits/token", n, name),
    ]
    for part, n_bytes in engine.size_in_bytes().items():
        rows.append(Row(f"size.{part}", 8 * n_bytes / n, "bits/token", n, name))
    return engine, rows


def query_rows(name: str, engine: Any, text: Text) -> list[Row]:
    """What each operation took."""
    probes = make_probes(engine, text)
    whole = np.array([[0, engine.n_rows]], dtype=np.int64)
    prefixes, candidates = probes.prefixes, probes.candidates
    beams = prefixes[: len(candidates)]
    rows = [
        measure("extend", lambda: engine.extend(prefixes, probes.continuations), len(prefixes), name),
        measure("verify", lambda: engine.verify(beams, candidates), candidates.size, name),
    ]
    kinds = {"whole": whole, "wide": probes.wide, "middling": probes.middling, "narrow": probes.narrow}
    for kind, ranges in kinds.items():
        found = len(engine.successors(ranges)[1]) / max(len(ranges), 1)
        rows.append(Row(f"successors.{kind}.found", found, "symbols", len(ranges), name))
        rows.append(
            measure(f"successors.{kind}", lambda r=ranges: engine.successors(r), len(ranges), name, "us")
        )
    source = np.random.default_rng(SEED + 2)
    located = source.integers(1, engine.n_rows, 20_000)
    rows.append(measure("locate", lambda: engine.locate(located), len(located), name, "us"))
    documents = source.integers(0, engine.n_documents, 200)
    rows.append(measure("extract", lambda: engine.extract(documents), len(documents), name, "us"))
    return rows


def machine() -> dict[str, str]:
    """The processor and the commit that the numbers are from."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = [line for line in lines if line.startswith("model name")]
    command = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=False)
    return {
        "processor": model[0].split(": ", 1)[1] if model else platform.processor(),
        "python": platform.python_version(),
        "commit": commit.stdout.strip() if commit.returncode == 0 else "none",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="time and space of the engines on synthetic text")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/engine.json"))
    parser.add_argument("--engine", choices=sorted(ENGINES), action="append", help="default: all")
    options = parser.parse_args()

    text = synthetic_text(options.tokens)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.engine or sorted(ENGINES):
            engine, built = build_and_open(name, text, folder)
            rows += built + query_rows(name, engine, text)
    for row in rows:
        print(f"{row.engine:8}{row.metric:28}{row.value:12.2f} {row.unit:12} n={row.n}")
    report = {**machine(), "tokens": len(text.symbols), "rows": [row._asdict() for row in rows]}
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
