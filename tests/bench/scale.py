"""What a collection of any size would take, from constants that were measured on small ones.

`python tests/bench/scale.py [--constants FILE] [--tokens N --passages N [--segments N]]` prints tables: for
21 million and 10 billion passages, or the size that is given. The constants are in scale.toml, each with
where it was measured.

The model: building costs the same CPU time and bytes for each token and passage; an index takes bytes by
tokens and passages, all of which a reader has in memory when it has been asked long enough; the index's part
of a decoding step grows with the number of segments and with nothing else; the language model's part and
ranking, which reads candidates of rare keys, do not grow. Shards take one machine each.
"""

from __future__ import annotations

import argparse
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONSTANTS = Path(__file__).with_suffix(".toml")
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Size:
    """A collection."""

    name: str
    passages: int
    tokens: int
    segments: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a collection takes.

    Attributes:
        build_core_hours: CPU time of building, the tokenizer included.
        build_hours: with as many processes as the machines that hold it have cores and memory for.
        build_bytes: memory of one process that builds a segment.
        disk_bytes: of the index.
        memory_bytes: of all readers together, when every page has been asked for.
        shards: machines that hold it.
        step_ms: CPU time of a shard for one step of a batch of 8.
        step_bytes: between all shards and the caller, for the same.
        match_bytes: the same of ranking, for one query; of keys that are rare in the whole collection.
        query_core_ms: CPU time of one query, model and all shards together.
        queries_per_second: of all cores of the machines, which take part in the model's work as well.
        dollars_per_hour: of the machines.
    """

    size: Size
    build_core_hours: float
    build_hours: float
    build_bytes: float
    disk_bytes: float
    memory_bytes: float
    shards: int
    step_ms: float
    step_bytes: float
    match_bytes: float
    query_core_ms: float
    queries_per_second: float
    dollars_per_hour: float


def read_constants(path: Path = CONSTANTS) -> dict[str, Any]:
    """The file's values; a constant's number without where it is from."""
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    numbers = {name: entry["value"] for name, entry in values.pop("constants").items()}
    return {**values["settings"], **values["prices"], **numbers}


def sources(path: Path = CONSTANTS) -> str:
    """The constants in Markdown, each with what it is and where it is from."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["constants"]
    rows = [
        f"| `{name}` | {entry['value']:,} {entry['unit']} | {entry['kind']} | {entry['from']} |"
        for name, entry in entries.items()
    ]
    return "\n".join(["| constant | value | | from |", "|---|---|---|---|", *rows])


def sizes(known: Mapping[str, Any]) -> list[Size]:
    """The collections of docs/scale.md."""
    found = []
    for name, passages in (("21 million passages", 21_000_000), ("10 billion passages", 10_000_000_000)):
        tokens = round(passages * known["passages_tokens"])
        found.append(Size(name, passages, tokens, math.ceil(tokens / known["segment_tokens"])))
    return found


def predicted(size: Size, known: Mapping[str, Any]) -> Prediction:
    """What a collection takes, by the model that the module describes."""
    core_seconds = 1e-9 * size.tokens * (known["tokenise_ns"] + known["write_ns"] + known["engine_ns"])
    disk = size.tokens * known["token_bits"] / 8 + size.passages * known["passage_bytes"]
    memory = disk + size.segments * known["segment_bytes"]
    shards = math.ceil(memory / (known["used"] * known["machine_bytes"]))
    segments_a_shard = math.ceil(size.segments / shards)
    step = known["step_ms"] + known["step_segment_ms"] * segments_a_shard
    steps_of_query = known["steps"] / known["batch"]
    shard_ms = shards * step * steps_of_query + known["rank_ms"]
    cores = known["machine_cores"]
    build_bytes = known["build_fixed_bytes"] + known["build_token_bytes"] * min(
        size.tokens, known["segment_tokens"]
    )
    builders = max(1, min(cores, known["used"] * known["machine_bytes"] // build_bytes))
    return Prediction(
        size,
        core_seconds / 3600,
        core_seconds / 3600 / (builders * shards),
        build_bytes,
        disk,
        memory,
        shards,
        step,
        shards * known["step_bytes"],
        known["match_bytes"],  # the keys that are located are rare in all shards together
        known["model_ms"] + shard_ms,
        cores * shards * 1e3 / (known["model_ms"] + shard_ms),
        shards * (cores * known["core_hour"] + known["machine_bytes"] / _GB * known["gigabyte_hour"]),
    )


def table(found: Sequence[Prediction]) -> str:
    """Predictions in Markdown, one a column."""
    rows: list[tuple[str, list[str]]] = [
        ("tokens", [f"{p.size.tokens:,}" for p in found]),
        ("segments", [f"{p.size.segments:,}" for p in found]),
        ("building, core hours", [f"{p.build_core_hours:,.1f}" for p in found]),
        ("building on the shards' machines, hours", [f"{p.build_hours:,.2f}" for p in found]),
        ("memory of a process that builds, GB", [f"{p.build_bytes / _GB:.1f}" for p in found]),
        ("index on disk, GB", [f"{p.disk_bytes / _GB:,.0f}" for p in found]),
        ("memory of all readers, GB", [f"{p.memory_bytes / _GB:,.0f}" for p in found]),
        ("shards, a machine each", [f"{p.shards:,}" for p in found]),
        ("a shard's CPU time for a step of 8 queries, ms", [f"{p.step_ms:.1f}" for p in found]),
        ("network, all shards, a step of 8 queries, kB", [f"{p.step_bytes / 1e3:,.0f}" for p in found]),
        ("network, all shards, ranking of a query, kB", [f"{p.match_bytes / 1e3:,.0f}" for p in found]),
        ("CPU time of a query, ms", [f"{p.query_core_ms:,.0f}" for p in found]),
        ("queries/s of all cores", [f"{p.queries_per_second:,.0f}" for p in found]),
        ("machines, $ an hour (assumed prices)", [f"{p.dollars_per_hour:,.2f}" for p in found]),
    ]
    head = [["", *(p.size.name for p in found)], ["---", *("---:" for _ in found)]]
    return "\n".join("| " + " | ".join(row) + " |" for row in [*head, *([name, *v] for name, v in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--constants", type=Path, default=CONSTANTS)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--passages", type=int)
    parser.add_argument("--segments", type=int, default=1)
    args = parser.parse_args()
    known = read_constants(args.constants)
    chosen = sizes(known)
    if args.tokens and args.passages:
        chosen = [Size(f"{args.passages:,} passages", args.passages, args.tokens, args.segments)]
    print(table([predicted(size, known) for size in chosen]))
    print(f"\n{sources(args.constants)}")


if __name__ == "__main__":
    main()
