"""`make mutants`: mutmut changes the code, one place at a time, and tests must fail; who survives is listed.

    python -m tests.helpers.mutants GROUP... [--sample N] [--examples N] [--again] [--show] [--fresh]

Groups are those of tests/mutants.toml. Each has a folder build/mutants/GROUP, in which `mutmut show NAME`
and the like work; what is known there stays while a function stays the same, and with --again survivors are
tried once more.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.helpers.commands import ROOT

GROUPS = ROOT / "tests" / "mutants.toml"
FOLDER = ROOT / "build" / "mutants"
COMPILED = ("seal_ir._native", "seal_ir._rank", "seal_ir._sdsl")
# One plugin is all that tests here need; each mutant would pay for loading the others.
PLUGINS = ["-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider", "--tb=no"]
PYTEST = ["-m", "not slow and not data and not gpu", "--hypothesis-profile=mutants", *PLUGINS]
KILLED, TIMEOUT, SURVIVED, NO_TESTS = "killed", "timeout", "survived", "no tests"
_SEED = 0


class Group(NamedTuple):
    """What is changed, and what must notice; files relative to the checkout."""

    name: str
    modules: list[str]
    tests: list[str]

    @property
    def folder(self) -> Path:
        """Where mutmut works."""
        return FOLDER / self.name


class Row(NamedTuple):
    """What became of a module's mutants: of `made`, those drawn were tried."""

    module: str
    made: int
    killed: int
    timeout: int
    survived: int

    @property
    def tried(self) -> int:
        """How many were."""
        return self.killed + self.timeout + self.survived

    @property
    def score(self) -> float:
        """The part that tests notice."""
        return (self.killed + self.timeout) / self.tried if self.tried else 0.0

    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the score, 95 %; the score itself where all mutants were tried."""
        if self.tried in (0, self.made):
            return self.score, self.score
        n, z = self.tried, 1.96
        middle = self.score + z * z / (2 * n)
        spread = z * math.sqrt(self.score * (1 - self.score) / n + z * z / (4 * n * n))
        low, high = (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)
        return max(0.0, low), min(1.0, high)


def read_groups(path: Path = GROUPS) -> dict[str, Group]:
    """All groups by name, their patterns resolved."""
    read = tomllib.loads(path.read_text(encoding="utf-8"))
    return {name: Group(name, _files(one["modules"]), _files(one["tests"])) for name, one in read.items()}


def _files(patterns: Iterable[str]) -> list[str]:
    found = []
    for pattern in patterns:
        matching = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob(pattern))
        if not matching:
            raise SystemExit(f"mutants: no file is {pattern}; see {GROUPS.relative_to(ROOT)}")
        found += matching
    return found


def settle(group: Group) -> None:
    """Make the group's folder: links to the checkout, and mutmut's settings."""
    (group.folder / "mutants" / "seal_ir").mkdir(parents=True, exist_ok=True)
    for name in ("seal_ir", "tests"):
        _link(group.folder / name, ROOT / name)
    _link(group.folder / "mutants" / "collections", ROOT / "collections")
    for module in COMPILED:  # an editable installation has them outside of the checkout
        spec = find_spec(module)
        if spec is not None and spec.origin is not None:
            shutil.copy2(spec.origin, group.folder / "mutants" / "seal_ir")
    for (
        module
    ) in group.modules:  # mutmut takes a copy of what it was not to change for one that it has changed
        copy = group.folder / "mutants" / module
        if copy.exists() and not copy.with_name(copy.name + ".meta").exists():
            copy.unlink()
            (group.folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    values = {
        "source_paths": ["seal_ir"],
        "only_mutate": group.modules,
        "pytest_add_cli_args": PYTEST,
        "pytest_add_cli_args_test_selection": group.tests,
        "timeout_constant": 20.0,  # seconds, so long because a busy machine is no endless loop
        "timeout_multiplier": 4.0,
        "process_isolation": "forkserver",  # what test helpers cached in an earlier run would hide mutants
        "track_dependencies": False,
        "use_git_change_detection": False,
        "on_dependency_change": "ignore",
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    text = "\n".join([project, "[tool.mutmut]", *lines, ""])
    (group.folder / "pyproject.toml").write_text(text, encoding="utf-8")


def _link(link: Path, target: Path) -> None:
    if not link.is_symlink():
        link.symlink_to(target, target_is_directory=True)


def inside(folder: Path, sample: int, children: int, again: bool) -> None:
    """In a process of its own: make a group's mutants, and try those that nothing is known of."""
    os.chdir(folder)
    # An editable installation's finder would bring the checkout's modules, unchanged ones.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]
    for name in [name for name in sys.modules if name.partition(".")[0] in {"seal_ir", "tests"}]:
        del sys.modules[name]
    from mutmut import __main__ as mutmut

    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(children)
    # Forgets results that other tests gave; `_run` would do so when it has been told what to try.
    mutmut.collect_or_load_stats(mutmut.get_mutant_runner(children), apply_config_invalidation=True)
    known = {KILLED} if again else {KILLED, SURVIVED, NO_TESTS, TIMEOUT}
    found = results(folder).values()
    names = [name for one in found for name in drawn(one, sample) if one[name] not in known]
    if names:
        mutmut._run(names, children)


