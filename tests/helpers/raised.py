"""Which `raise` of an error that users see no test has reached.

`pytest -p tests.helpers.raised` with SEAL_IR_RAISED=FOLDER notes where such errors are made, in every process
of the tests; `python -m tests.helpers.raised FOLDER` then prints the places that are in none of the notes.
Commands that tests start in processes of their own are not seen.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from seal_ir.errors import SealError
from tests.helpers.commands import ROOT

PACKAGE = ROOT / "seal_ir"
_VARIABLE = "SEAL_IR_RAISED"
_FRAMES = 2  # who made it, and who asked for it to be made


class Place(NamedTuple):
    """A `raise` of the package: its file below the checkout, its lines, what it says."""

    file: str
    first: int
    last: int
    text: str


def pytest_configure(config: pytest.Config) -> None:
    """Note where errors are made from now on, one `file:line` a line."""
    folder = os.environ.get(_VARIABLE)
    if folder is None:
        return
    notes = Path(folder) / f"{os.getpid()}.txt"
    notes.parent.mkdir(parents=True, exist_ok=True)
    known: set[str] = set()
    made = SealError.__init__

    def noting(self: SealError, *args: Any, **options: Any) -> None:
        found = set(_frames()) - known
        if found:
            with suppress(OSError), notes.open("a", encoding="utf-8") as file:  # tests fill disks, too
                file.writelines(f"{place}\n" for place in sorted(found))
                file.flush()
                known.update(found)
        made(self, *args, **options)

    SealError.__init__ = noting  # type: ignore[method-assign]


def _frames() -> Iterator[str]:
    """The lines of the package that are making an error, the innermost first."""
    frame, left = sys._getframe(2), _FRAMES
    while frame is not None and left:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            yield f"{path.relative_to(ROOT)}:{frame.f_lineno}"
            left -= 1
        frame = frame.f_back  # type: ignore[assignment]


def user_errors() -> set[str]:
    """Names of `SealError` and of all that are kinds of it, anywhere in the package."""
    bases: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)}
    known = {SealError.__name__}
    while more := {name for name, of in bases.items() if of & known} - known:
        known |= more
    return known


def places() -> Iterator[Place]:
    """Every `raise` in the package of an error that users see, made there or by a function for it."""
    known = user_errors()
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = ast.unparse(node.exc.func).rpartition(".")[2]
                if name in known or (
                    name[:1] in "_abcdefghijklmnopqrstuvwxyz" and not name.endswith("Error")
                ):
                    text = " ".join(ast.unparse(node).split())
                    yield Place(
                        str(path.relative_to(ROOT)), node.lineno, node.end_lineno or node.lineno, text
                    )


def unreached(folder: Path) -> list[Place]:
    """The places that are in no note of a folder."""
    reached: dict[str, set[int]] = {}
    for notes in folder.glob("*.txt"):
        for line in notes.read_text(encoding="utf-8").splitlines():
            file, _, number = line.rpartition(":")
            reached.setdefault(file, set()).add(int(number))
    return [
        place
        for place in places()
        if reached.get(place.file, set()).isdisjoint(range(place.first, place.last + 1))
    ]


if __name__ == "__main__":
    left, n_all = unreached(Path(sys.argv[1])), len(list(places()))
    for place in left:
        print(f"{place.file}:{place.first}: {place.text}")
    print(f"{n_all - len(left)} of {n_all} reached", file=sys.stderr)
