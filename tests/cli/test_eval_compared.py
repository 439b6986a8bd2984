"""`python -m seal_ir.eval --baseline`: runs compared with one of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.eval.__main__ import main
from tests.helpers.evaluating import run_file, table


@pytest.fixture
def three_runs(tmp_path: Path) -> list[object]:
    """Options of three runs on six judged topics: a is right on 1, b on 5, c on none and without the last."""
    right = {"a": "1", "b": "12345", "c": ""}
    for name, topics in right.items():
        lines = [
            f"{i} Q0 {'x' if str(i) in topics else 'y'} 1 1 t\n" for i in range(1, 6 if name == "c" else 7)
        ]
        run_file(tmp_path, "".join(lines), f"{name}.trec")
    qrels = run_file(tmp_path, "".join(f"{i} 0 x 1\n{i} 0 z 1\n" for i in range(1, 7)), "q")
    runs = [tmp_path / f"{name}.trec" for name in right]
    return ["--run", *runs, "--qrels", qrels, "--measures", "Success@1", "P@1"]


def test_runs_are_compared_with_a_baseline(
    three_runs: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deltas, output = tmp_path / "deltas.tsv", tmp_path / "table.json"
    extra = ["--baseline", "a", "--deltas", deltas, "--output", output, "--seed", "3"]
    rows, out, _ = table(capsys, *three_runs, *extra)
    compared = [row for row in rows if row[:1] == ["Success@1"]]
    assert [row[1] for row in compared] == ["a", "b", "c"]
    assert compared[1][-2:] == ["0.2500", "4/2/0"]  # p 2/16, twice that by Holm
    assert compared[2][-2:] == ["1.0000", "0/5/1"]  # topic 6, which c lacks, is a tie at 0
    assert "Holm over the 2 compared; over topics, seed 3" in out
    value = json.loads(output.read_text(encoding="utf-8"))
    assert [(found["system"], found["measure"], found["p"]) for found in value["comparisons"][:2]] == [
        ("b", "Success@1", 0.125),
        ("c", "Success@1", 1.0),
    ]
    lines = deltas.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 2 * 6
    assert "6\tc\ta\tSuccess@1\t0.0\t0.0\t0.0" in lines


def test_the_same_seed_prints_the_same(
    three_runs: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = [table(capsys, *three_runs, "--baseline", tmp_path / "a.trec")[1] for _ in range(2)]
    assert printed[0] == printed[1]
    assert "less a" in printed[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--baseline", "d"], "baseline 'd': no such system in the table; its systems are a, b, c"),
        (["--deltas", "d.tsv"], "name it with --baseline"),
        (["--baseline", "a", "--deltas", "d.txt"], "--deltas d.txt: must end in .tsv or .jsonl"),
        (["--baseline", "a", "--permutations", "0"], "permutations is 0; it must be at least 1"),
    ],
)
def test_comparisons_that_cannot_be(three_runs: list[object], arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main([*map(str, three_runs), *arguments])


def test_a_baseline_alone_is_told(three_runs: list[object], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs other runs to compare it with"):
        main(["--run", str(tmp_path / "a.trec"), *map(str, three_runs[4:]), "--baseline", "a"])
