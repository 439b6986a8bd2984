"""`python -m seal_ir.reproduce`: tables that go into pages, with what is drawn beside them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from seal_ir.reproduce.__main__ import main
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.tables import COPY, arguments, row, step, two, write_data


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data")))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Runner:
    """Runs the command in this process; steps are processes of their own, which write to the real stderr."""
    return Runner(monkeypatch, capfd)


def test_a_table_goes_into_a_page_where_its_place_is(call: Runner, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    end = "<!-- end of table -->\n"
    around = f"# Title\n\n<!-- table other -->\n{end}\n<!-- table two -->\n{{}}{end}rest\n"
    page.write_text(around.format("old\n"), encoding="utf-8")
    done = call(main, *arguments(tmp_path, two(), "--into", page))
    assert done.code == 0, done.err
    table = (tmp_path / "results" / "two.md").read_text(encoding="utf-8").strip()
    assert page.read_text(encoding="utf-8") == around.format(table + "\n")


@pytest.mark.parametrize("text", ["no place\n", "<!-- table two -->\nnot ended\n", None])
def test_a_page_without_a_place_is_refused_before_anything_is_made(
    call: Runner, tmp_path: Path, text: str | None
) -> None:
    page = tmp_path / "README.md"
    if text is not None:
        page.write_text(text, encoding="utf-8")
    result = call(main, *arguments(tmp_path, two(), "--into", page))
    assert_fault(result, 1, "README.md")
    assert "$ python" not in result.err
    assert text is None or page.read_text(encoding="utf-8") == text


PAGE = "# Title\n\n<!-- table two -->\n{}<!-- end of table -->\nrest\n"


PAGES = """
[[page]]
file = "whole.md"
[[page]]
file = "short.md"
systems = ["The half"]
measures = ["Rprec"]
note = "By hand"
"""


SHORT = """**Two systems**

| system | two R-precision |
| --- | ---: |
| The half | 0.500 |

