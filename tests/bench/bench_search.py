"""What a search costs end to end, beside `--preset published` in the same run.

`python tests/bench/bench_search.py [--quick] [--index demo wikipedia-sample-10k] [--output FILE]`; needs
`make demo` once, and for other indexes SEAL_IR_DATA. Each measurement has a process of its own, with one
thread unless the row says otherwise. Times are CPU seconds of that process, queries per second are on the
clock. The baseline searches the published configuration of sdsl-lite, ours a native index, of the same
documents with the same tokenizer; they are built below the cache on first use. Shares and the split into
parts are printed, and written as rows `part_*`. See docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from seal_ir.formats.io.resolve import Places, resolve_topics
from seal_ir.formats.topics.reading import read_topics
from seal_ir.index.registry import registered

SMOL, SMALL, LARGE = "smollm2-135m", "bart-small", "bart-large"
SUFFIX = {SMOL: "demo_model", SMALL: "small", LARGE: "large"}
OURS, PUBLISHED = "ours", "published"


@dataclass(frozen=True)
class Run:
    """One measurement: `n` queries in batches of `batch`, after `before` others.

    A search keeps the texts that it has read, so that its first queries cost more than the later ones; the
    published way keeps nothing, and is spared those before.
    """

    batch: int
    n: int
    beam: int = 15
    threads: int = 1
    before: int = 0


@dataclass(frozen=True)
class Job:
    """All that one process measures."""

    model: str
    side: str
    index: str  # name or directory, as given
    directory: str  # of the same documents for this side and model
    queries: list[str]
    runs: list[Run]
    dtype: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What a process measured, in the order of its runs."""

    job: Job
    n_tokens: int
    engine: str
    peak_rss: int
    runs: list[dict[str, Any]] = field(default_factory=list)

    def total(self, at: int) -> float:
        """CPU seconds a query of a run."""
        return float(sum(self.runs[at]["seconds"].values()))

    def part(self, at: int, *names: str) -> float:
        """CPU seconds a query that some parts take."""
        return float(sum(self.runs[at]["seconds"][name] for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="the demo index and few queries: under 2 minutes"
    )
    told = "names or folders, the one to compare on last; default: demo, and those of the real data if built"
    parser.add_argument("--index", nargs="+", help=told)
    parser.add_argument("--topics", help="default: nq-test where SEAL_IR_DATA is set, else demo")
    parser.add_argument("--queries", type=int, default=8, help="per measurement (%(default)s)")
    told = "queries of SmolLM2 before those that measure a search in the middle of its topics (%(default)s)"
    parser.add_argument("--before", type=int, default=256, help=told)
    parser.add_argument("--models", nargs="+", default=[SMOL, SMALL, LARGE], choices=[SMOL, SMALL, LARGE])
    parser.add_argument("--dtype", help="of SmolLM2 on both sides")
    parser.add_argument("--output", type=Path, default=Path("runs/bench/search.json"))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        from search_worker import work

        print(json.dumps(work(job_of(json.loads(args.worker)))))
        return
    started = time.monotonic()
    rows: list[dict[str, Any]] = []
    for row in measurements(args):
        rows.append(row)
        told = {name: value for name, value in row.items() if name not in ("metric", "unit")}
        print(f"{row['metric']:<24} {row['unit']:<12} {json.dumps(told)}", flush=True)
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    print(
        f"{args.output}: {len(rows)} rows, {time.monotonic() - started:.0f} s, {platform.processor() or '?'}"
    )


def measurements(args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All rows, as they come: the comparison of each model, then how ours scales."""
    topics = args.topics or ("nq-test" if os.environ.get("SEAL_IR_DATA") and not args.quick else "demo")
    read = read_topics(resolve_topics(topics, Places.from_environment()))
    queries = [topic.text for topic in read]
    indexes = args.index or default_indexes(quick=args.quick)
    largest = indexes[-1]
    for model in args.models:
        runs = comparison_runs(model, args)
        needed = max(run.before + run.n for run in runs)
        ours, theirs = (
            run_job(job(model, side, largest, queries[:needed], runs, args.dtype))
            for side in (OURS, PUBLISHED)
        )
        yield from compared(ours, theirs)
    if not args.quick and SMOL in args.models:
        n = args.queries
        for index in indexes:
            runs = [Run(8, n, beam) for beam in (5, 10)] + [Run(1, n), Run(8, n), Run(8, 2 * n, threads=2)]
            yield from scaled(run_job(job(SMOL, OURS, index, queries[: 2 * n], runs, args.dtype)))


def default_indexes(*, quick: bool) -> list[str]:
    """The demo, and those of the real data that were built."""
    present = {entry.name for entry in registered(Places.from_environment()) if entry.present}
    real = ("wikipedia-sample-10k", "wikipedia-sample")
    return ["demo", *(name for name in real if name in present and not quick)]


def comparison_runs(model: str, args: argparse.Namespace) -> list[Run]:
    """Batches of 8 first and single queries second; fewer of what takes minutes."""
    if args.quick:
        n = {SMOL: 1, SMALL: 2, LARGE: 1}[model]
        return [Run(n, n)]
    runs = [Run(8, args.queries), Run(1, min(args.queries, 2 if model == LARGE else 4))]
    return [*runs, Run(8, args.queries, before=args.before)] if model == SMOL and args.before else runs


def compared(ours: Outcome, theirs: Outcome) -> Iterator[dict[str, Any]]:
    """Rows of one model: both sides, same run, same batches."""
    model = ours.job.model
    for at, run in enumerate(ours.job.runs):
        about = {
            "model": model,
            "batch_size": run.batch,
            "beam": run.beam,
            "n_queries": run.n,
            "before": run.before,
            "index": ours.job.index,
        }

        def row(
            metric: str, unit: str, baseline: float, value: float, about: dict[str, Any] = about
        ) -> dict[str, Any]:
            return made_row(metric, unit, ours.n_tokens, baseline, value, about)

        totals = theirs.total(at), ours.total(at)
        yield row(f"end_to_end_{SUFFIX[model]}", "cpu_s/query", *totals)
        ranking = ("locate", "score", "text")
        yield row("scoring", "cpu_s/query", theirs.part(at, *ranking), ours.part(at, *ranking))
        outside = [1 - side.part(at, "model") / side.total(at) for side in (theirs, ours)]
        yield row("share_outside_model", "ratio", *outside)
        shares = [side.part(at, "constraint") / side.total(at) for side in (theirs, ours)]
        yield row("share_constraint", "ratio", *shares)
        per_second = [1 / side.runs[at]["wall"] for side in (theirs, ours)]
        yield row("queries_per_second", "queries/s", *per_second)
        for part in ours.runs[at]["seconds"]:
            yield row(f"part_{part}", "cpu_s/query", theirs.part(at, part), ours.part(at, part))
        for name in ("n_keys", "n_hits"):
            yield row(name, "per query", theirs.runs[at][name], ours.runs[at][name])
        if run.before:
            yield from stream(ours, at, about)
    about = {"model": model, "index": ours.job.index, "engines": [theirs.engine, ours.engine]}
    yield made_row("peak_rss", "bytes", ours.n_tokens, theirs.peak_rss, ours.peak_rss, about)


def stream(ours: Outcome, at: int, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Rows of all queries from the first one on, those that fill the memory of texts included."""
    run, n = ours.job.runs[at], ours.job.runs[at].before + ours.job.runs[at].n
    parts = {
        name: (run.before * ours.runs[at]["before"][name] + run.n * value) / n
        for name, value in ours.runs[at]["seconds"].items()
    }
    total = sum(parts.values())
    about = {**about, "n_queries": n, "before": 0}
    yield made_row("stream_end_to_end", "cpu_s/query", ours.n_tokens, parts["model"], total, about)
    for metric, names in {
        "stream_share_outside_model": set(parts) - {"model"},
        "stream_share_constraint": {"constraint"},
        "stream_share_text": {"text"},
    }.items():
        share = sum(parts[name] for name in names) / total
        yield made_row(metric, "ratio", ours.n_tokens, None, share, about)


def scaled(outcome: Outcome) -> Iterator[dict[str, Any]]:
    """Rows of how ours scales; the baseline is the forward passes alone."""
    for at, run in enumerate(outcome.job.runs):
        about = {"model": outcome.job.model, "index": outcome.job.index, **asdict(run)}
        n_tokens = outcome.n_tokens
        if run.threads > 1:
            wall = outcome.runs[at]["wall"]
            yield made_row("scaling_threads", "queries/s", n_tokens, None, 1 / wall, about)
            continue
        floor, total = outcome.part(at, "model"), outcome.total(at)
        yield made_row("scaling", "cpu_s/query", n_tokens, floor, total, about)
        yield made_row(
            "scaling_queries_per_second", "queries/s", n_tokens, None, 1 / outcome.runs[at]["wall"], about
        )
        yield made_row("scaling_share_outside_model", "ratio", n_tokens, None, 1 - floor / total, about)
        share = outcome.part(at, "constraint") / total
        yield made_row("scaling_share_constraint", "ratio", n_tokens, None, share, about)


def made_row(
    metric: str, unit: str, n_tokens: int, baseline: float | None, ours: float, about: dict[str, Any]
) -> dict[str, Any]:
    """A row; the ratio says how many times more the baseline takes, or of queries per second, ours makes."""
    ratio = None
    if baseline is not None and min(baseline, ours) > 0:
        ratio = ours / baseline if unit == "queries/s" else baseline / ours
    values = {"n_tokens": n_tokens, "baseline": baseline, "ours": ours, "ratio": ratio}
    return {"metric": metric, "unit": unit, **values, **about}


def job(model: str, side: str, index: str, queries: list[str], runs: list[Run], dtype: str | None) -> Job:
    """A job whose index has been prepared, in a process of its own: building one takes memory."""
    tokenizer = "own" if model == SMOL else "bart"
    command = [sys.executable, str(Path(__file__).parent / "search_indexes.py"), index, side, tokenizer]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    directory = done.stdout.splitlines()[-1]
    return Job(model, side, index, directory, queries, runs, dtype if model == SMOL else None)


def run_job(job: Job) -> Outcome:
    """The job in a process of its own."""
    threads = str(max(run.threads for run in job.runs))
    command = [sys.executable, __file__, "--worker", json.dumps(asdict(job))]
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return Outcome(job, **json.loads(done.stdout.splitlines()[-1]))


def job_of(values: dict[str, Any]) -> Job:
    """A job from its JSON."""
    return Job(**{**values, "runs": [Run(**run) for run in values["runs"]]})


if __name__ == "__main__":
    main()
