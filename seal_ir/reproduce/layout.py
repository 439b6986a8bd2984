"""What stands where in a table: grids of figures, measured and published side by side, and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from seal_ir.eval.grids import Grid
from seal_ir.eval.table_formats import shown_p
from seal_ir.eval.tables import Table, versions
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.figures import Figure, Measured
from seal_ir.reproduce.frontier import Found, find_frontiers
from seal_ir.reproduce.needs import Need
from seal_ir.reproduce.plan import Lack
from seal_ir.reproduce.spec import Page, TableSpec, Topics

SIGNIFICANT = 0.05
ON_FRONTIER, BEST_BUY = "•", "best buy"
_PUBLISHED = ", published"  # ends the head of a column
_NAMES = {"AnswerAccuracy": "accuracy", "Success": "hits", "Rprec": "R-precision"}

Cells = Mapping[tuple[str, str, str], Figure]  # by set of topics, system, measure


@dataclass(frozen=True, slots=True)
class Block:
    """One grid of a table.

    Attributes:
        heading: above it; "" where there is one only.
        grid: systems by measures, or by sets of topics where each has one measure.
    """

    heading: str
    grid: Grid


def label(measure: str) -> str:
    """How tables call a measure: accuracy@k, hits@k, R-precision."""
    name, _, cutoff = measure.partition("@")
    named = LABELS.get(measure) or _NAMES.get(name, name)
    return f"{named}@{cutoff}" if cutoff else named


def blocks(spec: TableSpec, measured: Measured) -> list[Block]:
    """The grids of figures: one for each set of topics, sets of one and the same measure side by side.

    A set with frontiers has a column for each of them, which marks the systems that are on it.
    """
    return _blocks(spec, measured, _figure_columns, find_frontiers(spec, measured))


def interval_blocks(spec: TableSpec, measured: Measured) -> list[Block]:
    """The grids of intervals and p values; none where nothing is compared."""
    if not any(figure.comparison for figure in measured.figures):
        return []
    return _blocks(spec, measured, _interval_columns)


def short_grid(spec: TableSpec, measured: Measured, page: Page) -> Grid:
    """The figures of a page's short form, all sets side by side: a column for each set and measure.

    It has no stars, no published figures and no empty columns; the whole table has what there is.
    """
    cells, sets = _by_place(measured), {topics.name: topics for topics in spec.topics}
    having = {(figure.topics, figure.measure) for figure in measured.figures if figure.system in page.systems}
    asked = [(topics, measure) for topics in page.topics for measure in page.measures]
    columns = [column for column in asked if column in having]
    one_kind = len({measure.partition("@")[0] for measure in page.measures if "@" in measure}) == 1
    grid = [["system", *(_short_head(sets[topics], measure, one_kind) for topics, measure in columns)]]
    for system in page.systems:
        figures = [cells.get((topics, system, measure)) for topics, measure in columns]
        grid.append(
            [system, *("" if found is None else _number(found.value, found.measure) for found in figures)]
        )
    return grid


def short_notes(spec: TableSpec, measured: Measured, page: Page) -> list[str]:
    """The page's remark, and how many questions the figures of each set are over."""
    counts = {f.topics: f.n for f in measured.figures if f.n is not None and f.measure in page.measures}
    sets = [topics for topics in spec.topics if topics.name in page.topics and topics.name in counts]
    over = "; ".join(f"{topics.label}: {counts[topics.name]} questions" for topics in sets)
    return [line for line in (page.note, over) if line]


def notes(spec: TableSpec, measured: Measured) -> list[str]:
    """What the figures rest on, one line each."""
    compared = Counter((f.topics, f.measure) for f in measured.figures if f.comparison)
    lines = [
        _rests_on(topics, table) for topics in spec.topics if (table := measured.tables.get(topics.name))
    ]
    if compared:
        seed = next(table.statistics.options.seed for table in measured.tables.values() if table.statistics)
        least, most = min(compared.values()), max(compared.values())
        lines.append(
            f"*: p < {SIGNIFICANT} against {spec.baseline} (paired randomisation test, two-sided,"
            f" Holm over the {most if least == most else f'{least} to {most}'} compared with it, seed {seed})"
        )
    lines += _told_of(find_frontiers(spec, measured))
    if any(figure.published is not None for figure in measured.figures) and spec.source:
        lines.append(f"published: {spec.source}")
    lines += [f"published, {row.system}: {row.source}" for row in spec.rows if row.published and row.source]
    lines += [spec.note] if spec.note else []
    if measured.tables:
        lines.append(", ".join(f"{name} {number}" for name, number in versions().items()))
    return lines


def lacking(spec: TableSpec, lacks: Sequence[Lack]) -> list[str]:
    """Which rows have no run here and what they lack, then how to get that, one line each."""
    needs_of = {(lack.system, lack.topics): lack.needs for lack in lacks}
    within = {topics.name: topics.within for topics in spec.topics}
    groups: dict[tuple[Need, ...], dict[str, list[str]]] = {}
    for lack in lacks:
        whole = within.get(lack.topics)
        told = needs_of.get((lack.system, whole), ()) if whole else ()
        needs = tuple(need for need in lack.needs if need not in told)
        if needs:
            groups.setdefault(needs, {}).setdefault(lack.system, []).append(lack.topics)
    several = len([topics for topics in spec.topics if topics.source]) > 1
    lines = []
    for needs, systems in groups.items():
        names = dict.fromkeys(name for topics in systems.values() for name in topics if name and several)
        on = f" ({', '.join(names)})" if names else ""
        lines.append(f"not made here: {', '.join(systems)}{on}: {'; '.join(need.what for need in needs)}")
    getting = dict.fromkeys(need for needs in groups for need in needs if need.get)
    return [*lines, *(f"{need.what}: {need.get}" for need in getting)]


