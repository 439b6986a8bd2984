"""Tables as data: what a table file says, what is made again, and what is left out."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from seal_ir.baselines.__main__ import main
from seal_ir.baselines.tables import read_table, stale
from seal_ir.errors import InputError, SealError, UsageError
from seal_ir.formats.named import Places
from tests import tiny

COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    data = tmp_path / "data"
    for kind, name, text in (
        ("topics", "two.tsv", "q1\twho\nq2\twhere\n"),
        ("answers", "two.jsonl", '{"qid": "q1", "answers": ["x"]}\n{"qid": "q2", "answers": ["y"]}\n'),
        ("qrels", "two.trec", "q1 0 d1 1\nq2 0 d2 1\n"),
    ):
        (data / kind).mkdir(parents=True, exist_ok=True)
        (data / kind / name).write_text(text, encoding="utf-8")
    (data / "good.trec").write_text("q1 Q0 d1 1 2.0 t\nq2 Q0 d2 1 1.0 t\n", encoding="utf-8")
    (data / "half.trec").write_text("q1 Q0 d1 1 2.0 t\nq2 Q0 d1 1 1.0 t\n", encoding="utf-8")
    monkeypatch.setenv("SEAL_IR_DATA", str(data))
    return Places.from_environment()


def table(tmp_path: Path, *, extra: str = "", needs: str = "[]") -> Path:
    """A table of two rows, whose runs are copied from the data folder."""
    index = tmp_path / "index"
    tiny.build(index)
    path = tmp_path / "two.toml"
    path.write_text(
        f'title = "Two systems"\ntopics = "two"\nindex = "{index}"\n'
        f'measures = ["Success@1", "Rprec"]\n{extra}\n'
        + "".join(
            f"[[step]]\ncommand = \"-c '{COPY}' {{data}}/{run} {{out}}/{run}\"\n"
            f'makes = ["{{out}}/{run}"]\nneeds = {wanted}\n[[row]]\nsystem = "The {run}"\nrun = "{run}"\n'
            for run, wanted in (("good.trec", "[]"), ("half.trec", needs))
        ),
        encoding="utf-8",
    )
    return path


def test_a_table_is_made_measured_and_written(
    places: Places, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    assert main(["--table", str(table(tmp_path)), "--output", str(results)]) == 0
    printed = capfd.readouterr().out
    assert "| The good.trec | 1.000 | 1.000 |" in printed
    assert "| The half.trec | 0.500 | 0.500 |" in printed
    assert "hits@1 over 2, R-precision over 2" in printed
    assert (results / "two.md").read_text(encoding="utf-8") == printed
    rows = json.loads((results / "two.json").read_text(encoding="utf-8"))["rows"]
    half = [row for row in rows if row["system"] == "The half.trec" and row["measure"] == "Success@1"]
    assert [(row["value"], row["n"]) for row in half] == [(0.5, 2)]
    assert half[0]["command"].startswith("python -c ")


def test_a_sample_of_the_topics_is_searched_and_measured(places: Places, tmp_path: Path) -> None:
    (tmp_path / "one.ids.txt").write_text("q2\n", encoding="utf-8")
    path = table(tmp_path, extra='sample = "one.ids.txt"')
    assert main(["--table", str(path), "--output", str(tmp_path / "results")]) == 0
    figures = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))
    assert figures["n_topics"] == 1
    values = {(row["system"], row["measure"]): row["value"] for row in figures["rows"]}
    assert values["The half.trec", "Success@1"] == 0.0
    (tmp_path / "one.ids.txt").write_text("q9\n", encoding="utf-8")
    with pytest.raises(InputError, match="topic 'q9' is not one of two"):
        read_table(path, tmp_path / "results", places)


def test_a_row_whose_package_is_missing_is_left_out_and_named(
    places: Places, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path, needs='["no_such_package"]')
    assert main(["--table", str(path), "--output", str(tmp_path / "results")]) == 0
    printed = capfd.readouterr()
    assert "skipped, needs pip install no_such_package" in printed.err
    assert "left out: The half.trec" in printed.err
    assert "The half.trec" not in printed.out


def test_runs_are_made_again_only_when_what_they_are_made_from_is_newer(
    places: Places, tmp_path: Path
) -> None:
    path = table(tmp_path)
    text = path.read_text(encoding="utf-8").replace("good.trec {out}", "good.trec {topics} {out}")
    path.write_text(text, encoding="utf-8")
    spec = read_table(path, tmp_path / "results", places)
    assert stale(spec.steps[0], spec)
    spec.steps[0].makes[0].touch()
    assert not stale(spec.steps[0], spec)
    later = time.time() + 60
    os.utime(spec.topics_file, (later, later))
    assert stale(spec.steps[0], spec)


def test_a_step_that_fails_ends_the_table(places: Places, tmp_path: Path) -> None:
    path = table(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(COPY, "import sys; sys.exit(3)"), "utf-8")
    with pytest.raises(SealError, match="exit code 3 from: python -c"):
        main(["--table", str(path), "--output", str(tmp_path / "results")])


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("title", "name", "'title' is missing"),
        ("{data}", "{nowhere}", "unknown placeholder {nowhere}"),
        ('run = "good.trec"', 'run = "other.trec"', "no step makes other.trec"),
        ('title = "Two', "title = Two", "not a table"),
    ],
)
def test_a_file_that_is_no_table_is_told(
    places: Places, tmp_path: Path, old: str, new: str, told: str
) -> None:
    path = table(tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_table(path, tmp_path / "results", places)
    assert told in str(error.value)
    assert str(path) in str(error.value)


def test_a_table_of_real_data_says_that_it_needs_it(
    places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = table(tmp_path)
    without = Places(None, places.collections, places.cache)
    text = path.read_text(encoding="utf-8").replace('topics = "two"', 'topics = "demo"')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="set SEAL_IR_DATA"):
        read_table(path, tmp_path / "results", without)


def test_the_tables_of_this_repository_can_be_read(places: Places, tmp_path: Path) -> None:
    demo = Path(__file__).parents[2] / "eval" / "demo.toml"
    spec = read_table(demo, tmp_path, places)
    assert [row.system for row in spec.rows][0] == "BM25 (Lucene)"
    assert all(step.command[0] == sys.executable for step in spec.steps)
    assert len(spec.topics_file.read_text(encoding="utf-8").splitlines()) == 102
