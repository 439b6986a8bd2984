"""What a table is made of: sets of topics, steps that make runs, rows, published figures."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seal_ir.eval.answer_measures import answer_measure
from seal_ir.reproduce.needs import Need

NO_DATA = "$SEAL_IR_DATA"  # stands in paths for the folder of real data where there is none


@dataclass(frozen=True, slots=True)
class Topics:
    """A set of topics and what is measured on it.

    Attributes:
        name: what rows call it; its folder has the same name.
        label: how it is headed.
        source: file or name of the topics; "" where nothing is searched for.
        sample: file with the ids of the only topics taken; None for all.
        within: name of the set of which it is a part and whose runs it takes; "" for runs of its own.
        mean_of: names of sets of whose figures this one has the means; it has no topics then.
        answers, qrels: files or names; "" for those that belong to the source.
        pages: passages are folded into pages before they are measured.
        measures: those of `seal_ir.eval`, and costs.
        needs: what all its steps need.
        folder: where its topics are written.
        runs: where its runs are.
    """

    name: str
    label: str
    source: str
    sample: Path | None
    within: str
    mean_of: tuple[str, ...]
    answers: str
    qrels: str
    pages: bool
    measures: tuple[str, ...]
    needs: tuple[Need, ...]
    folder: Path
    runs: Path

    @property
    def file(self) -> Path:
        """The topics that are searched for, as commands read them."""
        return self.folder / "topics.tsv"

    @property
    def written(self) -> tuple[str, ...]:
        """Those of its measures that are of written answers."""
        return tuple(name for name in self.measures if answer_measure(name) is not None)


@dataclass(frozen=True, slots=True)
class Step:
    """A command of a table.

    Attributes:
        command: arguments, the first of them the Python that runs this program.
        makes: files that it writes; it is left out where they are newer than all that it reads.
        needs: what must be there.
        topics: the set of topics that it is done for; "" where it is done once.
    """

    command: tuple[str, ...]
    makes: tuple[Path, ...]
    needs: tuple[Need, ...]
    topics: str = ""

    def __str__(self) -> str:
        words = (f'"{word}"' if NO_DATA in word else shlex.quote(word) for word in self.command[1:])
        return " ".join(["python", *words])


@dataclass(frozen=True, slots=True)
class RunReader:
    """What reads the runs of rows, so that written answers can be measured (`[[reader]]`).

    Attributes:
        words: the reader and its options, as `python -m seal_ir.read` takes them, in a fixed order.
        systems: patterns of the rows whose runs it reads; () for all.
        needs: what must be there.
        tolerance: how far measures of written answers may be from what is recorded, in points.
    """

    words: tuple[str, ...]
    systems: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()
    tolerance: float = 0.0

    def __str__(self) -> str:
        return shlex.join(self.words)


@dataclass(frozen=True, slots=True)
class Row:
    """One system of a table.

    Attributes:
        system: its name.
        runs: its run files by set of topics; none where it has no run, or none on that set.
        published: figures by set of topics, then by measure, in the unit that ours have.
        source: where these were published, if not where the table says.
        missing: why it has no run, in words; "" where it has.
        size_of: files and folders whose size is that of its index.
        recorded: what was last measured, as `published`.
        preset: under which a run of keys is ranked, in a table of keys; else "".
        costs: by set of topics, the runs whose searches together are what its run cost, where that is not its
            own: a fused run, say, costs what both of its parts do.
        tolerance: how far a share may be from what is recorded, in points of a percentage.
        reader: what reads its runs; None where nothing does.
        predictions: by set of topics, the answers that were read from its run; none without a reader.
        outputs: by set of topics, a file of the system itself, which is its run where it is there.
        output: what such a file is, in words, for a table that lacks it; None where it has none.
    """

    system: str
    runs: Mapping[str, Path]
    published: Mapping[str, Mapping[str, float]]
    source: str
    missing: str
    size_of: tuple[Path, ...]
    recorded: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    tolerance: float = 0.0
    preset: str = ""
    costs: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    reader: RunReader | None = None
    predictions: Mapping[str, Path] = field(default_factory=dict)
    outputs: Mapping[str, Path] = field(default_factory=dict)
    output: Need | None = None

    def searched(self, topics: str) -> Sequence[Path]:
        """The runs whose searches are the cost of its run on a set; none where it has no run there."""
        return self.costs.get(topics) or [self.runs[topics]] if topics in self.runs else []


@dataclass(frozen=True, slots=True)
class Frontier:
    """Systems of which the table says which none betters at its price (`frontier`).

    Attributes:
        label: how it is headed.
        systems: rows that are compared.
        measure: what they are worth.
        cost: what they cost, another measure.
    """

    label: str
    systems: tuple[str, ...]
    measure: str
    cost: str


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown page that the table stands in: the whole table, or a short form with some of its rows.

    Attributes:
        file: the page.
        note: a remark below a short form, or "".
        systems, topics, measures: the rows, sets and measures of a short form, in its order; () for the whole
            table.
        plots: whether the pictures of the table's frontiers stand above it; their files lie beside the page.
    """

    file: Path
    note: str = ""
    systems: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    plots: bool = False

    @property
    def is_short(self) -> bool:
        """Whether only a part of the table stands there."""
        return bool(self.systems)


@dataclass(frozen=True, slots=True)
class TableSpec:
    """What a table file says, with its placeholders filled in.

    Attributes:
        name: the file's name without suffix.
        title: one line above the table.
        note: a remark below it, or "".
        source: where published figures are from, or "".
        folder: where runs and timings go.
        index: our index, or Lucene's (name or directory), that answers are looked up in; "" without answers.
        baseline: the system that others are compared with; "" for no comparison.
        compare: the systems that are; () for all others.
        topics, steps, rows: in order.
        n_keys: how many keys of each best document are shown, in a table of keys; 0 in one of figures.
        pages: where it stands.
        frontiers: what is marked as the best at its price, on the sets that have both measures.
        readers: what reads runs.
    """

    name: str
    title: str
    note: str
    source: str
    folder: Path
    index: str
    baseline: str
    compare: tuple[str, ...]
    topics: tuple[Topics, ...]
    steps: tuple[Step, ...]
    rows: tuple[Row, ...]
    n_keys: int = 0
    pages: tuple[Page, ...] = ()
    frontiers: tuple[Frontier, ...] = ()
    readers: tuple[RunReader, ...] = ()
