"""A table in its five formats: aligned text, Markdown and LaTeX, and flat records as JSON and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from seal_ir.eval.answer_measures import answer_measure
from seal_ir.eval.grids import aligned, booktabs, latex, piped
from seal_ir.eval.tables import Interval, Table, versions
from seal_ir.reproduce.figures import Figure, Measured
from seal_ir.reproduce.frontier import Found, find_frontiers
from seal_ir.reproduce.layout import blocks, interval_blocks, lacking, notes, short_grid, short_notes
from seal_ir.reproduce.plan import Lack
from seal_ir.reproduce.spec import Page, Row, TableSpec, Topics
from seal_ir.structured import json_file

_COLUMNS = (
    *("topics", "system", "measure", "value", "ci_lo", "ci_hi", "n", "recorded", "published", "source"),
    *("baseline", "delta", "delta_lo", "delta_hi", "p", "p_holm", "wins", "ties", "losses", "run", "command"),
)


def as_text(spec: TableSpec, measured: Measured, lacks: Sequence[Lack]) -> str:
    """Aligned columns, then notes and what is missing, each line after a `#`."""
    lines = [spec.title]
    for block in blocks(spec, measured):
        lines += ["", *([block.heading] if block.heading else []), *aligned(block.grid)]
    lines += ["", *(f"# {note}" for note in notes(spec, measured))]
    lines += [f"# {line}" for line in lacking(spec, lacks)]
    return "\n".join(lines).rstrip() + "\n"


def as_markdown(spec: TableSpec, measured: Measured, lacks: Sequence[Lack]) -> str:
    """Tables of GitHub's Markdown: figures, notes, folded intervals; what is missing, with its commands."""
    lines = [f"**{spec.title}**"]
    for block in blocks(spec, measured):
        lines += ["", *([f"{block.heading}:", ""] if block.heading else []), *piped(block.grid)]
    lines += ["", *_sentences(notes(spec, measured))]
    folded = interval_blocks(spec, measured)
    if folded:  # they are as large as the tables, and few readers want them
        lines += ["", f"<details><summary>95 % intervals, and p against {spec.baseline}</summary>"]
        for block in folded:
            lines += ["", *([f"{block.heading}:", ""] if block.heading else []), *piped(block.grid)]
        lines += ["", "</details>"]
    lines += ["", *(f"- {line}" for line in lacking(spec, lacks))]
    commands = list(dict.fromkeys(command for lack in lacks for command in lack.commands))
    if commands:
        lines += ["", "Commands, in order:", "", "```bash", *commands, "```"]
    return "\n".join(lines).rstrip() + "\n"


def as_short_markdown(spec: TableSpec, measured: Measured, page: Page) -> str:
    """A page's short form in GitHub's Markdown: title, one grid, one line of notes."""
    grid, told = piped(short_grid(spec, measured, page)), _sentences(short_notes(spec, measured, page))
    return "\n".join([f"**{spec.title}**", "", *grid, *(["", *told] if told else [])]) + "\n"


def as_latex(spec: TableSpec, measured: Measured, lacks: Sequence[Lack]) -> str:
    """Tabulars of LaTeX for the package booktabs, in one table with the title as its caption."""
    lines = [r"% needs \usepackage{booktabs}", r"\begin{table}", r"\centering"]
    lines.append(rf"\caption{{{latex(spec.title)}}}")
    for block in blocks(spec, measured):
        lines += [*([rf"\par\medskip {latex(block.heading)}\par"] if block.heading else [])]
        lines += booktabs(block.grid)
    lines += [rf"\par\smallskip\footnotesize {latex(note)}" for note in notes(spec, measured)]
    lines += [r"\end{table}"]
    return "\n".join([*lines, *(f"% {line}" for line in lacking(spec, lacks))]) + "\n"


def records(spec: TableSpec, measured: Measured) -> list[dict[str, Any]]:
    """One record a figure: what was measured, what was published, how it differs, what made it."""
    rows = {row.system: row for row in spec.rows}
    makers = {path: str(step) for step in spec.steps for path in step.makes}
    return [_record(figure, rows[figure.system], spec, makers) for figure in measured.figures]


def as_json(spec: TableSpec, measured: Measured, lacks: Sequence[Lack]) -> str:
    """An object with `rows`, the sets of topics they are of, and `missing`: rows without a run, and why."""
    statistics = next((table.statistics for table in measured.tables.values() if table.statistics), None)
    value = {
        "table": spec.name,
        "title": spec.title,
        "source": spec.source,
        "versions": versions(),
        "statistics": asdict(statistics.options) if statistics else None,
        "baseline": spec.baseline or None,
        "topics": [_about(topics, measured.tables.get(topics.name)) for topics in spec.topics],
        "rows": records(spec, measured),
        "missing": [{**asdict(lack), "needs": list(map(str, lack.needs))} for lack in lacks],
    }
    if spec.frontiers:
        value["frontiers"] = [_about_frontier(found) for found in find_frontiers(spec, measured)]
    return json_file(value)


def as_csv(spec: TableSpec, measured: Measured, lacks: Sequence[Lack]) -> str:
    """The records of `rows`, one a line, with a header; what is not there is an empty cell."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for record in records(spec, measured):
        lo, hi = record["ci"] or (None, None)
        delta_lo, delta_hi = record["delta_ci"] or (None, None)
        writer.writerow({**record, "ci_lo": lo, "ci_hi": hi, "delta_lo": delta_lo, "delta_hi": delta_hi})
    return stream.getvalue()


def _record(figure: Figure, row: Row, spec: TableSpec, makers: dict[Any, str]) -> dict[str, Any]:
    is_read = answer_measure(figure.measure) is not None and figure.topics in row.predictions
    files = row.predictions if is_read else row.runs
    run = files.get(figure.topics) if figure.value is not None else None
    found = figure.comparison
    names = ("baseline", "delta", "p", "p_holm", "wins", "ties", "losses")
    return {
        "system": figure.system,
        "topics": figure.topics,
        "measure": figure.measure,
        "value": figure.value,
        "ci": _ends(figure.interval),
        "n": figure.n,
        "recorded": figure.recorded,
        "published": figure.published,
        "source": (row.source or spec.source) if figure.published is not None else None,
        **{name: getattr(found, name) if found else None for name in names},
        "delta_ci": _ends(found.interval if found else None),
        "run": str(run) if run else None,
        "command": makers.get(run),
    }


def _ends(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.lo, interval.hi]


def _about(topics: Topics, table: Table | None) -> dict[str, Any]:
    about = {"name": topics.name, "label": topics.label, "measures": topics.measures}
    if table is None:
        return about
    questions = table.questions
    return {
        **about,
        "n_topics": len(questions.topics),
        "n_answered": None if questions.answers is None else len(questions.answers),
        "n_judged": None if questions.qrels is None else len(questions.qrels),
        "matching": table.matching,
        "level": table.level,
        "in_run": {result.system: result.coverage.in_run for result in table.results},
    }


def _about_frontier(found: Found) -> dict[str, Any]:
    return {
        "label": found.frontier.label,
        "topics": found.topics.name,
        "measure": found.frontier.measure,
        "cost": found.frontier.cost,
        "offers": [asdict(offer) for offer in found.offers],
        "on_frontier": found.on,
        "best": found.best,
        "standard_error": found.error,
        "best_buy": found.best_buy,
    }


def _sentences(lines: Sequence[str]) -> list[str]:
    """Lines as one paragraph; the star is no list."""
    return [" ".join(f"{line.rstrip('.')}." for line in lines).replace("*:", "\\*:")] if lines else []
