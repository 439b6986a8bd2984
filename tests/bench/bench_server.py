"""A server under load on loopback: throughput, latencies, wrong and lost answers, 429, memory, and batches.

    python tests/bench/bench_server.py --index demo --clients 64 --seconds 120

Rounds of one client, who asks one query after the other, alternate with rounds of many, so that both see the
same machine. The gain is queries a second of many over those of one, and the same of the server's own seconds
on the CPU, which do not depend on what else the machine does. Every answer is compared with the one that was
given alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

ROOT = Path(__file__).parents[2]
ROUNDS = 4
_BATCHES = "seal_ir_batch_queries_count"
CLOSE = 0.02  # scores of one query in other batches differ by less (docs/limits.md)


class Answer(NamedTuple):
    """A query, the status of its answer (0: none came), its candidates, and how long it took."""

    query: str
    status: int
    candidates: list[tuple[str, float]]
    seconds: float
    headers: httpx.Headers


class Round(NamedTuple):
    """What came back, in how many seconds, in how many batches, and what the server spent on the CPU."""

    answers: list[Answer]
    seconds: float
    n_batches: float
    cpu_seconds: float


@contextmanager
def server(module: str, *arguments: object) -> Iterator[str]:
    """A server in a process of its own; gives its URL. It must end by itself when it is told to."""
    command = [sys.executable, "-m", module, "--port", "0", *map(str, arguments)]
    started = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        assert started.stderr is not None
        lines = iter(started.stderr.readline, "")
        url = next((found[0] for line in lines if (found := re.search(r"http://\S+(?=/ )", line))), None)
        if url is None:
            raise SystemExit(f"no server; try {' '.join(command)}")
        yield url
        started.terminate()
        if started.wait(120):
            raise SystemExit(f"the server ended with {started.returncode}")
    finally:
        started.kill()
        started.communicate()


async def ask(client: httpx.AsyncClient, query: str) -> Answer:
    """One query."""
    began = time.monotonic()
    try:
        got = await client.get("/search", params={"query": query, "hits": 10})
    except httpx.HTTPError:
        return Answer(query, 0, [], time.monotonic() - began, httpx.Headers())
    found = got.json().get("candidates", [])
    pairs = [(each["docid"], each["score"]) for each in found]
    return Answer(query, got.status_code, pairs, time.monotonic() - began, got.headers)


async def load(url: str, queries: Sequence[str], n_clients: int, seconds: float) -> Round:
    """Clients that each ask one query after the other; those under way at the end are waited for."""
    limits = httpx.Limits(max_connections=n_clients, max_keepalive_connections=n_clients)
    spent, n_batches, began = cpu(url), metric(url, _BATCHES), time.monotonic()
    answers, turn = list[Answer](), iter(range(1 << 60))

    async def one(client: httpx.AsyncClient) -> None:
        while time.monotonic() < began + seconds:
            answers.append(await ask(client, queries[next(turn) % len(queries)]))

    async with httpx.AsyncClient(base_url=f"{url}/v1/served", timeout=None, limits=limits) as client:
        await asyncio.gather(*(one(client) for _ in range(n_clients)))
    taken = time.monotonic() - began
    return Round(answers, taken, metric(url, _BATCHES) - n_batches, cpu(url) - spent)


async def burst(url: str, queries: Sequence[str], n_clients: int) -> list[Answer]:
    """Queries that all come at once."""
    limits = httpx.Limits(max_connections=n_clients)
    async with httpx.AsyncClient(base_url=f"{url}/v1/served", timeout=None, limits=limits) as client:
        asked = (ask(client, queries[number % len(queries)]) for number in range(n_clients))
        return list(await asyncio.gather(*asked))


def metric(url: str, name: str) -> float:
    """A number that the server counts."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return next((float(line.split()[1]) for line in lines if line.split()[0] == name), float("nan"))


def cpu(url: str) -> float:
    return metric(url, "process_cpu_seconds_total")


