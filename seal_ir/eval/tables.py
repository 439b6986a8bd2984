"""Figures of several runs side by side, as aligned text, Markdown or JSON, with what they rest on."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from seal_ir.eval.measures import Column
from seal_ir.eval.questions import Questions
from seal_ir.eval.rankings import Coverage


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one run.

    Attributes:
        system: its name in the table.
        path: its file.
        coverage: which topics it has.
        figures: by notation of the measure.
        values: by notation of the measure, then by topic.
    """

    system: str
    path: Path
    coverage: Coverage
    figures: Mapping[str, float]
    values: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Table:
    """Runs measured on the same questions.

    Attributes:
        questions: what they were measured on.
        columns: the measures.
        results: one a run.
        matching: the rule for answers in words; None when no measure uses answers.
        delimiter: where docids were cut into page ids; None for passages.
    """

    questions: Questions
    columns: Sequence[Column]
    results: Sequence[Result]
    matching: str | None
    delimiter: str | None

    @property
    def level(self) -> str:
        """`passage` or `page`: what the ids of the runs stand for."""
        return "passage" if self.delimiter is None else "page"

    def rows(self) -> list[dict[str, Any]]:
        """One flat record a figure; n is the number of topics that it is over."""
        return [
            {
                "system": result.system,
                "topics": self.questions.label,
                "measure": column.name,
                "value": result.figures[column.name],
                "n": len(result.values[column.name]),
            }
            for result in self.results
            for column in self.columns
        ]

    def notes(self) -> list[str]:
        """What the figures are over and by which rules and programs, one line each."""
        names = ", ".join(column.label for column in self.columns if column.measure is not None)
        lines = [f"topics: {self.questions.label}, {len(self.questions.topics)} questions"]
        if self.matching is not None and self.questions.answers is not None:
            lines.append(
                f"accuracy@k: over all {len(self.questions.topics)} topics"
                f" ({len(self.questions.answers)} have answers); answers in bodies by {self.matching}"
            )
        if names and self.questions.qrels is not None:
            at = "" if self.delimiter is None else f", ids cut at {self.delimiter!r}"
            n = len(self.questions.qrels)
            lines.append(f"{names}: over all {n} judged topics; {self.level} level{at}")
        lines.append(", ".join(f"{name} {number}" for name, number in _versions().items()))
        return lines


def as_text(table: Table) -> str:
    """Aligned columns, four decimals, then the notes, each after a `#`."""
    grid = _grid(table)
    widths = [max(len(row[i]) for row in grid) for i in range(len(grid[0]))]
    lines = [
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
        )
        for row in grid
    ]
    return "\n".join([*lines, *(f"# {note}" for note in table.notes())]) + "\n"


def as_markdown(table: Table) -> str:
    """A table of GitHub's Markdown, four decimals, then the notes as a list."""
    head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in _grid(table)]
    rule = ["---", *["---:"] * len(table.columns)]
    lines = [f"| {' | '.join(row)} |" for row in (head, rule, *rows)]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes())]) + "\n"


def as_json(table: Table) -> str:
    """An object with `rows` and what they rest on; figures are not rounded."""
    counts = {
        result.system: {
            "run": str(result.path),
            "topics": result.coverage.topics,
            "judged": result.coverage.judged,
            "in_run": result.coverage.in_run,
            "judged_in_run": result.coverage.judged_in_run,
            "relevant_in_run": result.coverage.relevant_in_run,
            "unknown": result.coverage.unknown,
        }
        for result in table.results
    }
    value = {
        "topics": table.questions.label,
        "n_topics": len(table.questions.topics),
        "n_answered": None if table.matching is None else len(table.questions.answers or ()),
        "matching": table.matching,
        "level": table.level,
        "delimiter": table.delimiter,
        "versions": _versions(),
        "systems": counts,
        "rows": table.rows(),
    }
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Table], str]] = {"text": as_text, "markdown": as_markdown, "json": as_json}


def _grid(table: Table) -> list[list[str]]:
    head = ["system", *(column.label for column in table.columns)]
    return [
        head,
        *(
            [result.system, *(f"{result.figures[column.name]:.4f}" for column in table.columns)]
            for result in table.results
        ),
    ]


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("seal-ir", "ir-measures")}
