"""Figures of a table as PNG and SVG: measures against k, against seconds per query, sizes of indexes."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from seal_ir.errors import UsageError
from seal_ir.formats.io.files import write_bytes
from seal_ir.reproduce.costs import LABELS, index_gb, search_cost
from seal_ir.reproduce.figures import Figure, Measured
from seal_ir.reproduce.frontier import Found, find_frontiers
from seal_ir.reproduce.frontier_plot import draw_frontiers
from seal_ir.reproduce.layout import label
from seal_ir.reproduce.spec import TableSpec, Topics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PNG, SVG = ".png", ".svg"
SUFFIXES = (PNG, SVG)
_PREFERRED = "AnswerAccuracy@20"  # what is drawn against time, if it is measured
_DPI = 120
_SIZES = {"frontier": (9, 6)}  # inches; other kinds have 8 by 5
_ASIDE = 1.015  # each system's marks stand this factor to the right of the one before


@dataclass(frozen=True, slots=True)
class Point:
    """One mark.

    Attributes:
        system: whose it is.
        x, y: where; x of a bar is 0.
        below, above: how far the interval reaches from y; 0 where there is none.
        published: whether it was published and not measured here.
    """

    system: str
    x: float
    y: float
    below: float = 0.0
    above: float = 0.0
    published: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """One picture.

    Attributes:
        name: of its files, without suffix.
        kind: `curve` (lines over k), `scatter`, `bars` or `frontier`.
        title, x_label, y_label: words on it.
        points: by system, in the order of the table.
        frontiers: what a picture of them shows instead.
        topics: the set that frontiers are of, by name.
    """

    name: str
    kind: str
    title: str
    x_label: str
    y_label: str
    points: Sequence[Point] = ()
    frontiers: Sequence[Found] = ()
    topics: str = ""


def is_installed() -> bool:
    """Whether matplotlib is there, which draws."""
    return find_spec("matplotlib") is not None


def check_installed() -> None:
    """Refuses to plot without matplotlib.

    Raises:
        UsageError: it is not installed.
    """
    if not is_installed():
        raise UsageError("--plots needs matplotlib; pip install 'seal-ir[train]', or leave the option out")


def plots(spec: TableSpec, measured: Measured) -> list[Plot]:
    """The pictures that the table's figures are enough for."""
    found = [*_curves(spec, measured), *_scatters(spec, measured), _sizes(spec, measured)]
    return [*frontier_plots(spec, measured), *(plot for plot in found if plot.points)]


def frontier_plots(spec: TableSpec, measured: Measured) -> list[Plot]:
    """A picture of each set that has frontiers, with all of them."""
    frontiers = find_frontiers(spec, measured)
    found = []
    for topics in spec.topics:
        own = [known for known in frontiers if known.topics == topics]
        if own:
            words = (_title(spec, topics), label(own[0].frontier.cost), label(own[0].frontier.measure))
            name = f"{spec.name}.{topics.name}.frontier"
            found.append(Plot(name, "frontier", *words, frontiers=own, topics=topics.name))
    return found