def is_right(answer: Answer, alone: Answer) -> bool:
    """Whether an answer is the one that was given alone, but for the rounding of other batches.

    Documents may change places with those of as good a score, at the end with some that were not seen.
    """
    if answer.status != 200 or len(answer.candidates) != len(alone.candidates):
        return False
    known = dict(alone.candidates)
    last = alone.candidates[-1][1] if alone.candidates else 0.0
    return all(
        abs(score - there) < CLOSE and abs(score - known.get(docid, last)) < CLOSE
        for (docid, score), (_, there) in zip(answer.candidates, alone.candidates, strict=True)
    )


def measure(url: str, queries: Sequence[str], n_clients: int, seconds: float) -> dict[str, Any]:
    """All that the module says."""
    alone = {query: asyncio.run(burst(url, [query], 1))[0] for query in queries}
    assert all(answer.status == 200 for answer in alone.values())
    single, many, memory = list[Round](), list[Round](), [metric(url, "process_resident_memory_bytes")]
    for _ in range(ROUNDS):
        single.append(asyncio.run(load(url, queries, 1, seconds / ROUNDS / 4)))
        many.append(asyncio.run(load(url, queries, n_clients, seconds / ROUNDS)))
        memory.append(metric(url, "process_resident_memory_bytes"))
    pressed = asyncio.run(burst(url, queries, 4 * n_clients))
    under_load = [answer for part in many for answer in part.answers]
    taken = [answer.seconds for answer in under_load]
    refused = [answer for answer in pressed if answer.status == 429]
    told = {
        "clients": n_clients,
        "seconds": round(sum(part.seconds for part in many), 1),
        "answers": len(under_load),
        "queries_per_s": per_s(many),
        "queries_per_s_one_client": per_s(single),
        "gain": per_s(many) / per_s(single),
        "cpu_s_per_query": cpu_s(many),
        "cpu_s_per_query_one_client": cpu_s(single),
        "cpu_gain": cpu_s(single) / cpu_s(many),
        "p50_s": float(np.percentile(taken, 50)),
        "p99_s": float(np.percentile(taken, 99)),
        "mean_batch": len(under_load) / sum(part.n_batches for part in many),
        "lost": sum(answer.status == 0 for answer in [*under_load, *pressed]),
        "wrong": sum(not is_right(answer, alone[answer.query]) for answer in under_load),
        "wrong_in_the_burst": sum(
            not is_right(answer, alone[answer.query]) for answer in pressed if answer.status != 429
        ),
        "same_documents": np.mean(
            [[d for d, _ in a.candidates] == [d for d, _ in alone[a.query].candidates] for a in under_load]
        ).item(),
        "statuses_of_the_burst": dict(Counter(answer.status for answer in pressed)),
        "refused_without_retry_after": sum("retry-after" not in answer.headers for answer in refused),
        "memory_mib": [round(value / (1 << 20)) for value in memory],
    }
    return {name: round(value, 4) if isinstance(value, float) else value for name, value in told.items()}


def per_s(rounds: Sequence[Round]) -> float:
    return sum(len(part.answers) for part in rounds) / sum(part.seconds for part in rounds)


def cpu_s(rounds: Sequence[Round]) -> float:
    return sum(part.cpu_seconds for part in rounds) / sum(len(part.answers) for part in rounds)


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--index", default="demo")
    parser.add_argument("--topics", type=Path, default=ROOT / "collections/demo/topics.tsv")
    parser.add_argument("--n-topics", type=int, default=16)
    parser.add_argument("--preset", default="balanced")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0, help="with all clients")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--module", default="seal_ir.server")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args(arguments)
    lines = args.topics.read_text(encoding="utf-8").splitlines()[: args.n_topics]
    queries = [line.split("\t")[1] for line in lines]
    options = ["--index", f"served={args.index}", "--preset", args.preset, "--batch-size", args.batch_size]
    options += ["--max-waiting", args.clients, "--timeout", 3600, "--wait-ms", 2, "--refresh", 0]
    with server(args.module, *options) as url:
        told = {
            "index": args.index,
            "preset": args.preset,
            **measure(url, queries, args.clients, args.seconds),
        }
    text = json.dumps(told, indent=2)
    print(text)
    if args.output is not None:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text + "\n", encoding="utf-8")
    return told


if __name__ == "__main__":
    main()
