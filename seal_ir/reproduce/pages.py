"""Tables in Markdown pages, between two comments that stay where they are, and when they are put there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from seal_ir.errors import InputError
from seal_ir.formats.io.files import atomic_writer
from seal_ir.reproduce.costs import LABELS
from seal_ir.reproduce.figures import Figure, Measured
from seal_ir.reproduce.plan import Lack
from seal_ir.reproduce.plots import PNG, draw, frontier_plots, is_installed
from seal_ir.reproduce.recorded import in_points
from seal_ir.reproduce.spec import Page, TableSpec
from seal_ir.reproduce.writing import as_markdown, as_short_markdown

_END = "<!-- end of table -->"


def write_pages(
    spec: TableSpec, measured: Measured, lacks: Sequence[Lack], *, is_part: bool, recording: bool
) -> Iterator[str]:
    """Put the table into the pages that its file names; yields for each a line that says whether it was.

    A page whose rows were not all measured keeps the table that it has. So does one that would show other
    figures than the table file has recorded, be they within the tolerance: the two never differ.

    Args:
        spec: the table.
        measured: its figures.
        lacks: what the plan says rows lack.
        is_part: whether some rows were asked for, or runs of others have joined; all pages are left then.
        recording: whether the figures are recorded now.

    Raises:
        InputError: as `read_page`.
    """
    for page in spec.pages:
        left = "only a part of the table was asked for" if is_part else _why_left(page, spec, lacks)
        if not left and not recording and (n := sum(_is_other(page, figure) for figure in measured.figures)):
            left = f"{n} of its figures are recorded otherwise; --record writes both"
        if not left and page.plots and not is_installed():
            left = "its pictures need matplotlib; pip install 'seal-ir[train]'"
        if left:
            yield f"{page.file}: keeps the table that it has; {left}"
            continue
        whole, short = as_markdown(spec, measured, lacks), as_short_markdown(spec, measured, page)
        pictures = _pictures(page, spec, measured) if page.plots else ""
        insert(page.file, spec.name, pictures + (short if page.is_short else whole))
        yield f"{page.file}: table {spec.name} is written"


def _pictures(page: Page, spec: TableSpec, measured: Measured) -> str:
    """Draws the frontiers of the sets that the page shows into its folder; the Markdown that shows them."""
    shown = [plot for plot in frontier_plots(spec, measured) if not page.topics or plot.topics in page.topics]
    draw(spec, measured, page.file.parent, shown, (PNG,))
    return "".join(f"![{plot.title}]({plot.name}{PNG})\n\n" for plot in shown)


def read_page(path: Path, table: str) -> str:
    """The text of a page that has a place for a table.

    Raises:
        InputError: it cannot be read, or has no such place.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"{path}: cannot be read ({reason})") from error
    start = _start(table)
    if text.count(start) != 1 or _END not in text.split(start)[1].split("<!-- table ")[0]:
        raise InputError(f"{path}: has no place for the table; write {start} and {_END} where it belongs")
    return text


def insert(path: Path, table: str, markdown: str) -> None:
    """Replace what stands in the table's place; all else of the page stays as it is.

    Raises:
        InputError: as `read_page`.
    """
    before, after = read_page(path, table).split(_start(table))
    after = after.split(_END, 1)[1]
    with atomic_writer(path) as file:
        file.write(f"{before}{_start(table)}\n{markdown.strip()}\n{_END}{after}")


def _start(table: str) -> str:
    return f"<!-- table {table} -->"


def _why_left(page: Page, spec: TableSpec, lacks: Sequence[Lack]) -> str:
    """Which rows of a page were not measured, those apart that no step makes; "" for none."""
    never = {row.system for row in spec.rows if row.missing}
    absent = dict.fromkeys(lack.system for lack in lacks if _shows(page, lack.system, lack.topics))
    names = ", ".join(system for system in absent if system not in never)
    return f"not measured: {names}" if names else ""


def _is_other(page: Page, figure: Figure) -> bool:
    """Whether a figure of the page is a share that is recorded with another value."""
    if figure.value is None or figure.recorded is None or figure.measure in LABELS:
        return False
    if page.is_short and figure.measure not in page.measures:
        return False
    same = in_points(figure.measure, figure.value) == in_points(figure.measure, figure.recorded)
    return not same and _shows(page, figure.system, figure.topics)


def _shows(page: Page, system: str, topics: str) -> bool:
    """Whether a row is in a page, and one of the sets is; "" stands for all sets."""
    return not page.is_short or (system in page.systems and topics in ("", *page.topics))
