"""Rows of a table read by a reader: a step after each search, and exact match as a further measure."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from seal_ir.errors import UsageError
from seal_ir.eval.measures import need_answers, parse_measures
from seal_ir.formats.io.files import utf8
from seal_ir.formats.io.inputs import is_special
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.spec import Row, Step, TableSpec, Topics

EXACT_MATCH = "EM"
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def with_reader(spec: TableSpec, reader: str, cache: Path) -> TableSpec:
    """The table with a step that reads each of its runs, and EM in each set whose answers are known.

    Args:
        spec: the table, with the rows that were asked for.
        reader: as `python -m seal_ir.read` takes it.
        cache: where indexes with names are.

    Raises:
        UsageError: it has no index to take passages from, or no set with answers.
    """
    if not spec.index or spec.n_keys:
        raise UsageError(f"table {spec.name}: a reader needs the 'index' of a table of figures; leave it out")
    read = [topics for topics in spec.topics if topics.source and _has_answers(topics)]
    if not read:
        raise UsageError(f"table {spec.name}: no set has answers to measure EM by; leave out --reader")
    made = {path for step in spec.steps for path in step.makes}
    index, outputs, steps = _index(spec, made, cache), dict[Path, Path](), list[Step]()
    for topics in (known for known in read if not known.within):
        for run in dict.fromkeys(row.runs[topics.name] for row in spec.rows if topics.name in row.runs):
            outputs[run] = _output(topics, run, reader, made)
            steps.append(_step(topics, run, outputs[run], index, reader))
    return replace(
        spec,
        rows=tuple(replace(row, predictions=_predictions(row, read, outputs)) for row in spec.rows),
        steps=(*spec.steps, *steps),
        topics=_measured(spec.topics, {topics.name for topics in read}),
        note="; ".join([*filter(None, [spec.note]), f"EM: exact match of the answers read by {reader}"]),
    )


def _step(topics: Topics, run: Path, output: Path, index: str, reader: str) -> Step:
    """The step that reads a run."""
    command = (
        *(sys.executable, "-m", "seal_ir.read", "--topics", str(topics.file), "--run", str(run)),
        *("--index", index, "--reader", reader, "--output", str(output)),
    )
    return Step(command, (output,), topics.needs, topics.name)


def _output(topics: Topics, run: Path, reader: str, made: Container[Path]) -> Path:
    """Where answers go: beside the run; those of a file of another system, which may change, by its state.

    Raises:
        UsageError: the other system's run is a pipe.
    """
    name = f"{_ODD.sub('-', reader).strip('-')}.jsonl"
    if run in made:
        return run.with_name(f"{run.name}.{name}")
    if is_special(run):
        raise UsageError(f"{run}: a pipe cannot be read again by --reader's process; give a file")
    state = run.stat()
    told = f"{utf8(run.absolute())} {state.st_size} {state.st_mtime_ns}"
    digest = hashlib.sha256(told.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return topics.runs / f"{_ODD.sub('-', run.name).strip('-')}.{digest}.{name}"


def _index(spec: TableSpec, made: Iterable[Path], cache: Path) -> str:
    """The table's index; by its folder where a step makes it, so that it is made before."""
    folder = cache / "indexes" / spec.index
    return str(folder) if any(folder in path.parents for path in made) else spec.index


def _predictions(row: Row, read: Iterable[Topics], outputs: Mapping[Path, Path]) -> dict[str, Path]:
    """The answers to each set, by the run that they were read from."""
    runs = {topics.name: row.runs[topics.name] for topics in read if topics.name in row.runs}
    return {name: outputs[run] for name, run in runs.items() if run in outputs}


def _has_answers(topics: Topics) -> bool:
    """Whether a set names its answers, or has a measure that needs some."""
    return bool(topics.answers) or need_answers(
        parse_measures(name for name in topics.measures if name not in LABELS)
    )


def _measured(sets: Iterable[Topics], read: set[str]) -> tuple[Topics, ...]:
    """The sets, those that are read and the means of such with EM as a measure, if they had it not."""
    found = []
    for topics in sets:
        if topics.mean_of and read.issuperset(topics.mean_of):
            read = read | {topics.name}
        if topics.name in read and EXACT_MATCH not in topics.measures:
            topics = replace(topics, measures=(*topics.measures, EXACT_MATCH))
        found.append(topics)
    return tuple(found)
