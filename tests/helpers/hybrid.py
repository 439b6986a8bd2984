"""The search command on a tiny index, in a folder with another system's run to fuse with."""

from __future__ import annotations

import json
from pathlib import Path

from seal_ir.formats.runs.trec import read_run
from seal_ir.search.__main__ import main
from seal_ir.search.fusion import Entry
from tests.helpers.commands import Result, Runner

TOPICS = {"q1": "the highest mountain", "q2": "which river flows through London", "blank": " "}


OTHER = """\
q2 Q0 d4 9 1.5 theirs
q2 Q0 d2 1 2.5 theirs
q2 Q0 d5 1 2.5 theirs
blank Q0 d6 0 -3 theirs
unknown Q0 d1 1 1 theirs
"""


class Search:
    """Calls the command on the tiny index, in the folder of the outputs."""

    def __init__(self, call: Runner, index: Path, folder: Path) -> None:
        self._call, self.index, self.folder = call, index, folder
        self.output = folder / "run.trec"
        (folder / "other.trec").write_text(OTHER, encoding="utf-8")
        text = "".join(f"{qid}\t{text}\n" for qid, text in TOPICS.items())
        (folder / "topics.tsv").write_text(text, encoding="utf-8")
        self.inputs = self.files()

    def __call__(self, *arguments: object) -> Result:
        usual = ["--topics", self.folder / "topics.tsv", "--index", self.index, "--output", self.output]
        return self._call(main, *usual, "--preset", "paper", *arguments)

    def files(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir())

    def new(self) -> list[str]:
        return [name for name in self.files() if name not in self.inputs]

    def fusion(self, name: str = "run.trec") -> object:
        return json.loads((self.folder / f"{name}.config.json").read_text(encoding="utf-8"))["fusion"]

    def run(self, name: str = "run.trec") -> dict[str, list[Entry]]:
        return read_run(self.folder / name)
