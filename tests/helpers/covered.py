"""`make coverage`: how much of each package the tests run, lines and branches, as coverage.py measured it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.commands import ROOT

WRITTEN = ROOT / "build" / "coverage" / "coverage.json"
COUNTS = ("num_statements", "covered_lines", "num_branches", "covered_branches")


def by_package(files: Mapping[str, Mapping[str, int]]) -> dict[str, list[int]]:
    """The counts of each package's files added up; what lies in no package is under seal_ir itself."""
    found: dict[str, list[int]] = defaultdict(lambda: [0] * len(COUNTS))
    for name, summary in files.items():
        parts = Path(name).parts
        package = "/".join(parts[parts.index("seal_ir") :][:2]) if len(parts) > 2 else "seal_ir"
        found[package] = [a + summary[count] for a, count in zip(found[package], COUNTS, strict=True)]
    return dict(sorted(found.items()))


def told(packages: Mapping[str, list[int]]) -> str:
    """The table in Markdown, with its sum."""
    lines = ["| package | lines | run | branches | taken |", "|---|---|---|---|---|"]
    whole = [sum(counts) for counts in zip(*packages.values(), strict=True)]
    for name, (lines_, run, branches, taken) in [*packages.items(), ("all", whole)]:
        lines.append(
            f"| {name} | {lines_:,} | {_part(run, lines_)} | {branches:,} | {_part(taken, branches)} |"
        )
    return "\n".join(lines)


def _part(some: int, all_: int) -> str:
    return f"{some / all_:.1%}" if all_ else "-"


def main() -> int:
    """Join what the processes wrote, print the table."""
    WRITTEN.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "coverage", "json", "-q", "-o", str(WRITTEN)]
    subprocess.run(words, cwd=ROOT, check=True)
    files = json.loads(WRITTEN.read_text(encoding="utf-8"))["files"]
    print(told(by_package({name: one["summary"] for name, one in files.items()})))
    return 0


if __name__ == "__main__":
    sys.exit(main())