def draw(
    spec: TableSpec,
    measured: Measured,
    folder: Path,
    found: Sequence[Plot] | None = None,
    suffixes: Sequence[str] = SUFFIXES,
) -> list[Path]:
    """Writes plots as files, PNG and SVG by default, the same bytes for the same figures.

    Args:
        spec: the table.
        measured: its figures.
        folder: where to.
        found: which plots; default: all.
        suffixes: of the files of each.

    Returns:
        What was written.

    Raises:
        UsageError: the folder cannot be written.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib.figure import Figure as Canvas

    written = []
    for plot in plots(spec, measured) if found is None else found:
        canvas = Canvas(figsize=_SIZES.get(plot.kind, (8, 5)), layout="constrained", dpi=_DPI)
        axes = canvas.subplots()
        axes.set_title(_plain(plot.title))
        axes.set_xlabel(plot.x_label)
        axes.set_ylabel(plot.y_label)
        if plot.kind == "frontier":
            draw_frontiers(canvas, axes, plot.frontiers)
        else:
            {"curve": _draw_lines, "scatter": _draw_marks, "bars": _draw_bars}[plot.kind](axes, plot.points)
        for suffix in suffixes:
            path = folder / f"{plot.name}{suffix}"
            drawn = io.BytesIO()
            with mpl.rc_context({"svg.hashsalt": "seal-ir"}):
                date = {"Date": None} if suffix == SVG else None
                canvas.savefig(drawn, format=suffix[1:], dpi=_DPI, metadata=date)
            write_bytes(path, drawn.getvalue())
            written.append(path)
    return written


def _curves(spec: TableSpec, measured: Measured) -> list[Plot]:
    """Of each set, the measures that it has at several k, with what was published of them."""
    found = []
    for topics in spec.topics:
        families: dict[str, list[tuple[int, str]]] = {}
        for name in topics.measures:
            family, _, cutoff = name.partition("@")
            if cutoff.isdigit():
                families.setdefault(family, []).append((int(cutoff), name))
        for family, cuts in families.items():
            if len(cuts) < 2:
                continue
            figures = {(f.system, f.measure): f for f in measured.figures if f.topics == topics.name}
            points: list[Point] = []
            for row in spec.rows:
                cells = [
                    (k, figures[row.system, name])
                    for k, name in sorted(cuts)
                    if (row.system, name) in figures
                ]
                points += [_point(k, figure) for k, figure in cells if figure.value is not None]
                points += [
                    Point(row.system, k, figure.published, published=True)
                    for k, figure in cells
                    if figure.published is not None
                ]
            head = label(family)
            name = f"{spec.name}.{topics.name}.{head}"
            found.append(Plot(name, "curve", _title(spec, topics), "k", f"{head}@k, 95 % intervals", points))
    return found


def _scatters(spec: TableSpec, measured: Measured) -> list[Plot]:
    """Of each set, one measure against the seconds that a query took."""
    found = []
    for topics in spec.topics:
        shares = [name for name in topics.measures if name not in LABELS]
        if not shares:
            continue
        measure = _PREFERRED if _PREFERRED in shares else shares[0]
        figures = {f.system: f for f in measured.figures if (f.topics, f.measure) == (topics.name, measure)}
        points = []
        for row in spec.rows:
            seconds = search_cost("SecondsPerQuery", row.searched(topics.name))
            figure = figures.get(row.system)
            if figure is not None and figure.value is not None and seconds:
                points.append(_point(seconds, figure))
        name = f"{spec.name}.{topics.name}.seconds"
        title = _title(spec, topics)
        found.append(
            Plot(name, "scatter", title, "seconds per query", f"{label(measure)}, 95 % interval", points)
        )
    return found


def _sizes(spec: TableSpec, measured: Measured) -> Plot:
    published = {f.system: f.published for f in measured.figures if f.measure == "IndexGB"}
    points = []
    for row in spec.rows:
        size, told = index_gb(row.size_of), published.get(row.system)
        points += [] if size is None else [Point(row.system, 0, size)]
        points += [] if told is None else [Point(row.system, 0, told, published=True)]
    return Plot(f"{spec.name}.index-size", "bars", spec.title, "index, GB", "", points)


def _point(x: float, figure: Figure) -> Point:
    value, interval = figure.value or 0.0, figure.interval
    if interval is None:
        return Point(figure.system, x, value)
    return Point(figure.system, x, value, max(0.0, value - interval.lo), max(0.0, interval.hi - value))


def _title(spec: TableSpec, topics: Topics) -> str:
    return spec.title if len(spec.topics) == 1 else f"{spec.title}: {topics.label}"


def _draw_lines(axes: Axes, points: Sequence[Point]) -> None:
    """A line for each system, with its intervals; what was published is dashed, in the same colour."""
    systems = list(dict.fromkeys(point.system for point in points))
    for i, system in enumerate(systems):
        colour = f"C{i % 10}"
        aside = _ASIDE ** (i - (len(systems) - 1) / 2)  # so that no interval hides another
        own = [p for p in points if p.system == system and not p.published]
        if own:
            xs, ys = [p.x * aside for p in own], [p.y for p in own]
            bars = [[p.below for p in own], [p.above for p in own]]
            axes.errorbar(xs, ys, yerr=bars, color=colour, marker="o", capsize=2, label=_plain(system))
        told = [p for p in points if p.system == system and p.published]
        if told:
            xs, ys, name = [p.x for p in told], [p.y for p in told], _plain(f"{system}, published")
            axes.plot(xs, ys, color=colour, linestyle="--", marker="o", markerfacecolor="none", label=name)
    ticks = sorted({point.x for point in points})
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _draw_marks(axes: Axes, points: Sequence[Point]) -> None:
    """A mark for each system, with its interval."""
    for i, p in enumerate(points):
        bars, colour = [[p.below], [p.above]], f"C{i % 10}"
        axes.errorbar([p.x], [p.y], yerr=bars, fmt="o", color=colour, capsize=2, label=_plain(p.system))
    axes.set_xscale("log")
    for formatted in (axes.xaxis.set_major_formatter, axes.xaxis.set_minor_formatter):
        formatted(lambda value, _: f"{value:g}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _draw_bars(axes: Axes, points: Sequence[Point]) -> None:
    """A bar for each system, from the top; what was published is hollow."""
    names = [_plain(f"{p.system}, published" if p.published else p.system) for p in points]
    for i, p in enumerate(points):
        colour = "none" if p.published else "C0"
        axes.barh([i], [p.y], color=colour, edgecolor="C0")
        axes.annotate(f" {p.y:.3g}", (p.y, i), va="center")
    axes.set_yticks(range(len(points)), names)
    axes.invert_yaxis()
    axes.margins(x=0.1)


def _plain(text: str) -> str:
    """The text as it is: a pair of dollars would be read as a formula."""
    return text.replace("$", r"\$")
