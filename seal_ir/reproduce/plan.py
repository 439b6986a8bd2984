"""What of a table can be made here: rows that were asked for, the steps they need, what others lack."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.io.files import is_file, shown
from seal_ir.formats.io.inputs import rereadable
from seal_ir.formats.runs.others import has_texts
from seal_ir.reproduce.needs import Need, is_met
from seal_ir.reproduce.spec import Row, Step, TableSpec, Topics

_AHEAD_SECONDS = 60  # that the clock of a file server may be before ours


@dataclass(frozen=True, slots=True)
class Lack:
    """Why a row has no run on some topics, no answers, or no index.

    Attributes:
        system: the row.
        topics: the set; "" where it is the same for all.
        needs: what is not here.
        commands: what would make it, in order; () where no command of ours does.
    """

    system: str
    topics: str
    needs: tuple[Need, ...]
    commands: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done for a table.

    Attributes:
        steps: those to perform where they are stale, in order.
        topics: sets with a row that has a run or gets one.
        lacks: rows that have no run, with why.
    """

    steps: tuple[Step, ...]
    topics: tuple[Topics, ...]
    lacks: tuple[Lack, ...]


def chosen(spec: TableSpec, patterns: Sequence[str]) -> TableSpec:
    """The table with only the rows that a name or pattern (`SEAL*`) fits, whatever the case.

    Raises:
        UsageError: one fits no row.
    """
    for pattern in patterns:
        if not any(_fits(row, pattern) for row in spec.rows):
            known = ", ".join(row.system for row in spec.rows)
            raise UsageError(f"{shown(pattern)}: no such system in table {spec.name}; it has {known}")
    return replace(
        spec, rows=tuple(row for row in spec.rows if any(_fits(row, pattern) for pattern in patterns))
    )


def imported(spec: TableSpec, runs: Iterable[str]) -> TableSpec:
    """The table with run files of other systems, each `NAME=FILE` or, with several sets, `NAME=TOPICS:FILE`.

    A name that the table has gets the run in its row, without what is recorded of another run; any other one
    gets a row of its own at the end.

    Raises:
        UsageError: it is not written so, or names no set of topics.
        InputError: there is no such file.
    """
    sets = [topics.name for topics in spec.topics if topics.source and not topics.within]
    rows = {row.system: row for row in spec.rows}
    for text in runs:
        system, _, value = text.partition("=")
        name, _, file = value.partition(":")
        if len(sets) == 1 and name != sets[0]:
            name, file = sets[0], value
        if not system or not file or name not in sets:
            form = "NAME=FILE" if len(sets) == 1 else f"NAME=TOPICS:FILE, TOPICS being {' or '.join(sets)}"
            raise UsageError(f"--run {shown(text)}: write {form}")
        if not is_file(Path(file)):
            raise InputError(f"{file}: no such run; check the path")
        row = rows.get(system) or Row(system, {}, {}, "", "", ())
        path = rereadable(Path(file))
        own = {topics.name: path for topics in spec.topics if name in (topics.name, topics.within)}
        recorded = {name: found for name, found in row.recorded.items() if name not in own}
        costs = {name: found for name, found in row.costs.items() if name not in own}
        rows[system] = replace(row, runs={**row.runs, **own}, missing="", recorded=recorded, costs=costs)
    return replace(spec, rows=tuple(rows.values()))


