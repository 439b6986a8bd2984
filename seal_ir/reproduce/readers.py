"""Rows of a table read by readers: a step after each search, and EM of what they answer as a measure."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seal_ir.errors import UsageError
from seal_ir.eval.answer_measures import answer_measure
from seal_ir.eval.measures import need_answers, parse_measures
from seal_ir.formats.io.files import is_file, shown, utf8
from seal_ir.formats.io.inputs import is_special
from seal_ir.formats.topics.predictions import brings_answers
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.reader_words import reader_words, reads
from seal_ir.reproduce.spec import Row, RunReader, Step, TableSpec, Topics

EXACT_MATCH = "EM"
_ODD = re.compile(r"[^A-Za-z0-9._]+")
_LONGEST = 60  # characters of a reader in a file's name


def read_by(spec: TableSpec, text: str) -> TableSpec:
    """The table with one reader for all its rows, and EM in each set whose answers are known.

    What is recorded of written answers is of the table's own readers, and goes with them.

    Args:
        spec: the table, with the rows that were asked for.
        text: as `--reader` has it; see `reader_words`.

    Raises:
        UsageError: it names no reader, or the table has no index to take passages from, or no answers.
    """
    try:
        words = reader_words(text)
    except UsageError as error:
        raise UsageError(f"--reader {shown(text)}: {error}") from error
    if not spec.index or spec.n_keys:
        raise UsageError(f"table {spec.name}: a reader needs the 'index' of a table of figures; leave it out")
    read = {topics.name for topics in spec.topics if topics.source and _has_answers(topics)}
    if not read:
        raise UsageError(f"table {spec.name}: no set has answers to measure EM by; leave out --reader")
    rows = tuple(replace(row, recorded=_of_rankings(row.recorded)) for row in spec.rows)
    return replace(spec, readers=(RunReader(words),), rows=rows, topics=_measured(spec.topics, read))


def with_readers(spec: TableSpec, cache: Path) -> TableSpec:
    """The table with a step that reads each run of the rows that it has readers for; else the same.

    A set is read if it has a measure of written answers. A part of such a set takes the answers of the whole;
    of a set without one, the part alone is read. Runs that bring answers keep these.

    Args:
        spec: the table.
        cache: where indexes with names are.

    Raises:
        UsageError: a run is a pipe, or two readers read it.
        InputError: a run of another system cannot be read.
    """
    made = {path for step in spec.steps for path in step.makes}
    sets = {known.name: known for known in spec.topics if known.source and known.written}
    steps, rows, index = dict[Path, Step](), list[Row](), _index(spec, made, cache)
    for row in spec.rows:
        reader, predictions = _reader_of(spec.readers, row.system), dict[str, Path]()
        for topics in sets.values():
            run, home = row.runs.get(topics.name), _home(topics, sets)
            if reader and run and (run in made or not _answered(run)):
                output = predictions[topics.name] = _output(home, run, reader, made)
                steps.setdefault(output, _step(home, run, output, index, reader))
        rows.append(replace(row, reader=reader if predictions else None, predictions=predictions))
    note = "; ".join([*filter(None, [spec.note]), *_told(rows, sets.values())])
    return replace(spec, rows=tuple(rows), steps=(*spec.steps, *steps.values()), note=note)


def _reader_of(readers: Sequence[RunReader], system: str) -> RunReader | None:
    found = [reader for reader in readers if reads(reader, system)]
    if len(found) > 1:
        raise UsageError(f"{shown(system)}: {found[0]} and {found[1]} would both read it; rename the row")
    return found[0] if found else None


def _answered(run: Path) -> bool:
    """Whether another system's run brings answers.

    Raises:
        UsageError: it is a pipe.
    """
    if is_special(run):
        raise UsageError(f"{run}: a pipe cannot be read again by a reader's process; give a file")
    return is_file(run) and brings_answers(run)


def _home(topics: Topics, sets: Mapping[str, Topics]) -> Topics:
    """The set whose answers it takes: the largest that it is a part of and that is read, or itself."""
    while topics.within in sets:
        topics = sets[topics.within]
    return topics


def _step(topics: Topics, run: Path, output: Path, index: str, reader: RunReader) -> Step:
    """The step that reads a run."""
    command = (
        *(sys.executable, "-m", "seal_ir.read", "--topics", str(topics.file), "--run", str(run)),
        *("--index", index, "--reader", *reader.words, "--output", str(output)),
    )
    return Step(command, (output,), tuple(dict.fromkeys((*topics.needs, *reader.needs))), topics.name)


def _output(topics: Topics, run: Path, reader: RunReader, made: Collection[Path]) -> Path:
    """Where answers go: a name of its own for each run and reader, so that another one's are made anew.

    A file of another system and a model's folder, which may change without a step of the table, are told
    apart by their state.
    """
    name = _ODD.sub("-", " ".join(reader.words)).strip("-")[:_LONGEST]
    states = [] if reader.words == (name,) else [*reader.words]
    states += _states(Path(reader.words[0]), made)
    states += _states(run, made)
    digest = hashlib.sha256("\0".join(states).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    parts = [_ODD.sub("-", run.name).strip("-"), name, *([digest] if states else []), "jsonl"]
    return topics.folder / ".".join(parts)


def _states(place: Path, made: Collection[Path]) -> list[str]:
    """The state of a file, or of all files in a folder; nothing where a step makes it or there is none."""
    if any(place == path or place in path.parents for path in made):
        return []
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    states = ((path, path.stat()) for path in files if is_file(path))
    return [f"{utf8(path.absolute())} {state.st_size} {state.st_mtime_ns}" for path, state in states]


def _index(spec: TableSpec, made: Iterable[Path], cache: Path) -> str:
    """The table's index; by its folder where a step makes it, so that it is made before."""
    folder = cache / "indexes" / spec.index
    return str(folder) if any(folder in path.parents for path in made) else spec.index


def _told(rows: Iterable[Row], sets: Iterable[Topics]) -> list[str]:
    """By whom answers were read, a line for each reader, with its rows where there are several."""
    labels = dict.fromkeys(c.label for known in sets for c in parse_measures(known.written))
    by_reader: dict[str, list[str]] = {}
    for row in rows:
        if row.reader is not None:
            by_reader.setdefault(str(row.reader), []).append(row.system)
    told = f"{', '.join(labels)}: of the answers read by"
    if len(by_reader) == 1:
        return [f"{told} {reader}" for reader in by_reader]
    return [f"{told} {reader} ({', '.join(systems)})" for reader, systems in by_reader.items()]


def _of_rankings(recorded: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    return {
        name: {measure: value for measure, value in figures.items() if answer_measure(measure) is None}
        for name, figures in recorded.items()
    }


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
