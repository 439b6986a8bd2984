"""Frontiers of a table: which systems are on them, which one is the best buy, what is written and drawn."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import InputError
from seal_ir.eval.significance import Resampling
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce import layout, writing
from seal_ir.reproduce.costs import search_cost
from seal_ir.reproduce.figures import Figure, Measured, measure, write_topics
from seal_ir.reproduce.frontier import Offer, best_buy, find_frontiers, on_frontier, standard_error
from seal_ir.reproduce.plan import imported, make_plan
from seal_ir.reproduce.plots import draw, frontier_plots
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.tables import row, step, two, write_table

FRONTIER = """
[[frontier]]
label = "{}"
systems = ["{}"]
measure = "Success@1"
cost = "CpuSecondsPerQuery"
"""
TABLE = (
    """
title = "Costs $1 or $2"
[[topics]]
name = "six"
measures = ["Success@1", "CpuSecondsPerQuery"]
[[topics]]
name = "other"
topics = "six"
measures = ["Success@1", "CpuSecondsPerQuery"]
[[topics]]
name = "mean"
mean_of = ["six", "other"]
measures = ["Success@1", "CpuSecondsPerQuery"]
"""
    + "".join(row(name, 'missing = "x"') for name in ("Cheap", "Good", "Dear", "BM25"))
    + FRONTIER.format("without BM25", "[!B]*")
    + FRONTIER.format("all", "*")
)


def settings(path: Path, **values: float) -> None:
    path.with_name(f"{path.name}.config.json").write_text(json.dumps(values), encoding="utf-8")


@pytest.fixture
def made(places: Places, tmp_path: Path) -> tuple[TableSpec, Measured]:
    """Cheap finds 3 of 6 for 1 s each, Good all for 2 s, Dear 5 for 4 s, BM25 5 for 0.5 s."""
    found = {"Cheap": (3, 6.0), "Good": (6, 12.0), "Dear": (5, 24.0), "BM25": (5, 3.0)}
    runs = []
    for name, (n, seconds) in found.items():
        path = tmp_path / "data" / f"{name}.trec"
        lines = (f"{i} Q0 d{1 if i < n else 2} 1 1.0 t\n" for i in range(6))
        path.write_text("".join(lines), encoding="utf-8")
        settings(path, seconds=99.0, n_topics=6, cpu_seconds=seconds)
        runs += [f"{name}=six:{path}", f"{name}=other:{path}"]
    spec = read_spec(write_table(tmp_path, TABLE, "table"), tmp_path / "results", places)
    spec = imported(spec, runs)
    for topics in spec.topics[:2]:
        write_topics(topics, places)
    return spec, measure(spec, spec.topics[:2], places, {}, Resampling())


def test_each_set_has_its_frontiers_and_the_mean_of_sets_too(made: tuple[TableSpec, Measured]) -> None:
    found = find_frontiers(*made)
    assert [(one.topics.name, one.frontier.label) for one in found] == [
        (topics, label) for topics in ("six", "other", "mean") for label in ("without BM25", "all")
    ]
    for one in found:
        alone = one.frontier.label == "without BM25"
        assert one.on == (("Cheap", "Good") if alone else ("BM25", "Good"))
        assert (one.best, one.error, one.best_buy) == ("Good", 0.0, "Good")
    assert [(o.system, o.cost) for o in found[0].offers] == [("Cheap", 1), ("Good", 2), ("Dear", 4)]


def test_the_standard_error_is_that_of_a_mean_and_of_a_mean_of_means(
    made: tuple[TableSpec, Measured],
) -> None:
    spec, measured = made
    six, _, mean = spec.topics
    of_shares = math.sqrt(0.5 * 0.5 / 5)  # of 3 in 6: s^2 = p (1 - p) n / (n - 1)
    assert standard_error(measured, six, "Cheap", "Success@1") == pytest.approx(of_shares)
    assert standard_error(measured, mean, "Cheap", "Success@1") == pytest.approx(of_shares / math.sqrt(2))
    assert standard_error(measured, six, "unknown", "Success@1") == 0.0


def test_the_best_buy_is_the_cheapest_within_the_error() -> None:
    offers = [Offer("a", 1, 0.70), Offer("b", 2, 0.79), Offer("c", 3, 0.80), Offer("d", 4, 0.75)]
    assert [best_buy(offers, error).system for error in (0.0, 0.009, 0.011, 0.2)] == ["c", "c", "b", "a"]
    assert [offer.system for offer in on_frontier(offers)] == ["a", "b", "c"]


COSTS = st.integers(1, 6).map(float)


@given(st.lists(st.tuples(COSTS, st.integers(0, 6)), min_size=1, max_size=9), st.integers(0, 6))
def test_nothing_betters_the_frontier_and_it_betters_all_else(
    pairs: Sequence[tuple[float, int]], error: int
) -> None:
    offers = [Offer(str(i), cost, value) for i, (cost, value) in enumerate(pairs)]
    on = on_frontier(offers)
    assert [offer.cost for offer in on] == sorted(offer.cost for offer in on)
    assert [offer.value for offer in on] == sorted(offer.value for offer in on)
    for offer in offers:
        as_good = [o for o in on if o.cost <= offer.cost and o.value >= offer.value]
        better = [o for o in as_good if (o.cost, o.value) != (offer.cost, offer.value)]
        assert bool(better) == (offer not in on)
    bought, best = best_buy(offers, error), max(offer.value for offer in offers)
    assert bought in on
    assert bought.value >= best - error
    assert all(offer.value < best - error for offer in offers if offer.cost < bought.cost)


def test_the_table_marks_them_and_says_how(made: tuple[TableSpec, Measured]) -> None:
    spec, measured = made
    lines = writing.as_text(spec, measured, []).splitlines()
    at = lines.index("mean")
    assert lines[at + 1 : at + 6] == [
        "system  hits@1  CPU s/query  without BM25       all",
        "Cheap    0.500            1             •",
        "Good     1.000            2      best buy  best buy",
        "Dear     0.833            4",
        "BM25     0.833          0.5                       •",
    ]
    told = [line for line in layout.notes(spec, measured) if "best" in line]
    assert told[0].startswith(
        "•: on the frontier of hits@1 and CPU s/query: none in the column is as good for"
    )
    assert told[-1] == "best buy of all on mean: Good (best: Good, standard error 0.000)"
    assert len(told) == 1 + 6
    value = json.loads(writing.as_json(spec, measured, []))["frontiers"]
    assert (value[0]["on_frontier"], value[0]["best_buy"]) == (["Cheap", "Good"], "Good")
    assert value[0]["offers"][0] == {"system": "Cheap", "cost": 1.0, "value": 0.5}


def test_tables_without_frontiers_stay_as_they_are(places: Places, tmp_path: Path) -> None:
    spec = read_spec(write_table(tmp_path, two()), tmp_path / "results", places)
    measured = Measured([Figure("The good", "two", "Success@1", 1.0)], {})
    assert find_frontiers(spec, measured) == []
    assert "frontiers" not in json.loads(writing.as_json(spec, measured, []))


@pytest.mark.slow
def test_a_picture_of_each_set_always_the_same(made: tuple[TableSpec, Measured], tmp_path: Path) -> None:
    found = frontier_plots(*made)
    assert [plot.name for plot in found] == [f"table.{name}.frontier" for name in ("six", "other", "mean")]
    assert (found[0].x_label, found[0].y_label) == ("CPU s/query", "hits@1")
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        draw(*made, folder, found[:1])
    for suffix in (".png", ".svg"):
        first, second = ((folder / f"table.six.frontier{suffix}").read_bytes() for folder in folders)
        assert first == second
    text = (folders[0] / "table.six.frontier.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} -->" in text for name in ("Cheap", "Good", "Dear", "BM25", "best buy: Good"))


@pytest.mark.slow
def test_what_cost_nothing_that_could_be_measured_is_drawn_too(
    made: tuple[TableSpec, Measured], tmp_path: Path
) -> None:
    spec, measured = made
    costs = [f for f in measured.figures if f.measure == "CpuSecondsPerQuery" and f.system == "BM25"]
    kept = [figure for figure in measured.figures if figure not in costs]
    free = Measured([*kept, Figure("BM25", "six", "CpuSecondsPerQuery", 0.0)], measured.tables)
    assert len(draw(spec, free, tmp_path, frontier_plots(spec, free)[:1])) == 2


SECTION = FRONTIER.format("all", "*")
WITH_COST = two().replace('"Rprec"]', '"Rprec", "CpuSecondsPerQuery"]')


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            WITH_COST + SECTION.replace("CpuSeconds", "Dollars"),
            "cost is 'DollarsPerQuery'; it must be one of",
        ),
        (WITH_COST + SECTION.replace("Success@1", "Success@5"), "no set of topics has both 'Success@5'"),
        (two() + SECTION, "no set of topics has both 'Success@1' and CpuSecondsPerQuery"),
        (WITH_COST + SECTION.replace("Success@1", "CpuSecondsPerQuery"), "no set of topics has both 'Cpu"),
        (WITH_COST + SECTION.replace('"*"', '"BM25*"'), "'BM25*' fits none of the table's systems"),
        (WITH_COST + SECTION + SECTION, "two frontiers are called 'all'; labels differ"),
        (WITH_COST + SECTION + SECTION.replace("all", "b").replace("Success@1", "Rprec"), "frontiers differ"),
        (WITH_COST + SECTION.replace("label", "name"), "unknown key 'name'"),
        (two() + '[[page]]\nfile = "a.md"\nplots = true\n', "[[page]] has plots, which show frontiers"),
        (
            two().replace('run = "half.trec"', 'run = "half.trec"\ncosts = ["no.trec"]'),
            "no step makes 'no.trec'",
        ),
        (two() + row("Third", 'missing = "x"\ncosts = ["half.trec"]'), "costs is for a row with a run"),
    ],
)
def test_what_is_no_frontier_is_refused(places: Places, tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    assert str(tmp_path / "two.toml") in str(caught.value)
    assert told in str(caught.value)


def test_costs_of_several_runs_add_up(tmp_path: Path) -> None:
    one, other, silent = (tmp_path / f"{name}.trec" for name in ("one", "other", "silent"))
    settings(one, seconds=60, n_topics=6, cpu_seconds=3)
    settings(other, seconds=30, n_topics=3, cpu_seconds=6)
    assert search_cost("CpuSecondsPerQuery", [one]) == 0.5
    assert search_cost("CpuSecondsPerQuery", [one, other]) == 2.5
    assert search_cost("SecondsPerQuery", [one, other]) == 20.0
    assert search_cost("SearchMinutes", [one, other]) == 1.5
    assert search_cost("SecondsPerQuery", []) is None
    assert search_cost("SecondsPerQuery", [one, silent]) is None  # not known of all
    settings(silent, seconds=60, n_topics=6)  # as before CPU seconds were kept
    assert search_cost("CpuSecondsPerQuery", [one, silent]) is None
    assert search_cost("SecondsPerQuery", [one, silent]) == 20.0
    silent.with_name("silent.trec.config.json").write_text('{"seconds": 1, "n_topics": 6, "cpu_seconds": []}')
    with pytest.raises(InputError, match=r"silent.trec.config.json: no settings of a run"):
        search_cost("SecondsPerQuery", [silent])


def test_a_row_costs_what_it_says_and_an_own_run_what_that_took(places: Places, tmp_path: Path) -> None:
    text = WITH_COST.replace('run = "half.trec"', 'run = "half.trec"\ncosts = ["good.trec", "half.trec"]')
    text += step("part.trec", "half.trec") + row("Part", 'run = "half.trec"\ncosts = ["part.trec"]')
    spec = read_spec(write_table(tmp_path, text), tmp_path / "results", places)
    half = spec.rows[1]
    assert [path.name for path in half.searched("two")] == ["good.trec", "half.trec"]
    assert half.searched("unknown") == []
    assert [path.name for path in spec.rows[0].searched("two")] == ["good.trec"]
    made = [step.makes[0].name for step in make_plan(spec, places.cache).steps]
    assert made == ["good.trec", "half.trec", "part.trec"]  # what only a cost is read from is made too
    own = imported(spec, [f"The half={places.data}/all.trec"]).rows[1]
    assert [path.name for path in own.searched("two")] == ["all.trec"]
