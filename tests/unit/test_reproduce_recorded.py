"""Figures that a table file keeps: compared within a tolerance, and written without touching another line."""

from __future__ import annotations

import copy
import difflib
import tomllib
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.io.resolve import Places
from seal_ir.reproduce import recorded
from seal_ir.reproduce.figures import Figure, Measured
from seal_ir.reproduce.layout import short_grid
from seal_ir.reproduce.reading import read_spec
from seal_ir.reproduce.spec import TableSpec
from tests.helpers.commands import ROOT
from tests.helpers.tables import two, write_table

OTHER_SET = '[[topics]]\nname = "six"\nmeasures = ["Success@1", "SecondsPerQuery"]\n'
TABLES = [path for path in sorted((ROOT / "eval").glob("*.toml")) if path.stem != "qualitative"]  # has none


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(None, tmp_path, tmp_path)


def spec_of(path: Path, places: Places) -> TableSpec:
    return read_spec(path, path.parent / "results", places)


def figures(*cells: tuple[str, str, str, float | None]) -> Measured:
    return Measured([Figure(system, topics, name, value) for system, topics, name, value in cells], {})


def added(before: str, after: str) -> list[str]:
    """The lines that differ, `+` or `-` before them."""
    lines = difflib.ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


def test_figures_are_read_as_published_ones_are(places: Places, tmp_path: Path) -> None:
    text = two(head="tolerance = 0.5").replace(
        'run = "good.trec"', 'run = "good.trec"\ntolerance = 0\nmeasured = { "Rprec" = 42.17 }'
    )
    good, half = spec_of(write_table(tmp_path, text), places).rows
    assert good.recorded == {"two": {"Rprec": pytest.approx(0.4217)}}
    assert (good.tolerance, half.recorded, half.tolerance) == (0.0, {}, 0.5)


@pytest.mark.parametrize(
    ("then", "now", "tolerance", "drifted"),
    [
        (0.4902, 50 / 102, 0.0, False),  # recorded to a hundredth of a point
        (0.4902, 51 / 102, 0.97, True),
        (0.4902, 51 / 102, 0.98, False),
        (0.4902, 49 / 102, 0.97, True),
        (0.5, None, 0.0, False),
        (None, 0.5, 0.0, False),
    ],
)
def test_a_share_drifts_by_more_than_the_tolerance(
    places: Places, tmp_path: Path, then: float | None, now: float | None, tolerance: float, drifted: bool
) -> None:
    spec = spec_of(write_table(tmp_path, two(head=f"tolerance = {tolerance}")), places)
    measured = Measured([Figure("The half", "two", "Rprec", now, recorded=then)], {})
    lines = recorded.drifts(spec, measured)
    assert len(lines) == drifted
    if then and now and drifted:
        told = f"recorded 49.02, measured {100 * now:.4g}, tolerance 0.97"
        assert lines == [f"The half, two, Rprec: {told}"]


def test_costs_are_not_compared(places: Places, tmp_path: Path) -> None:
    spec = spec_of(write_table(tmp_path, two()), places)
    measured = Measured([Figure("The half", "two", "SecondsPerQuery", 9.0, recorded=1.0)], {})
    assert recorded.drifts(spec, measured) == []


def test_recording_adds_a_line_to_each_row_and_then_changes_numbers_only(
    places: Places, tmp_path: Path
) -> None:
    before = two(head="# a remark").replace('run = "good.trec"', 'run = "good.trec" # its  run')
    spec = spec_of(path := write_table(tmp_path, before), places)
    measured = figures(
        ("The good", "two", "Success@1", 1.0),
        ("The good", "two", "Rprec", 2 / 3),
        ("The half", "two", "Rprec", None),
    )
    assert recorded.record(path, spec, measured) == 2
    first = path.read_text(encoding="utf-8")
    assert added(before, first) == ['+ measured = { "Success@1" = 100.0, "Rprec" = 66.67 }\n']
    assert spec_of(path, places).rows[0].recorded["two"] == pytest.approx({"Success@1": 1.0, "Rprec": 0.6667})
    assert recorded.record(path, spec, measured) == 2
    assert path.read_text(encoding="utf-8") == first
    recorded.record(path, spec, figures(("The good", "two", "Rprec", 0.5)))
    assert path.read_text(encoding="utf-8") == first.replace("66.67", "50.0")


