"""Our FM-index beside the published configuration, in one run on one text.

    python tests/bench/bench_index.py                                  1 million synthetic tokens
    python tests/bench/bench_index.py --index NAME_OR_DIR --tokens 1000000 all

The baseline is sdsl-lite's `csa_wt_int<>`, built in memory and searched as the published system does: one
range at a time, successors into vectors as long as the alphabet, n-grams walked from their first symbol.
Single steps and verified candidates of the baseline start from a range that was kept, which is kinder to it
than the published way; the line `step_walked` is the published way. `verify` draws a range for each
candidate; `verify_beams` asks for 64 candidates of each of 15 ranges, as decoding does. Ratios above 1 are in
our favour.

Times are CPU time of one thread. The ratios go to `index.json`, everything to `index-details.json`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import bench_process as processes
import bench_queries as queries
from bench_process import NATIVE, PUBLISHED, SDSL, SMALL, SYSTEMS
from bench_text import Text, make_probes, synthetic_text, text_of_index


class Row(NamedTuple):
    """One metric of the published way and of one of our engines; `ratio` is how much better ours is."""

    metric: str
    unit: str
    n_tokens: int
    baseline: float
    ours: float
    ratio: float


class Figures(NamedTuple):
    """All that was measured of one system."""

    built: processes.Built
    open_ms: float
    costs: queries.Costs
    memory: dict[str, float]  # of each of two readers, bytes


def measure(text: Text, folder: Path) -> dict[str, Figures]:
    """Build, open and question every system; timings are taken in rounds, so that noise hits all of them."""
    text.save(folder)
    built = {}
    for system in SYSTEMS:
        built[system] = processes.build(system, folder)
        print(f"  built {system}: {built[system].cpu_seconds:.1f} s", flush=True)
    memory = {system: processes.two_readers(system, folder) for system in SYSTEMS}
    opened = {system: [_open_ms(system, folder) for _ in range(queries.ROUNDS)] for system in SYSTEMS}
    engines = {system: processes.open_system(system, folder) for system in SYSTEMS}
    probes = make_probes(engines[NATIVE], text)
    runs: dict[str, list[queries.Costs]] = {system: [] for system in SYSTEMS}
    for _ in range(queries.ROUNDS):
        answers = {}
        for system, engine in engines.items():
            if system == PUBLISHED:
                costs, answers[system] = queries.published_costs(engine, probes, text)
            else:
                costs, answers[system] = queries.engine_costs(engine, probes)
            runs[system].append(costs)
    kinds = {"wide": probes.wide, "middling": probes.middling, "narrow": probes.narrow}
    for system in (NATIVE, SMALL, SDSL):
        queries.check(answers[PUBLISHED], answers[system], kinds, engines[system])
    return {
        system: Figures(built[system], min(opened[system]), queries.best(runs[system]), memory[system])
        for system in SYSTEMS
    }


def _open_ms(system: str, folder: Path) -> float:
    gc.collect()
    started = time.thread_time_ns()
    engine = processes.open_system(system, folder)
    # The baseline's sizes are checked first, which the published system does not do.
    seconds = engine.load_seconds if system == PUBLISHED else (time.thread_time_ns() - started) / 1e9
    return float(seconds * 1e3)


UNITS = {
    "locate": "us/row",
    "extract": "us/document",
    "verify": "ns/candidate",
    "verify_beams": "ns/candidate",
}


def rows_of(
    figures: dict[str, Figures], n_tokens: int, ours: str = NATIVE, python: bool = False
) -> list[Row]:
    """The metrics by name. `locate_small` and `size_small` are of the small layout whatever `ours` is."""

    def row(metric: str, unit: str, baseline: float, value: float) -> Row:
        return Row(metric, unit, n_tokens, baseline, value, baseline / max(value, 1e-9))

    def cost(system: str, name: str) -> float:
        scale = 1000 if unit_of(name).startswith("us") else 1
        return getattr(figures[system].costs[name], "python" if python else "cpp") / scale

    def unit_of(name: str) -> str:
        return UNITS.get(name, "us/range" if name.startswith("successors") else "ns")

    published, chosen, small = figures[PUBLISHED], figures[ours], figures[SMALL]
    bits = 8 / n_tokens
    rows = [
        row("build", "ns/token", *(1e9 * f.built.cpu_seconds / n_tokens for f in (published, chosen))),
        row("peak_memory", "bytes/token", *(f.built.peak_bytes / n_tokens for f in (published, chosen))),
        row("size", "bits/token", published.built.size * bits, chosen.built.size * bits),
        row("size_small", "bits/token", published.built.size * bits, small.built.size * bits),
    ]
    names = (
        "step",
        "step_batch",
        "verify",
        "verify_beams",
        "successors_wide",
        "successors_middling",
        "successors_narrow",
    )
    for name in (*names, "locate", "extract"):
        if name in published.costs and name in chosen.costs:
            rows.append(row(name, unit_of(name), cost(PUBLISHED, name), cost(ours, name)))
        if name == "locate":
            rows.append(row("locate_small", unit_of(name), cost(PUBLISHED, name), cost(SMALL, name)))
    rows.append(row("open", "ms", published.open_ms, chosen.open_ms))
    rows.append(row("step_walked", "ns", cost(PUBLISHED, "step_walked"), cost(ours, "step")))
    for kind in ("Rss", "Pss"):
        rows.append(row(kind.lower(), "MB/process", *(f.memory[kind] / 1e6 for f in (published, chosen))))
    return rows


# Beyond these the table has lines of its own, which index.json does not have.
METRICS = (
    *("build", "peak_memory", "size", "size_small", "step", "step_batch", "verify"),
    *("successors_wide", "successors_narrow", "locate", "locate_small", "extract", "open"),
)


def print_table(figures: dict[str, Figures], n_tokens: int) -> None:
    """A line a metric: the published way, ours, their ratio; the same calls from Python; our sdsl engine."""
    native = rows_of(figures, n_tokens)
    python = {row.metric: row for row in rows_of(figures, n_tokens, python=True)}
    sdsl = {row.metric: row for row in rows_of(figures, n_tokens, SDSL) if "small" not in row.metric}
    print(f"\n{n_tokens:,} tokens{'':<14}{'':<13}      C++ call          {'':<14}Python call")
    print(f"{'metric':<20}{'unit':<13}{'published':>10}{'native':>10}{'ratio':>8}", end="")
    print(f"{'published':>12}{'native':>10}{'ratio':>8}{'sdsl':>12}{'ratio':>8}")
    for row in native:
        calls, other = python[row.metric], sdsl.get(row.metric)
        print(
            f"{row.metric:<20}{row.unit:<13}{row.baseline:>10.4g}{row.ours:>10.4g}{row.ratio:>8.2f}", end=""
        )
        print(f"{calls.baseline:>12.4g}{calls.ours:>10.4g}{calls.ratio:>8.2f}", end="")
        print(f"{other.ours:>12.4g}{other.ratio:>8.2f}" if other else "")


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


def texts(index: str | None, sizes: list[str]) -> list[Text]:
    """The texts to measure on, one for each size."""
    if index is None:
        return [synthetic_text(int(size)) for size in sizes]
    whole = text_of_index(index)
    return [whole if size == "all" else whole.head(int(size)) for size in sizes]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", help="folder or name of an index whose text is used; default: synthetic text"
    )
    parser.add_argument("--tokens", nargs="+", help="sizes; 'all' is the whole index")
    parser.add_argument("--output", type=Path, default=Path("runs/bench/index.json"))
    options = parser.parse_args()
    sizes = options.tokens or (["all"] if options.index else ["1000000"])
    ratios: list[dict[str, Any]] = []
    details: list[dict[str, Any]] = []
    for text in texts(options.index, sizes):
        n_tokens = len(text.symbols)
        print(f"{n_tokens:,} tokens, {len(text.starts):,} documents", flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-index-") as folder:
            figures = measure(text, Path(folder))
        print_table(figures, n_tokens)
        ratios += [row._asdict() for row in rows_of(figures, n_tokens) if row.metric in METRICS]
        for engine in (NATIVE, SMALL, SDSL):
            for call in ("cpp", "python"):
                rows = rows_of(figures, n_tokens, engine, python=call == "python")
                details += [{"engine": engine, "call": call, **row._asdict()} for row in rows]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(ratios, indent=1) + "\n", encoding="utf-8")
    report = {**machine(), "text": options.index or "synthetic", "rows": details}
    beside = options.output.with_name(f"{options.output.stem}-details.json")
    beside.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
