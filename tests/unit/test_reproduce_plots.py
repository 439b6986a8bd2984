"""Pictures of a table: which points they show, and that they are drawn."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.significance import Resampling
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce.figures import Measured, measure, write_topics
from seal_ir.reproduce.plan import imported
from seal_ir.reproduce.plots import Plot, Point, check_installed, draw, plots
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.disks import full
from tests.helpers.tables import write_table

TABLE = """
title = "Costs $1 or $2"
[[topics]]
name = "six"
label = "Six questions"
measures = ["Success@10", "Success@1", "Rprec", "IndexGB"]
[[topics]]
name = "other"
topics = "six"
measures = ["Rprec"]
[[row]]
system = "All"
missing = "x"
size_of = "{here}/index"
published.six = { "Success@1" = 50, "Success@10" = 60, "IndexGB" = 2 }
[[row]]
system = "None"
missing = "x"
[[row]]
system = "Paper"
missing = "x"
published.six = { "Success@10" = 70 }
"""


@pytest.fixture
def made(places: Places, tmp_path: Path) -> tuple[TableSpec, Measured]:
    """A table measured: All is right on five of six topics and took 3 s each; None has no time."""
    data = tmp_path / "data"
    lines = (data / "all.trec").read_text(encoding="utf-8").splitlines(keepends=True)
    (data / "all.trec").write_text("".join(lines[:-1]), encoding="utf-8")
    (data / "all.trec.config.json").write_text('{"seconds": 18.0, "n_topics": 6}', encoding="utf-8")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "a").write_bytes(bytes(1_500_000))
    spec = read_spec(write_table(tmp_path, TABLE, "table"), tmp_path / "results", places)
    spec = imported(spec, [f"All=six:{data}/all.trec", f"None=six:{data}/none.trec"])
    write_topics(spec.topics[0], places)
    return spec, measure(spec, spec.topics[:1], places, {}, Resampling())


def by_name(found: list[Plot]) -> dict[str, Plot]:
    return {plot.name: plot for plot in found}


def test_a_measure_against_k_in_order_with_intervals_and_published_figures(
    made: tuple[TableSpec, Measured],
) -> None:
    plot = by_name(plots(*made))["table.six.hits"]
    assert (plot.kind, plot.title, plot.x_label) == ("curve", "Costs $1 or $2: Six questions", "k")
    measured = [point for point in plot.points if point.system == "All" and not point.published]
    assert [(point.x, point.y) for point in measured] == [(1, 5 / 6), (10, 5 / 6)]
    assert all(0.1 < point.below < 0.7 and point.above == pytest.approx(1 / 6) for point in measured)
    assert [point for point in plot.points if point.published] == [
        Point("All", 1, 0.5, published=True),
        Point("All", 10, 0.6, published=True),
        Point("Paper", 10, 0.7, published=True),
    ]


def test_the_first_measure_against_time_of_runs_that_tell_it(made: tuple[TableSpec, Measured]) -> None:
    plot = by_name(plots(*made))["table.six.seconds"]
    assert plot.kind == "scatter"
    assert plot.y_label == "hits@10, 95 % interval"
    assert [(point.system, point.x, point.y) for point in plot.points] == [("All", 3.0, 5 / 6)]


def test_sizes_measured_and_published(made: tuple[TableSpec, Measured]) -> None:
    plot = by_name(plots(*made))["table.index-size"]
    assert list(plot.points) == [Point("All", 0, 0.0015), Point("All", 0, 2.0, published=True)]


def test_pictures_without_points_are_left_out(made: tuple[TableSpec, Measured]) -> None:
    names = list(by_name(plots(*made)))
    assert names == ["table.six.hits", "table.six.seconds", "table.index-size"]


@pytest.mark.slow
def test_files_are_drawn_and_always_the_same(
    made: tuple[TableSpec, Measured], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = draw(*made, tmp_path)
    assert [path.suffix for path in first] == [".png", ".svg"] * 3
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n") for path in first[::2])
    assert all(ElementTree.parse(path).getroot().tag.endswith("svg") for path in first[1::2])
    curve = plots(*made)[0]
    monkeypatch.setattr("seal_ir.reproduce.plots.plots", lambda spec, measured: [curve])
    (tmp_path / "again").mkdir()
    for path in draw(*made, tmp_path / "again"):
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


@pytest.mark.slow
def test_a_plot_on_a_full_disk_is_told_and_the_old_one_stays(
    made: tuple[TableSpec, Measured], tmp_path: Path
) -> None:
    out = tmp_path / "plots"
    out.mkdir()
    (first, *_) = draw(*made, out, plots(*made)[:1])
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with full(1000), pytest.raises(UsageError, match=rf"{first.name}: cannot be written"):
        draw(*made, out, plots(*made)[:1])
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_without_matplotlib_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    check_installed()
    monkeypatch.setattr("seal_ir.reproduce.plots.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'seal-ir\[train\]'"):
        check_installed()