@pytest.mark.parametrize(
    ("written", "sets"),
    [
        ('measured.two = { "Rprec" = 10 } # why', 2),
        ('measured.two = { "Rprec" = 10 } # why', 1),
        ('  measured={ "Rprec" = 10 } # why', 1),
    ],
)
def test_a_line_of_figures_keeps_its_place_and_remark(
    places: Places, tmp_path: Path, written: str, sets: int
) -> None:
    text = two() if sets == 1 else two().replace("[[topics]]", f"{OTHER_SET}[[topics]]", 1)
    before = f'{text}{written}\ntolerance = 1\n\n# a remark on Third\n[[row]]\nsystem = "3"\nmissing = "x"\n'
    spec = spec_of(path := write_table(tmp_path, before), places)
    recorded.record(path, spec, figures(("The half", "two", "Rprec", 0.1)))
    assert path.read_text(encoding="utf-8") == before  # it says so already
    recorded.record(path, spec, figures(("The half", "two", "Success@1", 0.5), ("3", "two", "Rprec", 0.25)))
    last = ("measured.two" if sets == 2 else "measured") + ' = { "Rprec" = 25.0 }\n'
    after = before.replace('{ "Rprec" = 10 }', '{ "Success@1" = 50.0, "Rprec" = 10 }') + last
    assert path.read_text(encoding="utf-8") == after


@pytest.mark.parametrize(
    "written",
    [
        "measured.two.Rprec = 10",
        "[row.measured]\ntwo = { Rprec = 10 }",
        "[row.measured.two]\nRprec = 10",
        'source = """\n[[row]]\n"""',
    ],
)
def test_figures_in_another_form_are_read_but_not_written(
    places: Places, tmp_path: Path, written: str
) -> None:
    before = two() + written + "\n"
    spec = spec_of(path := write_table(tmp_path, before), places)
    assert spec.rows[1].recorded in ({"two": {"Rprec": 0.1}}, {})
    with pytest.raises(InputError, match="two.toml: nothing recorded; a row may have its figures only as"):
        recorded.record(path, spec, figures(("The half", "two", "Rprec", 0.25)))
    assert path.read_text(encoding="utf-8") == before


def test_a_file_may_end_without_a_line_feed(places: Places, tmp_path: Path) -> None:
    before = two().rstrip("\n")
    spec = spec_of(path := write_table(tmp_path, before), places)
    recorded.record(path, spec, figures(("The half", "two", "Rprec", 0.25)))
    assert path.read_text(encoding="utf-8") == before + '\nmeasured = { "Rprec" = 25.0 }\n'


def test_a_second_set_joins_the_first(places: Places, tmp_path: Path) -> None:
    before = two().replace("[[topics]]", f"{OTHER_SET}[[topics]]", 1) + 'measured.two = { "Rprec" = 10.0 }\n'
    spec = spec_of(path := write_table(tmp_path, before), places)
    measured = figures(("The half", "six", "Success@1", 0.5), ("The half", "six", "SecondsPerQuery", 1.23456))
    recorded.record(path, spec, measured)
    line = '+ measured.six = { "Success@1" = 50.0, "SecondsPerQuery" = 1.23 }\n'
    assert added(before, path.read_text(encoding="utf-8")) == [line]
    six = {"Success@1": 0.5, "SecondsPerQuery": 1.23}
    assert spec_of(path, places).rows[1].recorded == {"two": {"Rprec": 0.1}, "six": six}


def without_measured(text: str) -> dict[str, Any]:
    values = copy.deepcopy(tomllib.loads(text))
    for row in values["row"]:
        row.pop("measured", None)
    return values


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=[path.stem for path in TABLES])
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_in_our_tables_recording_changes_lines_of_figures_only(
    places: Places, tmp_path: Path, table: Path, newline: str
) -> None:
    before = table.read_text(encoding="utf-8").replace("\n", newline)
    path = tmp_path / table.name
    path.write_bytes(before.encode())
    spec = spec_of(path, places)
    cells = [
        (row.system, topics.name, measure, 0.12344)
        for row in spec.rows
        for topics in spec.topics
        for measure in topics.measures
    ]
    assert recorded.record(path, spec, figures(*cells)) == len(cells)
    after = path.read_bytes().decode()
    assert all(line[2:].startswith("measured") for line in added(before, after))
    assert without_measured(after) == without_measured(before)
    for row in spec_of(path, places).rows:
        assert {name: set(found) for name, found in row.recorded.items()} == {
            topics.name: set(topics.measures) for topics in spec.topics
        }


