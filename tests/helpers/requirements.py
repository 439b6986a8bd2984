"""docs/requirements.md: each entry with the tests whose names carry its label, such as `test_a12_a13_...`.

Machines of hypothesis carry it as classes do: `TestD8D9...`.

Entries are written by hand, the lists of tests below them by `python -m tests.helpers.requirements`.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "requirements.md"
LIMITS = ROOT / "docs" / "limits.md"
ENTRY = re.compile(r"- \*\*([A-Z]\d+)\*\* ")
TEST = re.compile(r"^(?:def )?(test_(?:[a-z]\d+_)+|Test(?:[A-Z]\d+)+)(\w*)(?:\(| = )", re.MULTILINE)
LABEL = re.compile(r"[A-Z]\d+")


def entries(page: str) -> list[str]:
    """The labels of a page's entries, in its order."""
    return [found[1] for line in page.splitlines() if (found := ENTRY.match(line))]


def labelled(known: list[str]) -> dict[str, list[str]]:
    """The tests of each label, as `FILE: `NAME``."""
    tests: dict[str, list[str]] = {label: [] for label in known}
    for path in sorted((ROOT / "tests").glob("*/test_*.py")):
        for labels, rest in TEST.findall(path.read_text(encoding="utf-8")):
            own = LABEL.findall(labels.removeprefix("test_").removeprefix("Test").upper())
            for label in set(own) & tests.keys():
                tests[label].append(f"{path.relative_to(ROOT / 'tests')}: `{labels}{rest}`")
    return tests


def explained() -> set[str]:
    """The labels that docs/limits.md has a sentence for."""
    return set(re.findall(r"\*\*([A-Z]\d+)\*\*", LIMITS.read_text(encoding="utf-8")))


def written(page: str) -> str:
    """The page with its lists of tests as they are now."""
    tests, why = labelled(entries(page)), explained()
    lines = []
    for line in page.splitlines():
        if line.startswith("  - "):
            continue
        lines.append(line)
        if found := ENTRY.match(line):
            lines += [f"  - {test}" for test in tests[found[1]]]
            lines += ["  - [limits.md](limits.md) says what is missing"] if found[1] in why else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
