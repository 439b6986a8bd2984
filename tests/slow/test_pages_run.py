"""Every block of README and docs that says so is run, with the real model, and prints what the page shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from seal_ir.formats.collections.collection import Collection
from tests.helpers import pages
from tests.helpers.pages import CORPUS, ROOT, Block

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # other people's
RUN = [page for page in pages.pages() if any(block.is_run for block in pages.blocks(page))]
Printed = list[tuple[Block, str | None]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Printed]:
    """Runs a page once, as after `make demo`."""
    folder = tmp_path_factory.mktemp("pages")
    cached = pages.prepare(folder)

    @cache
    def run(page: Path) -> Printed:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SEAL_IR_CACHE", str(cached))
            return pages.run(page, folder / "work")

    return run


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_a_page_runs_and_prints_what_it_shows(page: Path, run: Callable[[Path], Printed]) -> None:
    printed = run(page)
    told = f"python -m tests.helpers.pages {page.relative_to(ROOT)}"
    for block, text in printed:
        if text is not None and block.shown is not None:
            assert pages.agree(block.shown, text), f"line {block.line}; `{told}` writes it anew:\n{text}"
    missing = {block.missing for block, text in printed if text is None}
    if missing:
        pytest.skip(f"left out: blocks that need {', '.join(sorted(map(str, missing)))}")


def test_what_is_quoted_stands_where_it_is_said_to_stand(run: Callable[[Path], Printed]) -> None:
    ((_, printed),) = run(ROOT / "docs" / "quoting.md")
    told = re.fullmatch(r"(['\"])(.+)\1: (\S+), (title|body)\[(\d+):(\d+)\], \d+ times\n", str(printed))
    assert told is not None
    one = next(one for one in Collection("JsonCollection", CORPUS) if one.id == told[3])
    assert {"title": one.title, "body": one.text}[told[4]][int(told[5]) : int(told[6])] == told[2]