def make_plan(spec: TableSpec, cache: Path) -> Plan:
    """Which steps to perform for the rows, and what the rows lack for which nothing can be done here."""
    graph = _graph(spec, cache)
    wanted: set[int] = set()
    live: set[str] = set()
    lacks: list[Lack] = []
    for row in spec.rows:
        lacks += _absent(row)
        for topics in (known for known in spec.topics if known.name in row.runs):
            maker = graph.makers.get(row.runs[topics.name])
            parts = [row.runs[topics.name], *row.costs.get(topics.name, ())]
            ends = [graph.makers[path] for path in parts if path in graph.makers]
            run = row.runs[topics.name]
            if not (is_file(run) and has_texts(run)):
                ends += _answer_steps(spec, topics, graph.makers, cache)
            own = (
                topics.needs
                if maker is not None
                else [need for need in topics.needs if need.file is not None]
            )
            needs = graph.unmet_of(ends, own)  # a run of another system needs the set's files, and no more
            if needs:
                lacks.append(Lack(row.system, topics.name, needs, graph.commands(ends)))
            else:
                live.add(topics.name)
                wanted |= graph.chain(ends)
                lacks += _unread(row, topics, graph, wanted)
        for path in row.size_of:
            ends = [i for made, i in graph.makers.items() if _holds(path, made)]
            needs = graph.unmet_of(ends) if ends or path.exists() else (Need(f"{path}, which is not there"),)
            if not needs:
                wanted |= graph.chain(ends)
            elif not row.runs and not row.missing:
                lacks.append(Lack(row.system, "", needs, graph.commands(ends)))
    performed = (spec.steps[i] for i in sorted(wanted))
    return Plan(
        tuple(step for step in performed if all(graph.met[need] for need in step.needs)),
        tuple(topics for topics in spec.topics if topics.name in live),
        tuple(lacks),
    )


def _unread(row: Row, topics: Topics, graph: _Graph, wanted: set[int]) -> list[Lack]:
    """Why a run that is there is not read; nothing where it is, and its steps are wanted then."""
    ends = [i for path, i in graph.makers.items() if path == row.predictions.get(topics.name)]
    needs = graph.unmet_of(ends)
    if not needs:
        wanted |= graph.chain(ends)
        return []
    return [Lack(row.system, topics.name, needs, graph.commands(ends))]


def _absent(row: Row) -> list[Lack]:
    """Why a row has no run that no step of ours makes: what it misses, and the system's own output."""
    without = [name for name in row.outputs if name not in row.runs]
    if row.missing and (without or not row.outputs):
        other = f"; or {row.output.what}" if row.output else ""
        return [Lack(row.system, "", (Need(f"{row.missing}{other}", row.output.get if row.output else ""),))]
    return [Lack(row.system, name, (row.output,)) for name in without if row.output]


def check_reached(spec: TableSpec, path: Path, cache: Path) -> None:
    """Refuses a step that would never be performed, because no row and no step of a row reads its files.

    Raises:
        InputError: there is one; most often a command names an index by its name and not by its folder.
    """
    makers = _makers(spec.steps)
    read = [run for row in spec.rows for run in row.runs.values()]
    read += [run for row in spec.rows for runs in row.costs.values() for run in runs]
    read += [answers for row in spec.rows for answers in row.predictions.values()]
    ends = [
        i
        for made, i in makers.items()
        if made in read or _sized(made, spec.rows) or _of_index(spec, made, cache)
    ]
    left = sorted(set(range(len(spec.steps))) - _chain(_before(spec.steps, makers), ends))
    if left:
        raise InputError(
            f"{path}: no row needs {spec.steps[left[0]].makes[0]}, which a step makes; let the command that"
            " reads it name it, or its folder, as a path"
        )


def stale(step: Step, spec: TableSpec) -> bool:
    """Whether a step has to run: a file it makes is missing, or older than a file that it reads.

    Or it is of the future: it was made while the clock was wrong, and nothing could be told to be younger.
    """
    if not all(path.exists() for path in step.makes):
        return True
    made = [path.stat().st_mtime for path in step.makes]
    if max(made) > time.time() + _AHEAD_SECONDS:
        return True
    written = {path for other in spec.steps for path in other.makes if other is not step}
    written |= {topics.file for topics in spec.topics}
    return any(path.stat().st_mtime > min(made) for path in _read_by(step, written) if path.exists())


