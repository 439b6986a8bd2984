"""`python -m seal_ir.reproduce`: tables made, measured, written; and what it says when they cannot be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.reproduce import steps
from seal_ir.reproduce.__main__ import main
from seal_ir.reproduce.spec import Step
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.piping import pipes
from tests.helpers.tables import COPY, arguments, row, step, two, write_data, write_table


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_IR_DATA", str(write_data(tmp_path / "data")))


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Runner:
    """Runs the command in this process; steps are processes of their own, which write to the real stderr."""
    return Runner(monkeypatch, capfd)


def test_a_table_is_made_measured_and_written(call: Runner, tmp_path: Path) -> None:
    done = call(main, *arguments(tmp_path, two()))
    assert done.code == 0, done.err
    assert "The good   1.000        1.000" in done.out
    assert "The half   0.500        0.500" in done.out
    assert "hits@1, R-precision over 2" in done.out
    assert "$ python -c" in done.err
    assert "The half: 2 topics, 2 in run" in done.err
    results = tmp_path / "results"
    assert sorted(path.name for path in results.iterdir()) == [
        *("two", "two.csv", "two.json", "two.md", "two.tex", "two.txt"),
    ]
    assert (results / "two.txt").read_text(encoding="utf-8") == done.out
    rows = json.loads((results / "two.json").read_text(encoding="utf-8"))["rows"]
    half = next(found for found in rows if (found["system"], found["measure"]) == ("The half", "Success@1"))
    assert (half["value"], half["n"]) == (0.5, 2)
    assert half["command"].startswith("python -c ")
    assert half["run"] == str(results / "two" / "two" / "half.trec")
    assert len(json.loads((results / "two" / "steps.json").read_text(encoding="utf-8"))) == 2


def test_a_second_time_nothing_is_made_again_but_with_fresh(call: Runner, tmp_path: Path) -> None:
    first = call(main, *arguments(tmp_path, two()))
    second = call(main, *arguments(tmp_path, two()))
    assert "$ python" not in second.err
    assert second.out == first.out
    assert call(main, *arguments(tmp_path, two(), "--fresh")).err.count("$ python") == 2


@pytest.mark.parametrize(
    ("form", "start"),
    [
        ("markdown", "**Two systems**\n"),
        ("latex", "% needs \\usepackage{booktabs}\n"),
        ("csv", "topics,system,measure,value,"),
        ("json", '{\n  "table": "two",'),
    ],
)
def test_formats(call: Runner, tmp_path: Path, form: str, start: str) -> None:
    done = call(main, *arguments(tmp_path, two(), "--format", form))
    assert done.out.startswith(start)


def test_a_sample_of_the_topics_is_searched_and_measured(call: Runner, tmp_path: Path) -> None:
    (tmp_path / "one.ids.txt").write_text("q2\n", encoding="utf-8")
    done = call(main, *arguments(tmp_path, two(topics='sample = "one.ids.txt"')))
    assert "two: 1 questions" in done.out
    assert "The half   0.000" in done.out


def test_accuracy_looks_into_the_index(call: Runner, tmp_path: Path, tiny_index: Path) -> None:
    data = tmp_path / "data"
    (data / "answers" / "two.jsonl").write_text(
        '{"qid": "q1", "answers": ["thames"]}\n{"qid": "q2", "answers": ["MAMMAL"]}\n', encoding="utf-8"
    )
    text = two(head=f'index = "{tiny_index}"').replace('"Success@1"', '"AnswerAccuracy@1"')
    done = call(main, *arguments(tmp_path, text))
    assert done.code == 0, done.err
    assert "accuracy@1, R-precision over 2; answers matched by DPR tokens" in done.out


def test_a_row_that_cannot_be_made_says_what_it_lacks(call: Runner, tmp_path: Path) -> None:
    done = call(main, *arguments(tmp_path, two(needs='needs = ["no_such_package"]')))
    assert done.code == 0, done.err
    assert "# not made here: The half: no_such_package\n# no_such_package: pip install" in done.out
    assert not any(line.startswith("The half") for line in done.out.splitlines())
    markdown = (tmp_path / "results" / "two.md").read_text(encoding="utf-8")
    assert "- not made here: The half: no_such_package" in markdown
    assert "```bash\npython -c" in markdown


def test_published_figures_need_no_topics(call: Runner, tmp_path: Path) -> None:
    text = (
        'title = "A paper"\n[[topics]]\nname = "nowhere"\nmeasures = ["Rprec"]\n'
        + step("x.trec", "good.trec", 'needs = ["no_such_package"]')
        + row("X", 'run = "x.trec"\npublished = { "Rprec" = 54.5 }')
        + row("Y", 'missing = "a dream"\npublished = { "Rprec" = 33.1 }')
    )
    done = call(main, *arguments(tmp_path, text))
    assert done.code == 0, done.err
    assert done.out.splitlines()[2:6] == [
        "published",
        "system  R-precision",
        "X             0.545",
        "Y             0.331",
    ]
    assert "# not made here: Y: a dream" in done.out


def test_some_systems_only(call: Runner, tmp_path: Path) -> None:
    done = call(main, *arguments(tmp_path, two(), "--systems", "*HALF"))
    assert done.err.count("$ python") == 1
    assert "The good" not in done.out
    assert "The half" in done.out


def test_a_run_of_another_system_joins_the_table(call: Runner, tmp_path: Path) -> None:
    run = tmp_path / "data" / "good.trec"
    done = call(main, *arguments(tmp_path, two(), "--run", f"Somebody's={run}", "--systems", "Some*"))
    assert "Somebody's   1.000        1.000" in done.out
    value = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))
    assert value["rows"][0]["run"] == str(run)


@pytest.mark.parametrize("how", ["fifo", "fd"])
def test_a_run_of_another_system_may_come_through_a_pipe(call: Runner, tmp_path: Path, how: str) -> None:
    with pipes(tmp_path) as piped:
        run = piped((tmp_path / "data" / "good.trec").read_bytes() + b"\n" * 70_000, how)
        done = call(main, *arguments(tmp_path, two(), "--run", f"Somebody's={run}", "--systems", "Some*"))
    assert "Somebody's   1.000        1.000" in done.out, done.err


def test_what_was_measured_is_recorded_and_drift_is_told(call: Runner, tmp_path: Path) -> None:
    path = write_table(tmp_path, two(head="tolerance = 1"))
    options = ["--table", path, "--output", tmp_path / "results"]
    recorded = call(main, *options, "--record")
    assert (recorded.code, recorded.err.splitlines()[-1]) == (0, f"4 figures recorded in {path}")
    text = path.read_text(encoding="utf-8")
    assert 'measured = { "Success@1" = 50.0, "Rprec" = 50.0 }\n' in text
    again = call(main, *options)
    assert (again.code, again.out) == (0, recorded.out)
    rows = json.loads((tmp_path / "results" / "two.json").read_text(encoding="utf-8"))["rows"]
    assert [found["recorded"] for found in rows] == [1.0, 1.0, 0.5, 0.5]
    path.write_text(text.replace("= 50.0, ", "= 51.0, ").replace("= 50.0 }", "= 48.99 }"), encoding="utf-8")
    drifted = call(main, *options)
    assert (drifted.code, drifted.out) == (1, recorded.out)  # the table is there all the same
    assert drifted.err.splitlines()[-2:] == [
        "The half, two, Rprec: recorded 48.99, measured 50, tolerance 1",
        f"error: {path}: 1 of its figures were recorded otherwise, by more than the tolerance; find out why,"
        " or --record the new ones",
    ]
    mended = call(main, *options, "--record", "--systems", "The half")
    assert (mended.code, mended.err.splitlines()[-1]) == (0, f"2 figures recorded in {path}")
    assert path.read_text(encoding="utf-8") == text


def test_runs_of_others_are_neither_compared_nor_recorded(call: Runner, tmp_path: Path) -> None:
    text = two() + 'measured = { "Rprec" = 50 }\n'
    run = f"The half={tmp_path / 'data' / 'good.trec'}"
    done = call(main, *arguments(tmp_path, text, "--run", run))
    assert (done.code, "recorded" in done.err) == (0, False)
    assert_fault(call(main, *arguments(tmp_path, text, "--run", run, "--record")), 2, "--record does not go")


def test_a_baseline_marks_what_differs(call: Runner, tmp_path: Path) -> None:
    text = (
        'title = "Six"\nbaseline = "None"\n[[topics]]\nname = "six"\nmeasures = ["Success@1"]\n'
        + step("none.trec", "none.trec")
        + row("None", 'run = "none.trec"')
        + step("all.trec", "all.trec")
        + row("All", 'run = "all.trec"')
    )
    done = call(main, *arguments(tmp_path, text))
    assert "All     1.000*" in done.out
    assert (tmp_path / "results" / "two" / "six" / "deltas.tsv").is_file()


def test_nothing_to_show_is_an_error(call: Runner, tmp_path: Path) -> None:
    lone = two(needs='needs = ["no_such_package"]').partition('[[row]]\nsystem = "The half"')
    text = (
        lone[0].replace(step("good.trec", "good.trec"), "").replace(row("The good", 'run = "good.trec"'), "")
    )
    text += lone[1] + lone[2]
    done = call(main, *arguments(tmp_path, text))
    assert_fault(done, 1, "two.toml: nothing to show; not made here: The half: no_such")
    assert not (tmp_path / "results" / "two.json").exists()


def test_a_step_that_fails_ends_the_table(call: Runner, tmp_path: Path) -> None:
    text = two().replace("shutil.copy(sys.argv[1], sys.argv[2])", "sys.exit(3)")
    assert_fault(call(main, *arguments(tmp_path, text)), 1, "exit code 3 from: python -c")
    text = two().replace("shutil.copy(sys.argv[1], sys.argv[2])", "print(1)")
    done = call(main, *arguments(tmp_path, text))
    assert_fault(done, 1, "good.trec: not there after the command that makes it")
    assert not (tmp_path / "results" / "two.json").exists()


def test_an_interrupted_table_is_gone_on_with(
    call: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    perform, performed = steps._perform, []

    def interrupted(step: Step, threads: int) -> float:
        if performed:
            raise KeyboardInterrupt
        performed.append(step)
        return perform(step, threads)

    with monkeypatch.context() as patch:
        patch.setattr(steps, "_perform", interrupted)
        assert_fault(call(main, *arguments(tmp_path, two())), 130, "interrupted")
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["two"]  # no table
    done = call(main, *arguments(tmp_path, two()))
    assert done.code == 0
    assert done.err.count("$ python -c") == 1  # the step that had not been performed


def test_faults_are_told_before_anything_is_made(call: Runner, tmp_path: Path) -> None:
    for text, code, told in (
        (two().replace("Rprec", "Rprecision"), 2, "Rprecision"),
        (two() + step("x.trec", "good.trec"), 1, "no row needs"),
        (two(topics='qrels = "six"'), 1, "0 of 2 topics have judgements"),
    ):
        done = call(main, *arguments(tmp_path, text))
        assert_fault(done, code, told)
        assert "$ python" not in done.err
    for more, told in ((["--systems", "Some*"], "no such system"), (["--seed", "-1"], "seed is -1")):
        assert_fault(call(main, *arguments(tmp_path, two(), *more)), 2, told)


def test_damaged_timings_are_told(call: Runner, tmp_path: Path) -> None:
    call(main, *arguments(tmp_path, two()))
    path = tmp_path / "results" / "two" / "steps.json"
    path.write_text("[1]", encoding="utf-8")
    assert_fault(call(main, *arguments(tmp_path, two())), 1, "steps.json: no timings", "remove it")


def test_plots_are_drawn_beside_the_table(call: Runner, tmp_path: Path) -> None:
    text = two().replace('"Rprec"]', '"Success@2"]')
    assert not list((tmp_path / "results").glob("*.png"))
    done = call(main, *arguments(tmp_path, text, "--plots"))
    assert done.code == 0, done.err
    drawn = [tmp_path / "results" / f"two.two.hits{suffix}" for suffix in (".png", ".svg")]
    assert all(path.stat().st_size > 1000 for path in drawn)
    assert done.err.splitlines()[-2:] == list(map(str, drawn))


def test_i9_threads_are_the_default_of_each_command(call: Runner, tmp_path: Path) -> None:
    text = two().replace(COPY, f"{COPY}; import os; print(sys.argv[3], os.environ[sys.argv[3]])")
    text = text.replace('.trec"\nmakes', '.trec OMP_NUM_THREADS"\nmakes')
    done = call(main, *arguments(tmp_path, text, "--threads", 3))
    assert done.code == 0, done.err
    assert done.err.splitlines().count("OMP_NUM_THREADS 3") == 2
    assert_fault(call(main, *arguments(tmp_path, text, "--threads", 0)), 2, "--threads is 0")
