"""docs/tour.ipynb is executed, and its cells print what it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.pages import agree

nbformat = pytest.importorskip("nbformat", reason="nbclient is not installed (extra `docs`)")
pytest.importorskip("nbclient", reason="nbclient is not installed (extra `docs`)")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # other people's


def test_the_notebook_runs_and_prints_what_it_shows(tmp_path: Path) -> None:
    from tests.helpers import notebook

    shown = nbformat.read(notebook.PAGE, as_version=4)
    done = notebook.executed(tmp_path)
    for ours, theirs in zip(notebook.printed(shown), notebook.printed(done), strict=True):
        assert agree(ours, theirs), f"`python -m tests.helpers.notebook` writes it anew:\n{theirs}"
    markup = [
        out.data["text/html"]
        for cell in done.cells
        for out in cell.get("outputs", ())
        if "text/html" in out.get("data", {})
    ]
    assert any("<mark" in text and "octopus" in text for text in markup)
