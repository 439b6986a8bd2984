"""The pages of the documentation as programs: their blocks that are run, and what they print.

A fence says `python run` or `bash run`; `needs=PACKAGE` beside it leaves the block out where that is missing.
The blocks of a page run in their order, those of Python in one namespace, in a folder with the checkout's
collections. Where the next fence is `text output`, that is what the block prints. When that has changed,
`python -m tests.helpers.pages docs/tour.md` writes it anew, to be read before it is committed.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from seal_ir.formats.io.resolve import Places
from seal_ir.index.__main__ import main as index_main

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "collections" / "demo" / "corpus.jsonl"
FENCE = re.compile(r"^```(?P<told>[^\n`]+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
OUTPUT = re.compile(r"\n\n```text output\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(-?\d+\.\d+)")
PASSING = re.compile(r"\d+(?:\.\d+)? s\b|^# seal-ir .*$", re.MULTILINE)  # of one machine, or one day


class Block(NamedTuple):
    """A block of a page.

    Attributes:
        language: python, bash, toml, ...
        told: the words beside it.
        line: how many lines are before its code.
        code: as it stands there.
        shown: what it prints, as the page says; None where it does not.
        span: where that stands in the page.
    """

    language: str
    told: tuple[str, ...]
    line: int
    code: str
    shown: str | None = None
    span: tuple[int, int] = (0, 0)

    @property
    def is_run(self) -> bool:
        return self.language in ("python", "bash") and "run" in self.told

    @property
    def missing(self) -> str | None:
        """A package that it needs and that is not there."""
        needed = [word.removeprefix("needs=") for word in self.told if word.startswith("needs=")]
        return next((name for name in needed if find_spec(name) is None), None)


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page, run or not."""
    text = page.read_text(encoding="utf-8")
    for fence in FENCE.finditer(text):
        language, *told = fence["told"].split()
        line = text[: fence.start("code")].count("\n")
        output = OUTPUT.match(text, fence.end())
        shown = (output["text"], output.span("text")) if output else (None, (0, 0))
        yield Block(language, tuple(told), line, fence["code"], *shown)


def run(page: Path, folder: Path) -> list[tuple[Block, str | None]]:
    """The page's blocks that are run, in `folder`, with what they print; None where one was left out.

    `folder` is made by `prepare`. Commands are those of this interpreter.
    """
    values: dict[str, Any] = {"__name__": "__main__"}
    found: list[tuple[Block, str | None]] = []
    for block in blocks(page):
        if not block.is_run:
            continue
        printed = None
        if block.missing is None:
            with contextlib.chdir(folder):
                printed = _bash(block) if block.language == "bash" else _python(block, page, values)
        found.append((block, printed))
    return found


def _python(block: Block, page: Path, values: dict[str, Any]) -> str:
    code = compile("\n" * block.line + block.code, str(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code, values)
    return printed.getvalue()


def _bash(block: Block) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    command = ["bash", "-euo", "pipefail", "-c", block.code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"line {block.line}: {done.stderr}"
    return done.stdout


def prepare(folder: Path) -> Path:
    """Makes `folder/work` like a checkout after `make demo`; returns its cache, with the user's models."""
    models = Places.from_environment().cache / "models"
    cache = folder / "cache"
    cache.mkdir()
    if models.is_dir():
        (cache / "models").symlink_to(models)
    work = folder / "work"
    (work / "runs").mkdir(parents=True)
    (work / "collections").symlink_to(ROOT / "collections")
    with contextlib.redirect_stdout(io.StringIO()):
        assert index_main(["--input", str(CORPUS), "--index", str(cache / "indexes" / "demo")]) == 0
    return cache


def agree(shown: str, printed: str) -> bool:
    """Whether texts are the same: integers exactly, other numbers within a hundredth of themselves or of 1.

    What a network adds up depends on the machine a little. Seconds and versions are not compared.
    """
    ours, theirs = (NUMBER.split(" ".join(PASSING.sub("", text).split())) for text in (shown, printed))
    return len(ours) == len(theirs) and all(
        math.isclose(float(a), float(b), rel_tol=1e-2, abs_tol=1e-2) if n % 2 else a == b
        for n, (a, b) in enumerate(zip(ours, theirs, strict=True))
    )


def main(names: list[str]) -> None:
    """Writes what the blocks of pages print into the pages."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SEAL_IR_CACHE"] = str(prepare(Path(folder)))
        for page in map(Path, names):
            text = page.read_text(encoding="utf-8")
            for block, printed in reversed(run(page, Path(folder, "work"))):
                if block.shown is not None and printed is not None:
                    lines = [line.rstrip() + "\n" for line in printed.splitlines()]
                    text = text[: block.span[0]] + "".join(lines) + text[block.span[1] :]
            page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
