"""docs/tour.ipynb, executed; `python -m tests.helpers.notebook` writes what its cells print anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

PAGE = Path(__file__).parents[2] / "docs" / "tour.ipynb"
CELL_S = 300  # on a busy machine, loading the model included


def executed(folder: Path) -> Any:
    """The notebook after all of its cells were run, in `folder`; a cell that fails raises."""
    notebook = nbformat.read(PAGE, as_version=4)
    client = NotebookClient(
        notebook, timeout=CELL_S, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    return client.execute(env=os.environ | {"PYTHONPATH": str(PAGE.parents[1])})


def printed(notebook: Any) -> list[str]:
    """What each cell of code prints; pictures and markup are not in it."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        "".join(out.get("text", "") for out in cell.outputs if out.get("name") == "stdout") for cell in cells
    ]


def main() -> None:
    notebook = executed(PAGE.parent)
    for cell in notebook.cells:
        cell.metadata.clear()  # when it ran
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]  # warnings of others
    notebook.metadata["language_info"] = {"name": "python"}
    nbformat.validate(notebook)
    nbformat.write(notebook, PAGE)


if __name__ == "__main__":
    main()
