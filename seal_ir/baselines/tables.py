"""Tables of systems as data: which commands make the runs, and which runs are rows (eval/*.toml)."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.named import Places, resolve_topics
from seal_ir.formats.topics import read_topics

_PACKAGES = {"pyserini": "pip install 'seal-ir[pyserini]'"}


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a table.

    Attributes:
        command: arguments, the first of them the Python that runs this program.
        makes: files that it writes; it is left out where they are newer than all that it reads.
        needs: packages without which it cannot run.
    """

    command: tuple[str, ...]
    makes: tuple[Path, ...]
    needs: tuple[str, ...]

    @property
    def missing(self) -> list[str]:
        """How to install what it needs and this environment lacks."""
        return [_PACKAGES.get(name, f"pip install {name}") for name in self.needs if find_spec(name) is None]


@dataclass(frozen=True, slots=True)
class Row:
    """One system of a table: its name and its run."""

    system: str
    run: Path
    command: str


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a table file says, with its placeholders filled in.

    Attributes:
        name: the file's name without suffix.
        title: one line above the table.
        folder: where runs and results go.
        topics: name of the topics that answers and judgements belong to.
        topics_file: the topics that are searched: all of them, or the sample.
        index: our index (name or directory) that answers are looked up in.
        measures: for `seal_ir.eval`.
        steps, rows: in order.
    """

    name: str
    title: str
    folder: Path
    topics: str
    topics_file: Path
    index: str
    measures: tuple[str, ...]
    steps: tuple[Step, ...]
    rows: tuple[Row, ...]


def read_table(path: Path, results: Path, places: Places) -> TableSpec:
    """The table of a TOML file; its topics, or the sample of them that it names, are written to disk.

    Raises:
        InputError: the file is no table, or names topics or data that are not here.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        folder = results / path.stem
        folder.mkdir(parents=True, exist_ok=True)
        topics_file = _topics(path, values, folder, places)
        fill = _placeholders(values, folder, topics_file, places)
        steps = tuple(
            Step(
                command=(
                    sys.executable,
                    *(_filled(word, fill, path) for word in shlex.split(step["command"])),
                ),
                makes=tuple(Path(_filled(name, fill, path)) for name in step["makes"]),
                needs=tuple(step.get("needs", ())),
            )
            for step in values["step"]
        )
        return TableSpec(
            name=path.stem,
            title=values["title"],
            folder=folder,
            topics=values["topics"],
            topics_file=topics_file,
            index=values["index"],
            measures=tuple(values["measures"]),
            steps=steps,
            rows=tuple(_row(row, folder, steps) for row in values["row"]),
        )
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValueError) as error:
        raise InputError(f"{path}: not a table: {error}") from error
    except (KeyError, TypeError) as error:
        raise InputError(f"{path}: not a table: {error} is missing or of the wrong type") from error


def _topics(path: Path, values: Mapping[str, Any], folder: Path, places: Places) -> Path:
    queries = read_topics(resolve_topics(values["topics"], places))
    if "sample" in values:
        sample = path.parent / values["sample"]
        ids = sample.read_text(encoding="utf-8").split()
        by_id = {query.id: query for query in queries}
        absent = [qid for qid in ids if qid not in by_id]
        if absent:
            raise InputError(f"{sample}: topic {absent[0]!r} is not one of {values['topics']}")
        queries = [by_id[qid] for qid in ids]
    target = folder / "topics.tsv"
    text = "".join(f"{query.id}\t{query.text}\n" for query in queries)
    if not target.is_file() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")
    return target


def _placeholders(
    values: Mapping[str, Any], folder: Path, topics_file: Path, places: Places
) -> dict[str, str]:
    filled = {
        "out": str(folder),
        "topics": str(topics_file),
        "collections": str(places.collections),
        "cache": str(places.cache),
    }
    if places.data is not None:
        filled["data"] = str(places.data)
    return filled


def _filled(text: str, values: Mapping[str, str], path: Path) -> str:
    try:
        return text.format_map(values)
    except KeyError as error:
        if error.args == ("data",):
            raise UsageError(f"{path}: this table needs real data; set SEAL_IR_DATA to its folder") from None
        raise InputError(f"{path}: unknown placeholder {{{error.args[0]}}} in {text!r}") from None


def _row(row: Mapping[str, Any], folder: Path, steps: Sequence[Step]) -> Row:
    run = folder / row["run"]
    made_by = next((step for step in steps if run in step.makes), None)
    if made_by is None:
        raise ValueError(f"no step makes {row['run']}, the run of {row['system']!r}")
    return Row(row["system"], run, shlex.join(["python", *made_by.command[1:]]))


def stale(step: Step, spec: TableSpec) -> bool:
    """Whether a step has to run: a file it makes is missing, or older than a file that it reads."""
    if not all(path.exists() for path in step.makes):
        return True
    oldest = min(path.stat().st_mtime for path in step.makes)
    reads = [Path(word) for word in step.command[1:] if Path(word) not in step.makes]
    made_here = {path for other in spec.steps for path in other.makes} | {spec.topics_file}
    return any(path.stat().st_mtime > oldest for path in reads if path in made_here and path.exists())