By hand. two: 2 questions.
"""


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Path, Path]:
    """A page for the whole table and one for its short form, both with an old table in the place."""
    for path in (found := (tmp_path / "whole.md", tmp_path / "short.md")):
        path.write_text(PAGE.format("old\n"), encoding="utf-8")
    return found


def test_a_table_goes_into_the_pages_that_its_file_names(
    call: Runner, tmp_path: Path, pages: tuple[Path, Path]
) -> None:
    done = call(main, *arguments(tmp_path, two() + PAGES))
    assert done.code == 0, done.err
    whole = (tmp_path / "results" / "two.md").read_text(encoding="utf-8")
    assert [page.read_text(encoding="utf-8") for page in pages] == [PAGE.format(whole), PAGE.format(SHORT)]
    assert done.err.splitlines()[-2:] == [f"{page}: table two is written" for page in pages]


FRONTIER_PAGE = """
[[page]]
file = "whole.md"
plots = true
[[frontier]]
label = "all"
measure = "Success@1"
cost = "CpuSecondsPerQuery"
"""


def frontier(tmp_path: Path) -> str:
    """A table with a frontier, whose steps copy a run with what it cost."""
    text = two().replace('"Rprec"]', '"Rprec", "CpuSecondsPerQuery"]') + FRONTIER_PAGE
    both = (
        "import shutil, sys; [shutil.copy(*(p + end for p in sys.argv[1:])) for end in ('', '.config.json')]"
    )
    for name, seconds in (("good", 4), ("half", 1)):
        values = json.dumps({"seconds": 9, "n_topics": 2, "cpu_seconds": seconds})
        (tmp_path / "data" / f"{name}.trec.config.json").write_text(values, encoding="utf-8")
    return text.replace(f"'{COPY}'", shlex.quote(both).replace("\\", "\\\\").replace('"', '\\"'))


@pytest.mark.slow
def test_frontiers_are_marked_and_drawn_beside_the_page(
    call: Runner, tmp_path: Path, pages: tuple[Path, Path]
) -> None:
    done = call(main, *arguments(tmp_path, frontier(tmp_path)))
    assert done.code == 0, done.err
    assert "The good   1.000        1.000            2  best buy" in done.out
    assert "The half   0.500        0.500          0.5         •" in done.out
    drawn = [tmp_path / "results" / f"two.two.frontier.{suffix}" for suffix in ("png", "svg")]
    assert [line for line in done.err.splitlines() if "frontier." in line] == list(map(str, drawn))
    table = (tmp_path / "results" / "two.md").read_text(encoding="utf-8")
    pictures = "![Two systems](two.two.frontier.png)\n\n"
    assert pages[0].read_text(encoding="utf-8") == PAGE.format(pictures + table)
    assert (tmp_path / "two.two.frontier.png").read_bytes() == drawn[0].read_bytes()
    assert not (tmp_path / "two.two.frontier.svg").exists()


def test_without_matplotlib_frontiers_are_told_and_the_page_is_left(
    call: Runner, tmp_path: Path, pages: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seal_ir.reproduce.plots.find_spec", lambda name: None)
    done = call(main, *arguments(tmp_path, frontier(tmp_path)))
    assert done.code == 0, done.err
    assert "best buy" in done.out
    assert "the table's frontiers are not drawn: that needs matplotlib\n" in done.err
    assert f"{pages[0]}: keeps the table that it has; its pictures need matplotlib" in done.err
    assert pages[0].read_text(encoding="utf-8") == PAGE.format("old\n")
    assert not list(tmp_path.rglob("*.png"))


@pytest.mark.parametrize("more", [["--systems", "The half"], ["--run", "The half=data/good.trec"]])
def test_pages_are_left_when_only_a_part_was_asked_for(
    call: Runner, tmp_path: Path, pages: tuple[Path, Path], more: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = call(main, *arguments(tmp_path, two() + PAGES, *more))
    assert done.code == 0, done.err
    told = "keeps the table that it has; only a part of the table was asked for"
    assert done.err.splitlines()[-2:] == [f"{page}: {told}" for page in pages]
    assert all(page.read_text(encoding="utf-8") == PAGE.format("old\n") for page in pages)


def test_a_page_is_left_where_one_of_its_rows_was_not_measured(
    call: Runner, tmp_path: Path, pages: tuple[Path, Path]
) -> None:
    text = two().replace(step("good.trec", "good.trec"), step("good.trec", "good.trec", 'needs = ["absent"]'))
    text += row("Never made", 'missing = "a dream"\npublished = { "Rprec" = 1 }')
    done = call(main, *arguments(tmp_path, text + PAGES))
    assert done.code == 0, done.err
    assert f"{pages[0]}: keeps the table that it has; not measured: The good\n" in done.err
    assert [page.read_text(encoding="utf-8") for page in pages] == [PAGE.format("old\n"), PAGE.format(SHORT)]


def test_a_page_never_shows_other_figures_than_the_file_records(
    call: Runner, tmp_path: Path, pages: tuple[Path, Path]
) -> None:
    text = two(head="tolerance = 1") + 'measured = { "Success@1" = 49.5, "Rprec" = 50.0 }\n' + PAGES
    done = call(main, *arguments(tmp_path, text))
    assert done.code == 0, done.err
    told = "keeps the table that it has; 1 of its figures are recorded otherwise; --record writes both"
    assert f"{pages[0]}: {told}\n" in done.err
    assert [page.read_text(encoding="utf-8") for page in pages] == [PAGE.format("old\n"), PAGE.format(SHORT)]
    assert call(main, *arguments(tmp_path, text, "--record")).code == 0
    assert "The good" in pages[0].read_text(encoding="utf-8")


def test_a_page_that_has_no_place_is_refused_before_anything_is_made(call: Runner, tmp_path: Path) -> None:
    (tmp_path / "whole.md").write_text("no place\n", encoding="utf-8")
    done = call(main, *arguments(tmp_path, two() + PAGES))
    assert_fault(done, 1, "whole.md", "has no place for the table")
    assert "$ python" not in done.err