@dataclass(frozen=True, slots=True)
class _Graph:
    """Steps by number, and what hangs on what.

    Attributes:
        steps: all of the table.
        makers: the step that makes a file.
        before: the steps whose files each step reads.
        met: whether a need is met.
        unmet: of each step what it, and the steps before it, lack to be done; nothing if it was done.
    """

    steps: Sequence[Step]
    makers: Mapping[Path, int]
    before: Sequence[Sequence[int]]
    met: Mapping[Need, bool]
    unmet: Sequence[tuple[Need, ...]]

    def chain(self, ends: Iterable[int]) -> set[int]:
        """These steps and all before them."""
        return _chain(self.before, ends)

    def unmet_of(self, ends: Iterable[int], also: Sequence[Need] = ()) -> tuple[Need, ...]:
        """What these steps lack, and which of the other needs are not met, each once."""
        needs = [*(need for i in ends for need in self.unmet[i]), *(n for n in also if not self.met[n])]
        return tuple(dict.fromkeys(needs))

    def commands(self, ends: Iterable[int]) -> tuple[str, ...]:
        """The commands of these steps and of those before them that were not done, in order."""
        todo = (self.steps[i] for i in sorted(self.chain(ends)))
        return tuple(str(step) for step in todo if not all(path.exists() for path in step.makes))


def _answer_steps(spec: TableSpec, topics: Topics, makers: Mapping[Path, int], cache: Path) -> list[int]:
    """The steps that make the index which answers are looked up in, if the set has answers to look up."""
    if not any(name.startswith("AnswerAccuracy@") for name in topics.measures):
        return []
    return [i for made, i in makers.items() if _of_index(spec, made, cache)]


def _of_index(spec: TableSpec, file: Path, cache: Path) -> bool:
    """Whether a file belongs to the index that the table names, by its folder or its name."""
    places = (Path(spec.index), cache / "indexes" / spec.index) if spec.index else ()
    return any(_holds(place, file) for place in places)


def _graph(spec: TableSpec, cache: Path) -> _Graph:
    needs = {need for step in spec.steps for need in step.needs}
    needs |= {need for topics in spec.topics for need in topics.needs}
    met = {need: is_met(need, cache) for need in needs}
    makers = _makers(spec.steps)
    before = _before(spec.steps, makers)
    unmet: list[tuple[Need, ...]] = []
    for step, earlier in zip(spec.steps, before, strict=True):
        lacking = [need for i in earlier for need in unmet[i]]
        lacking += [need for need in step.needs if not met[need]]
        done = all(path.exists() for path in step.makes)
        unmet.append(() if done else tuple(dict.fromkeys(lacking)))
    return _Graph(spec.steps, makers, before, met, unmet)


def _makers(steps: Sequence[Step]) -> dict[Path, int]:
    return {path: i for i, step in enumerate(steps) for path in step.makes}


def _before(steps: Sequence[Step], makers: Mapping[Path, int]) -> list[list[int]]:
    """Of each step the earlier ones whose files it reads."""
    found = []
    for i, step in enumerate(steps):
        earlier = [path for path, maker in makers.items() if maker < i]
        found.append(sorted({makers[path] for path in _read_by(step, earlier)}))
    return found


def _chain(before: Sequence[Sequence[int]], ends: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for i in ends:
        found |= {i} | _chain(before, before[i])
    return found


def _sized(file: Path, rows: Iterable[Row]) -> bool:
    """Whether the size of a row's index is asked for, and the file belongs to it."""
    return any(_holds(place, file) for row in rows for place in row.size_of)


def _read_by(step: Step, files: Iterable[Path]) -> list[Path]:
    """Those of the files that a step reads: its command names them, or a folder that they are in."""
    words = [Path(word) for word in step.command[1:] if Path(word) not in step.makes]
    return [path for path in files if path not in step.makes and any(_holds(word, path) for word in words)]


def _holds(place: Path, file: Path) -> bool:
    return place == file or place in file.parents


def _fits(row: Row, pattern: str) -> bool:
    name, pattern = row.system.lower(), pattern.lower()
    return name == pattern or fnmatchcase(name, pattern)
