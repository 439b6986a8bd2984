"""What `make mutants` and `make coverage` say of what they measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers import covered, mutants
from tests.helpers.mutants import Row, drawn, read_groups, rows, told

MODULE = "seal_ir/rank/weights.py"


def _written(folder: Path, codes: dict[str, int | None]) -> None:
    path = folder / "mutants" / f"{MODULE}.meta"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"exit_code_by_key": codes}))


def test_groups_name_files_that_are_there_and_no_module_twice() -> None:
    groups = read_groups()
    modules = [module for group in groups.values() for module in group.modules]
    assert len(modules) == len(set(modules)) > 10
    assert all(group.tests for group in groups.values())
    assert all((mutants.ROOT / name).is_file() for group in groups.values() for name in group.tests)


def test_a_pattern_without_files_is_told(tmp_path: Path) -> None:
    path = tmp_path / "mutants.toml"
    path.write_text('[a]\nmodules = ["seal_ir/none/*.py"]\ntests = []\n')
    with pytest.raises(SystemExit, match=r"no file is seal_ir/none/\*\.py; see tests/mutants\.toml"):
        read_groups(path)


def test_a_table_counts_what_no_test_reaches_as_survived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("mutmut")
    _written(tmp_path, {"a": 1, "b": 0, "c": 33, "d": 36, "e": -24, "f": 1, "g": None})
    (row,) = rows(tmp_path, [MODULE], 0)
    assert row == Row(MODULE, made=7, killed=2, timeout=2, survived=2)
    assert (row.tried, row.score) == (6, 4 / 6)
    assert "1 of seal_ir/rank/weights.py are without a result" in capsys.readouterr().out
    assert rows(tmp_path, ["seal_ir/rank/ranker.py"], 0) == []


def test_a_sample_is_the_same_each_time_and_its_score_has_an_interval() -> None:
    names = [f"m{i}" for i in range(200)]
    assert drawn(reversed(names), 100) == drawn(names, 100)
    assert len(set(drawn(names, 100))) == 100
    assert drawn(names, 0) == drawn(names, 500) == sorted(names)
    row = Row(MODULE, made=200, killed=89, timeout=1, survived=10)
    assert row.interval() == pytest.approx((0.826, 0.945), abs=5e-4)
    assert Row(MODULE, 100, 89, 1, 10).interval() == (0.9, 0.9)
    assert told([row]).splitlines()[2] == f"| {MODULE} | 200 | 100 | 89 | 1 | 10 | 90.0% (82.6% to 94.5%) |"


def test_coverage_is_added_up_by_package() -> None:
    counts = {"num_statements": 10, "covered_lines": 9, "num_branches": 4, "covered_branches": 1}
    files = {"seal_ir/rank/a.py": counts, "seal_ir/rank/b/c.py": counts, "seal_ir/config.py": counts}
    files["/anywhere/seal_ir/index/x.py"] = counts | {"num_branches": 0, "covered_branches": 0}
    packages = covered.by_package(files)
    assert packages["seal_ir/rank"] == [20, 18, 8, 2]
    assert packages["seal_ir"] == [10, 9, 4, 1]
    assert covered.told(packages).splitlines()[2:] == [
        "| seal_ir | 10 | 90.0% | 4 | 25.0% |",
        "| seal_ir/index | 10 | 90.0% | 0 | - |",
        "| seal_ir/rank | 20 | 90.0% | 8 | 25.0% |",
        "| all | 40 | 90.0% | 12 | 25.0% |",
    ]
