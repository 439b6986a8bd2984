"""KILT's measures on worked examples, and what is said where they cannot be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.eval.__main__ import main
from seal_ir.eval.evidence import evidence_measure
from seal_ir.eval.measures import parse_measures
from seal_ir.eval.rankings import read_rankings


def value(name: str, ranking: str, *sets: str) -> float:
    """The measure on a ranking and sets of one-letter pages."""
    measure = evidence_measure(name)
    assert measure is not None
    return measure(list(ranking), [list(pages) for pages in sets])


@pytest.mark.parametrize(
    ("name", "ranking", "sets", "expected"),
    [
        ("KiltRprec", "axb", ["ab"], 1 / 2),
        ("KiltRprec", "axb", ["ab", "a"], 1),  # the set that comes out best
        ("KiltRprec", "", ["ab"], 0),
        ("KiltRprec", "xa", ["ab", "xyza"], 1 / 2),
        ("KiltP@1", "ab", ["ab"], 1),  # both pages are one place
        ("KiltP@2", "axb", ["ab"], 1 / 2),  # x, then the set
        ("KiltP@1", "axb", ["ab"], 0),
        ("KiltP@5", "ab", ["ab"], 1 / 5),
        ("KiltR@1", "a", ["ab"], 0),  # not complete
        ("KiltR@2", "axb", ["ab"], 1),
        ("KiltR@5", "abx", ["ab", "ba", "c"], 1 / 2),  # one set twice is one set
        ("KiltR@1", "ab", ["a", "b"], 1 / 2),
        ("KiltR@2", "ba", ["a", "ab"], 1),  # a completes both
        ("KiltSuccess@1", "xab", ["ab"], 0),
        ("KiltSuccess@2", "xab", ["ab"], 1),
        ("KiltSuccess@2", "axyb", ["ab"], 0),  # x, y, the set
        ("KiltSuccess@9", "axyz", ["ab"], 0),
    ],
)
def test_worked_examples(name: str, ranking: str, sets: list[str], expected: float) -> None:
    assert value(name, ranking, *sets) == pytest.approx(expected)


@pytest.mark.parametrize("name", ["KiltP", "KiltP@0", "kiltRprec", "KiltRprec@5", "KiltAP@5"])
def test_other_names_are_no_measures(name: str) -> None:
    with pytest.raises(UsageError):
        parse_measures([name])


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def datapoint(qid: str, *sets: str) -> dict[str, object]:
    outputs = [{"provenance": [{"wikipedia_id": page} for page in pages.split()]} for pages in sets]
    return {"id": qid, "input": "q", "output": outputs}


def figures(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out.splitlines()[1].split()[1:]


def test_b7_passages_fold_into_pages_before_the_cut(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gold = write(tmp_path / "gold.jsonl", datapoint("1", "12 34"), datapoint("2", "9"))
    run = tmp_path / "run.trec"
    run.write_text("1 Q0 12#1 1 3 t\n1 Q0 12#5 2 2 t\n1 Q0 34#2 3 1 t\n", encoding="utf-8")
    measures = ("--measures", "KiltRprec", "KiltSuccess@1", "KiltSuccess@2")
    pages = figures(capsys, "--run", run, "--qrels", gold, "--max-passage", *measures)
    assert pages == ["0.5000", "0.5000", "0.5000"]  # topic 2 has no results
    own = write(tmp_path / "passages.jsonl", datapoint("1", "12#1 34#2"), datapoint("2", "9#0"))
    assert figures(capsys, "--run", run, "--qrels", own, *measures) == ["0.2500", "0.0000", "0.5000"]
    assert figures(capsys, "--run", run, "--qrels", own, "--max-passage", *measures) == pages


def test_runs_in_kilts_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write(tmp_path / "gold.jsonl", datapoint("1", "12 34", "12"), datapoint("2", "9"), datapoint("3"))
    run = write(tmp_path / "seal.jsonl", datapoint("1", "7 7 12 34"), datapoint("2", ""), datapoint("3", "1"))
    assert read_rankings(run) == {"1": ["7", "12", "34"], "3": ["1"]}
    arguments = ("--run", run, "--qrels", gold, "--measures", "KiltRprec", "KiltR@2", "Rprec")
    assert figures(capsys, *arguments) == ["0.2500", "0.2500", "0.2500"]


@pytest.mark.parametrize("sets", [[], ["1", "2"]])
def test_a_run_has_one_output_a_datapoint(tmp_path: Path, sets: list[str]) -> None:
    run = write(tmp_path / "run.jsonl", datapoint("0", "1"), datapoint("1", *sets))
    with pytest.raises(
        InputError, match=rf"run\.jsonl:2: topic '1': a run has one output a datapoint, seen {len(sets)}"
    ):
        read_rankings(run)


def test_judgements_without_sets_are_refused(tmp_path: Path) -> None:
    qrels, run = tmp_path / "qrels.trec", tmp_path / "run.trec"
    qrels.write_text("1 0 a 1\n", encoding="utf-8")
    run.write_text("1 Q0 a 1 3 t\n", encoding="utf-8")
    with pytest.raises(UsageError, match="KiltRprec needs KILT's gold file"):
        main(["--run", str(run), "--qrels", str(qrels), "--measures", "KiltRprec"])


def test_the_example_of_the_page() -> None:
    """As docs/eval.md has it."""
    found = [value(name, "axbc", "ab", "c") for name in ("KiltRprec", "KiltP@2", "KiltR@3")]
    assert found == [1 / 2, 1 / 2, 1]
