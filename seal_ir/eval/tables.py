"""Figures of several runs side by side, with what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.eval.findings import Finding
from seal_ir.eval.measures import Column
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage
from seal_ir.eval.significance import Resampling

ALL, JUDGED, IN_RUN = "all", "judged", "in-run"  # topics that figures are averaged over


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one run.

    Attributes:
        system: its name in the table.
        path: its file.
        coverage: which topics it has.
        figures: by notation of the measure; without those that it has nothing for.
        values: of the same measures, by topic.
        in_run: topics that have results.
    """

    system: str
    path: Path
    coverage: Coverage
    figures: Mapping[str, float]
    values: Mapping[str, Mapping[str, float]]
    in_run: Set[str] = frozenset()


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system beside the baseline on one measure.

    Attributes:
        system, baseline, measure: names as in the table.
        n: topics for which the measure of both is defined.
        delta: figure of the system less that of the baseline, over these topics.
        interval: of delta, a paired bootstrap.
        p: of the paired randomisation test, two-sided.
        p_holm: corrected for all systems that are compared on this measure.
        wins, ties, losses: number of topics where the system's value is higher, equal, lower.
    """

    system: str
    baseline: str
    measure: str
    n: int
    delta: float
    interval: Interval
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """What resampling says of a table.

    Attributes:
        options: how it was drawn.
        intervals: of the figures, one mapping a result, by notation of the measure; a figure that is no
            number has none.
        comparisons: by measure, then by system; none without a baseline.
    """

    options: Resampling
    intervals: Sequence[Mapping[str, Interval]]
    comparisons: Sequence[Comparison] = ()

    def note(self) -> str:
        """How it was computed, in one line."""
        drawn = self.options
        parts = [f"{100 * drawn.level:g} % intervals: percentile bootstrap, {drawn.resamples:,} resamples"]
        if self.comparisons:
            n_systems = len({comparison.system for comparison in self.comparisons})
            parts.append(
                f"p: paired randomisation test, two-sided, exact or {drawn.permutations:,} permutations;"
                f" Holm over the {n_systems} compared"
            )
        return "; ".join([*parts, f"over topics, seed {drawn.seed}"])


@dataclass(frozen=True, slots=True)
class Table:
    """Runs measured on the same questions.

    Attributes:
        questions: what they were measured on.
        columns: the measures.
        results: one a run.
        matching: the rule for answers in words; None when no measure uses answers.
        delimiter: where docids were cut into page ids; None for passages.
        statistics: intervals and comparisons, where they were asked for.
        parts: the same over parts of the topics, each labelled by what its topics have in common.
        average: what figures are averaged over: ALL, JUDGED or IN_RUN; see `subsets.averaged`.
        findings: what makes the figures doubtful, of the questions first.
    """

    questions: Questions
    columns: Sequence[Column]
    results: Sequence[Result]
    matching: str | None
    delimiter: str | None
    statistics: Statistics | None = None
    parts: Sequence[Table] = ()
    average: str = ALL
    findings: Sequence[Finding] = ()

    @property
    def level(self) -> str:
        """`passage` or `page`: what the ids of the runs stand for."""
        return "passage" if self.delimiter is None else "page"

    def rows(self) -> list[dict[str, Any]]:
        """One flat record a figure; n is the number of topics that it is over, ci its interval.

        Those of the parts follow, with their labels behind that of the topics.
        """
        intervals = self.statistics.intervals if self.statistics else [{} for _ in self.results]
        return [
            {
                "system": result.system,
                "topics": self.questions.label,
                "measure": column.name,
                "value": result.figures[column.name],
                **({"ci": interval.get(column.name)} if self.statistics else {}),
                "n": len(result.values[column.name]),
            }
            for result, interval in zip(self.results, intervals, strict=True)
            for column in self.columns
            if column.name in result.figures
        ] + [
            {**row, "topics": f"{self.questions.label}: {row['topics']}"}
            for part in self.parts
            for row in part.rows()
        ]

    def notes(self) -> list[str]:
        """What the figures are over and by which rules and programs, one line each."""
        names = ", ".join(column.label for column in self.columns if column.judged)
        lines = [f"topics: {self.questions.label}, {len(self.questions.topics)} questions"]
        if self.matching is not None and self.questions.answers is not None:
            n_all, n_answered = len(self.questions.topics), len(self.questions.answers)
            over = f"all {n_all} topics ({n_answered} have answers)"
            if self.average != ALL:
                over = f"the {n_answered} topics with answers, of {n_all}{self._where()}"
            lines.append(f"accuracy@k: over {over}; answers in bodies by {self.matching}")
        if names and self.questions.qrels is not None:
            at = "" if self.delimiter is None else f", ids cut at {self.delimiter!r}"
            over = f"all {len(self.questions.qrels)} judged topics{self._where()}"
            lines.append(f"{names}: over {over}; {self.level} level{at}")
        written = ", ".join(column.label for column in self.columns if column.written)
        if written and self.questions.golds is not None:
            n_all, n_gold = len(self.questions.topics), len(self.questions.golds)
            over = f"all {n_all} topics ({n_gold} have answers)"
            if self.average != ALL:
                over = f"the {n_gold} topics with answers, of {n_all}{self._where()}"
            lines.append(f"{written}: over {over}; written answers, as in KILT's evaluation")
        lines.append(", ".join(f"{name} {number}" for name, number in versions().items()))
        return lines

    def _where(self) -> str:
        return " that the run has results for" if self.average == IN_RUN else ""


def versions() -> dict[str, str]:
    """The programs that figures are made by, with their versions."""
    return {name: version(name) for name in ("seal-ir", "ir-measures")}