def tried(group: Group, sample: int, children: int, examples: int, again: bool) -> None:
    """Run mutmut in a process of its own; what it prints is kept in the folder."""
    words = [sys.executable, "-m", "tests.helpers.mutants", "--inside", str(group.folder)]
    own = ["--sample", str(sample), "--children", str(children), *["--again"] * again]
    more = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "SEAL_IR_MUTANTS_EXAMPLES": str(examples)}
    log = group.folder / "log.txt"
    with log.open("w", encoding="utf-8") as file:
        done = subprocess.run(
            [*words, *own], cwd=ROOT, env=os.environ | more, stdout=file, stderr=file, check=False
        )
    if done.returncode:
        end = log.read_text(encoding="utf-8").replace("\r", "\n").splitlines()[-30:]
        raise SystemExit("\n".join([*end, f"mutants: mutmut failed on {group.name}; all it said: {log}"]))


def results(folder: Path) -> dict[str, dict[str, str]]:
    """What is known of each module's mutants: status by name, "" where none was tried."""
    found = {}
    for path in sorted((folder / "mutants").rglob("*.py.meta")):
        codes = json.loads(path.read_text(encoding="utf-8"))["exit_code_by_key"]
        module = str(path.relative_to(folder / "mutants")).removesuffix(".meta")
        if codes:
            found[module] = {name: _status(code) for name, code in codes.items()}
    return found


def _status(code: int | None) -> str:
    from mutmut.stats import status_by_exit_code

    return "" if code is None else str(status_by_exit_code[code])


def drawn(mutants: Iterable[str], sample: int) -> list[str]:
    """All, or a sample that is the same each time; 0 stands for all."""
    names = sorted(mutants)
    return sorted(random.Random(_SEED).sample(names, sample)) if 0 < sample < len(names) else names


def rows(folder: Path, modules: Sequence[str], sample: int) -> list[Row]:
    """The table of a group; mutants that no test reaches have survived."""
    table = []
    for module, mutants in results(folder).items():
        if module not in modules:
            continue
        counts = Counter(mutants[name] for name in drawn(mutants, sample))
        survived = counts[SURVIVED] + counts[NO_TESTS]
        row = Row(module, len(mutants), counts[KILLED], counts[TIMEOUT], survived)
        if left := sum(counts.values()) - row.tried:
            print(f"mutants: {left} of {module} are without a result: {dict(counts)}")
        table.append(row)
    return table


def told(table: Sequence[Row]) -> str:
    """The table in Markdown, with its sum."""
    lines = ["| module | mutants | tried | killed | timeout | survived | score |", "|---|" + "---|" * 6]
    whole = Row("all", *(sum(row[i] for row in table) for i in range(1, 5)))
    for row in [*table, whole]:
        low, high = row.interval()
        score = f"{row.score:.1%}" + (f" ({low:.1%} to {high:.1%})" if low < high else "")
        cells = (row.module, row.made, row.tried, row.killed, row.timeout, row.survived, score)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def survivors(folder: Path, sample: int) -> Iterable[str]:
    """The change of each mutant that no test noticed."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    os.chdir(folder)
    for module, mutants in results(folder).items():
        for name in drawn(mutants, sample):
            if mutants[name] not in ("", KILLED, TIMEOUT):
                yield f"# {name}: {mutants[name]}\n{get_diff_for_mutant(name, path=Path(module))}"


def main() -> int:
    """Try the mutants of groups, print their table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.helpers.mutants", description="Try the mutants of groups."
    )
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="of tests/mutants.toml; default: all")
    parser.add_argument(
        "--sample", type=int, default=0, help="mutants of each module that are tried; default: all"
    )
    parser.add_argument("--children", type=int, default=1, help="processes at a time")
    parser.add_argument(
        "--examples", type=int, default=20, help="of each property that is tried on a hundred; default: 20"
    )
    parser.add_argument("--again", action="store_true", help="try survivors once more")
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    parser.add_argument("--show", action="store_true", help="try nothing: print the survivors and the table")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        inside(asked.inside, asked.sample, asked.children, asked.again)
        return 0
    known = read_groups()
    if unknown := set(asked.groups) - known.keys():
        parser.error(f"no group {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    table = []
    for group in [known[name] for name in asked.groups or known]:
        if asked.show:
            print(*survivors(group.folder, asked.sample), sep="\n")
        else:
            if asked.fresh:
                shutil.rmtree(group.folder, ignore_errors=True)
            settle(group)
            tried(group, asked.sample, asked.children, asked.examples, asked.again)
        table += rows(group.folder, group.modules, asked.sample)
    print(told(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
