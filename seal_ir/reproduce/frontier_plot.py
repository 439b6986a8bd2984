"""The picture of frontiers: systems by what they cost and what they are worth, each mark with its name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from seal_ir.reproduce.frontier import Found, Offer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

_DISTANCES = (7, 11, 16, 22, 30, 40, 52, 66, 82)  # of a name from its mark, in points
_N_DIRECTIONS = 16
_LEAST = 1e-4  # what costs less is drawn here: a logarithmic axis has no 0
_FONT = 7.5  # points
_LINE = 1.0  # half the width that is kept free of names around a line, in points
_MARK = 4.0  # half the width of a mark that no name may cover, in points


def draw_frontiers(figure: Figure, axes: Axes, frontiers: Sequence[Found]) -> None:
    """Marks, names, and a line of steps through each frontier; a best buy has a ring.

    A band reaches from the best figure down to what is within one standard error of it.

    A system of several frontiers has the colour of the first one.

    Args:
        figure: what it is drawn in; its layout is not changed afterwards.
        axes: of the figure.
        frontiers: all of one set of topics.
    """
    from matplotlib.ticker import LogLocator

    offers: dict[str, Offer] = {}
    corners: list[list[tuple[float, float]]] = []
    for i, found in enumerate(frontiers):
        colour = f"C{i}"
        own = [offer for offer in found.offers if offer.system not in offers]
        offers |= {offer.system: offer for offer in own}
        for offer in own:
            axes.plot(*_at(offer), "o", color=colour, markersize=5, zorder=3)
        on = [offer for offer in found.offers if offer.system in found.on]
        corners.append(_steps(on))
        axes.plot(
            *zip(*corners[-1], strict=True), color=colour, alpha=0.6, label=found.frontier.label, zorder=2
        )
        top = max(offer.value for offer in found.offers)
        axes.axhspan(top - found.error, top, color=colour, alpha=0.08, linewidth=0, zorder=1)
        best = next(offer for offer in on if offer.system == found.best_buy)
        named = f"best buy: {found.best_buy}".replace("$", r"\$")
        axes.plot(
            *_at(best), "o", markersize=13 + 5 * i, markerfacecolor="none",
            markeredgecolor=colour, markeredgewidth=1.5, linestyle="none", label=named, zorder=4,
        )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.minorticks_off()
    axes.margins(x=0.12, y=0.12)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, frameon=False)
    _name_all(figure, axes, list(offers.values()), corners)


def _steps(on: Sequence[Offer]) -> list[tuple[float, float]]:
    """The corners of the line through a frontier: what is paid buys as much as the last cheaper system."""
    at = [_at(offer) for offer in on]
    pairs = zip(at, at[1:], strict=False)
    return at[:1] + [corner for one, other in pairs for corner in ((other[0], one[1]), other)]


def _at(offer: Offer) -> tuple[float, float]:
    return max(offer.cost, _LEAST), offer.value


def _name_all(
    figure: Figure, axes: Axes, offers: Sequence[Offer], corners: Sequence[Sequence[tuple[float, float]]]
) -> None:
    """Writes each system's name beside its mark, where it covers no mark, no line and no other name."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()  # else nothing has its place yet
    points = figure.dpi / 72
    marks = [axes.transData.transform(_at(offer)) / points for offer in offers]
    taken = [Bbox.from_extents(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in marks]
    for line in corners:
        turns = axes.transData.transform(line) / points
        taken += [_around(*one, *other) for one, other in zip(turns, turns[1:], strict=False)]
    whole = axes.get_window_extent()
    inside = Bbox.from_extents(*(edge / points for edge in whole.extents))
    for offer, (x, y) in zip(offers, marks, strict=True):
        name = offer.system.replace("$", r"\$")
        place, box = _place(name, (x, y), inside, taken)
        text = axes.annotate(
            name, _at(offer), xytext=place, textcoords="offset points", fontsize=_FONT,
            arrowprops={"arrowstyle": "-", "lw": 0.4, "alpha": 0.5, "shrinkA": 0, "shrinkB": _MARK},
        )  # fmt: skip
        text.set_in_layout(False)
        taken.append(box)


def _place(
    name: str, mark: tuple[float, float], inside: Bbox, taken: Sequence[Bbox]
) -> tuple[tuple[float, float], Bbox]:
    """Where to begin a name, seen from its mark, and what it takes up; all in points.

    It is the nearest place that is free and inside, or else that with the least overlap.
    """
    found = list(_places(name, mark))
    free = (place for place in found if not _covered(place[1], inside, taken))
    return next(free, None) or min(found, key=lambda place: _covered(place[1], inside, taken))


def _places(name: str, mark: tuple[float, float]) -> Iterator[tuple[tuple[float, float], Bbox]]:
    """Places for a name around its mark, the nearest first."""
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Bbox

    width, height = TextPath((0, 0), name, size=_FONT).get_extents().width, _FONT
    for distance in _DISTANCES:
        for i in range(_N_DIRECTIONS):
            x, y = (distance * turn(2 * math.pi * i / _N_DIRECTIONS) for turn in (math.cos, math.sin))
            # The side that faces the mark begins at this distance from it.
            left = x if x > 1 else x - width if x < -1 else x - width / 2
            low = y if y > 1 else y - height if y < -1 else y - height / 2
            yield (left, low), Bbox.from_bounds(mark[0] + left, mark[1] + low, width, height)


def _around(x0: float, y0: float, x1: float, y1: float) -> Bbox:
    """What a level or upright line takes up, in points."""
    from matplotlib.transforms import Bbox

    low_x, high_x, low_y, high_y = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    return Bbox.from_extents(low_x - _LINE, low_y - _LINE, high_x + _LINE, high_y + _LINE)


def _covered(box: Bbox, inside: Bbox, taken: Sequence[Bbox]) -> float:
    """The area of what a box covers of others, and of itself that is outside."""
    from matplotlib.transforms import Bbox

    within = Bbox.intersection(box, inside)
    left_out = box.width * box.height - (0.0 if within is None else within.width * within.height)
    shared = (Bbox.intersection(box, other) for other in taken)
    return left_out + sum(found.width * found.height for found in shared if found is not None)