@pytest.mark.parametrize("name", ["demo", "nq-10k", "real", "ablation-real"])
def test_in_our_tables_recording_the_same_figures_changes_no_byte(
    places: Places, tmp_path: Path, name: str
) -> None:
    before = (ROOT / "eval" / f"{name}.toml").read_bytes()
    path = tmp_path / f"{name}.toml"
    path.write_bytes(before)
    spec = spec_of(path, places)
    cells = [
        (row.system, topics, measure, value)
        for row in spec.rows
        for topics, of_set in row.recorded.items()
        for measure, value in of_set.items()
    ]
    assert recorded.record(path, spec, figures(*cells)) == len(cells) > 30
    assert path.read_bytes() == before


def test_a_file_that_was_damaged_meanwhile_is_left_alone(places: Places, tmp_path: Path) -> None:
    spec = spec_of(path := write_table(tmp_path, two()), places)
    path.write_text("title =", encoding="utf-8")
    with pytest.raises(InputError, match="two.toml: not a table any more: "):
        recorded.record(path, spec, figures(("The half", "two", "Rprec", 0.25)))
    assert path.read_text(encoding="utf-8") == "title ="


@pytest.mark.parametrize("name", ["demo", "nq-10k", "real"])
def test_the_tables_of_results_are_what_is_recorded(places: Places, name: str) -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    block = page.partition(f"<!-- table {name} -->")[2].partition("<!-- end of table -->")[0]
    sets = block.partition("95 % intervals")[0].split("| system |")[1:]
    spec = spec_of(ROOT / "eval" / f"{name}.toml", places)
    shown = [
        (topics, line) for topics, text in zip(spec.topics, sets, strict=True) for line in text.split("\n")
    ]
    by_system = {row.system: row.recorded for row in spec.rows}
    seen = 0
    for topics, line in shown:
        system, *cells = [cell.strip(" *") for cell in line.strip("|").split("|")]
        for measure, cell in zip(topics.measures, cells, strict=False):
            if system in by_system and cell:
                assert by_system[system][topics.name][measure] == pytest.approx(float(cell), abs=0.0006)
                seen += 1
    assert seen == sum(len(figures) for recorded in by_system.values() for figures in recorded.values())


def test_the_short_table_of_the_front_page_is_what_is_recorded(places: Places) -> None:
    spec = spec_of(ROOT / "eval" / "default.toml", places)
    (page,) = [page for page in spec.pages if page.is_short]
    assert page.file == ROOT / "README.md"
    block = page.file.read_text(encoding="utf-8").partition("<!-- table default -->")[2].partition("<!--")[0]
    lines = [line for line in block.splitlines() if line.startswith("| ") and "---" not in line]
    head, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    recorded_figures = figures(
        *(
            (row.system, topics, measure, value)
            for row in spec.rows
            for topics, of_set in row.recorded.items()
            for measure, value in of_set.items()
        )
    )
    wanted = short_grid(spec, recorded_figures, page)
    assert head == wanted[0]
    assert [row[0] for row in rows] == list(page.systems) == [line[0] for line in wanted[1:]]
    found, told = (
        [float(cell or "nan") for line in grid for cell in line[1:]] for grid in (rows, wanted[1:])
    )
    assert found == pytest.approx(told, abs=0.0011, nan_ok=True)  # recorded to a hundredth of a point


def test_a_short_table_has_no_empty_columns_and_short_heads(places: Places, tmp_path: Path) -> None:
    """EM has no cut-off, and so says its name; it is of one of the sets only."""
    sets = '[[topics]]\nname = "six"\nlabel = "Six, all"\nmeasures = ["Success@1", "Success@5", "EM"]\n'
    text = two().replace('"Rprec"]', '"Success@5", "EM"]').replace("[[topics]]", f"{sets}[[topics]]", 1)
    page = '[[page]]\nfile = "x.md"\nmeasures = ["Success@1", "Success@5", "EM"]\nsystems = ["The half"]\n'
    spec = spec_of(write_table(tmp_path, text + page), places)
    cells = [("The half", name, f"Success@{k}", 0.5) for name in ("two", "six") for k in (1, 5)]
    measured = figures(*cells, ("The half", "six", "EM", 0.25), ("The good", "two", "EM", 1.0))
    assert short_grid(spec, measured, spec.pages[0]) == [
        ["system", "Six @1", "Six @5", "Six EM", "two @1", "two @5"],
        ["The half", "0.500", "0.500", "0.250", "0.500", "0.500"],
    ]