ColumnMaker = Callable[[Topics, str, str, Cells, Sequence[str]], list[list[str]]]


def _blocks(
    spec: TableSpec, measured: Measured, columns_of: ColumnMaker, frontiers: Sequence[Found] = ()
) -> list[Block]:
    cells = _by_place(measured)
    parts = [list(part) for _, part in groupby(spec.topics, _side_by_side)]
    found = []
    for part in parts:
        names = {topics.name for topics in part}
        shown = {figure.system for figure in measured.figures if figure.topics in names}
        systems = [row.system for row in spec.rows if row.system in shown]
        columns = [
            column
            for topics in part
            for measure in topics.measures
            for column in columns_of(
                topics, measure, label(measure) if len(part) == 1 else topics.label, cells, systems
            )
        ]
        columns += [_marks(found, systems) for found in frontiers if found.topics in part]
        if columns:
            heading = part[0].label if len(part) == 1 else label(part[0].measures[0])
            found.append(_block(heading if len(parts) > 1 else "", systems, columns))
    return found


def _short_head(topics: Topics, measure: str, one_kind: bool) -> str:
    """A set's label as far as its first comma, and only the `@20` of a measure where all are of one kind."""
    cutoff = measure.partition("@")[2]
    return f"{topics.label.partition(',')[0]} {f'@{cutoff}' if one_kind and cutoff else label(measure)}"


def _by_place(measured: Measured) -> Cells:
    return {(figure.topics, figure.system, figure.measure): figure for figure in measured.figures}


def _block(heading: str, systems: Sequence[str], columns: Sequence[Sequence[str]]) -> Block:
    """The grid; where all columns are of published figures, its heading says so instead of each of them."""
    heads = [column[0] for column in columns]
    if all(head.endswith(_PUBLISHED) for head in heads):
        heading = f"{heading}{_PUBLISHED}" if heading else _PUBLISHED.removeprefix(", ")
        heads = [head.removesuffix(_PUBLISHED) for head in heads]
    cells = [[head, *column[1:]] for head, column in zip(heads, columns, strict=True)]
    return Block(heading, list(zip(["system", *systems], *cells, strict=True)))


def _side_by_side(topics: Topics) -> str:
    """Equal for neighbours that share a grid: those that have one measure, the same."""
    return topics.measures[0] if len(topics.measures) == 1 else f"of {topics.name}"


def _figure_columns(
    topics: Topics, measure: str, head: str, cells: Cells, systems: Sequence[str]
) -> list[list[str]]:
    """A column of what was measured and one of what was published, those of them that are not empty."""
    found = [cells.get((topics.name, system, measure)) for system in systems]
    values = [_marked(figure) for figure in found]
    published = ["" if figure is None else _number(figure.published, measure) for figure in found]
    columns = [[head, *values], [f"{head}{_PUBLISHED}", *published]]
    return [column for column in columns if any(column[1:])]


def _marks(found: Found, systems: Sequence[str]) -> list[str]:
    """A frontier's column: which systems are on it, and which of them is the best buy."""
    marks = dict.fromkeys(found.on, ON_FRONTIER) | {found.best_buy: BEST_BUY}
    return [found.frontier.label, *(marks.get(system, "") for system in systems)]


def _told_of(frontiers: Sequence[Found]) -> list[str]:
    """What the marks mean, and how the best buys were found."""
    if not frontiers:
        return []
    measure, cost = label(frontiers[0].frontier.measure), label(frontiers[0].frontier.cost)  # as of all
    rule = (
        f"{ON_FRONTIER}: on the frontier of {measure} and {cost}: none in the column is as good for less, or"
        f" better for the same; {BEST_BUY}: the cheapest within one standard error of the column's best"
    )
    told = (
        f"{BEST_BUY} of {found.frontier.label} on {found.topics.name}: {found.best_buy} (best: {found.best},"
        f" standard error {found.error:.3f})"
        for found in frontiers
    )
    return [rule, *told]


def _interval_columns(
    topics: Topics, measure: str, head: str, cells: Cells, systems: Sequence[str]
) -> list[list[str]]:
    found = [cells.get((topics.name, system, measure)) for system in systems]
    column = [head]
    for figure in found:
        parts = []
        if figure is not None and figure.interval is not None:
            parts.append(f"{figure.interval.lo:.3f}–{figure.interval.hi:.3f}")
        if figure is not None and figure.comparison is not None:
            parts.append(f"p {shown_p(figure.comparison.p_holm)}")
        column.append(", ".join(parts))
    return [column] if any(column[1:]) else []


def _marked(figure: Figure | None) -> str:
    if figure is None:
        return ""
    significant = figure.comparison is not None and figure.comparison.p_holm < SIGNIFICANT
    return _number(figure.value, figure.measure) + ("*" if significant else "")


def _number(value: float | None, measure: str) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if measure in LABELS else f"{value:.3f}"


def _rests_on(topics: Topics, table: Table) -> str:
    """Of one set: how many questions, what the measures are over, how answers were matched."""
    over: dict[int, list[str]] = {}
    for column in table.columns:
        n = next(len(result.values[column.name]) for result in table.results if column.name in result.values)
        over.setdefault(n, []).append(label(column.name))
    parts = [f"{topics.label}: {len(table.questions.topics)} questions"]
    parts += [f"{', '.join(labels)} over {n}" for n, labels in over.items()]
    if table.matching is not None:
        parts.append(f"answers matched by {table.matching}")
    if table.delimiter is not None:
        parts.append("pages")
    return "; ".join(parts)
