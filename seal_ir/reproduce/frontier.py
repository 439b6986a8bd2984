"""What accuracy costs: the systems that none betters at their price, and which of them is the best buy.

A system is on the frontier if no other one has as good a figure for a lower cost, or a better one for the
same. The best buy is the cheapest system whose figure is within one standard error of the best figure.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import stdev

from seal_ir.errors import InputError
from seal_ir.formats.io.files import shown
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.fields import Fields
from seal_ir.reproduce.figures import Measured
from seal_ir.reproduce.spec import Frontier, Row, TableSpec, Topics

_COSTS = [name for name in LABELS if name.endswith("PerQuery")]


@dataclass(frozen=True, slots=True)
class Offer:
    """A system with what it costs and what it is worth.

    Attributes:
        system: its name.
        cost: in the unit of the frontier's cost.
        value: the frontier's measure; more is better.
    """

    system: str
    cost: float
    value: float


@dataclass(frozen=True, slots=True)
class Found:
    """A frontier on one set of topics.

    Attributes:
        frontier: which one.
        topics: the set.
        offers: the systems of which both figures are known, cheapest first.
        on: names of those on the frontier, cheapest first.
        best: the system with the best figure; of equal ones the cheapest.
        error: the standard error of its figure.
        best_buy: the cheapest system with a figure of at least that of `best` less `error`.
    """

    frontier: Frontier
    topics: Topics
    offers: Sequence[Offer]
    on: Sequence[str]
    best: str
    error: float
    best_buy: str


def read_frontiers(table: Fields, rows: Sequence[Row], topics: Sequence[Topics]) -> tuple[Frontier, ...]:
    """The `[[frontier]]` sections of a table file.

    Raises:
        InputError: a section has a fault, two are called the same or have other measures, or a pattern fits
            no row.
    """
    found = tuple(_frontier(fields, rows, topics) for fields in table.sections("frontier"))
    labels = [frontier.label for frontier in found]
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise InputError(f"{table.where}: two frontiers are called {shown(twice[0])}; labels differ")
    if len({(frontier.measure, frontier.cost) for frontier in found}) > 1:  # they share one picture
        raise InputError(
            f"{table.where}: frontiers differ in measure or cost; those of a table have the same"
        )
    return found


def _frontier(fields: Fields, rows: Sequence[Row], topics: Sequence[Topics]) -> Frontier:
    fields.only("label", "systems", "measure", "cost")
    measure, cost, patterns = fields.text("measure"), fields.text("cost"), fields.texts("systems")
    if cost not in _COSTS:
        raise InputError(f"{fields.where}: cost is {shown(cost)}; it must be one of {', '.join(_COSTS)}")
    if measure in LABELS or not any({measure, cost} <= set(known.measures) for known in topics):
        raise InputError(f"{fields.where}: no set of topics has both {shown(measure)} and {cost} as measures")
    for pattern in patterns:
        if not any(fnmatchcase(row.system, pattern) for row in rows):
            raise InputError(f"{fields.where}: {shown(pattern)} fits none of the table's systems")
    systems = (row.system for row in rows)
    chosen = (name for name in systems if any(fnmatchcase(name, pattern) for pattern in patterns or "*"))
    return Frontier(fields.text("label"), tuple(chosen), measure, cost)


def find_frontiers(spec: TableSpec, measured: Measured) -> list[Found]:
    """The frontiers of each set that has both measures of them, in the table's order.

    Those without a system of which both figures are known are left out.
    """
    found = []
    for topics in spec.topics:
        for frontier in spec.frontiers:
            offers = _offers(frontier, topics, measured)
            if offers:
                found.append(_found(frontier, topics, offers, measured))
    return found


def _offers(frontier: Frontier, topics: Topics, measured: Measured) -> list[Offer]:
    """The frontier's systems of which both figures are known."""
    figures = {(f.system, f.measure): f.value for f in measured.figures if f.topics == topics.name}
    offers = []
    for system in frontier.systems:
        cost, value = figures.get((system, frontier.cost)), figures.get((system, frontier.measure))
        if cost is not None and value is not None:
            offers.append(Offer(system, cost, value))
    return offers


def _found(frontier: Frontier, topics: Topics, offers: Sequence[Offer], measured: Measured) -> Found:
    ordered = sorted(offers, key=lambda offer: (offer.cost, -offer.value))
    best = max(ordered, key=lambda offer: offer.value)  # the first of equal ones, which is the cheapest
    error = standard_error(measured, topics, best.system, frontier.measure)
    on = tuple(offer.system for offer in on_frontier(ordered))
    return Found(frontier, topics, ordered, on, best.system, error, best_buy(ordered, error).system)


def on_frontier(offers: Sequence[Offer]) -> list[Offer]:
    """Those that no other one betters: as good for less, or better for the same; cheapest first."""
    return sorted(
        (one for one in offers if not any(_betters(other, one) for other in offers)),
        key=lambda offer: offer.cost,
    )


def _betters(one: Offer, other: Offer) -> bool:
    no_worse = one.cost <= other.cost and one.value >= other.value
    return no_worse and (one.cost, one.value) != (other.cost, other.value)


def best_buy(offers: Sequence[Offer], error: float) -> Offer:
    """The cheapest with at least the best value less `error`; of equally cheap ones the best."""
    least = max(offer.value for offer in offers) - error
    return min((o for o in offers if o.value >= least), key=lambda offer: (offer.cost, -offer.value))


def standard_error(measured: Measured, topics: Topics, system: str, measure: str) -> float:
    """Of a system's figure: s / sqrt(n) over the n topics; of a mean of m sets sqrt(sum of squares) / m.

    0 where there is one topic only, or none is known.
    """
    if topics.mean_of:
        parts = [_error(measured, name, system, measure) for name in topics.mean_of]
        return math.hypot(*parts) / len(parts)
    return _error(measured, topics.name, system, measure)


def _error(measured: Measured, name: str, system: str, measure: str) -> float:
    results = measured.tables[name].results if name in measured.tables else ()
    values = next((list(r.values.get(measure, {}).values()) for r in results if r.system == system), [])
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0
