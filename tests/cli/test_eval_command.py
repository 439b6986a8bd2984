"""`python -m seal_ir.eval` as users call it: what it prints where, and how it ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from seal_ir.errors import InputError, SealError, UsageError
from seal_ir.eval.__main__ import main
from tests.helpers.commands import Runner
from tests.helpers.evaluating import run_file, table

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "collections" / "demo"


def eval_command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished command, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "seal_ir.eval", *map(str, arguments)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the demo topics: the judged passage first for two thirds of them, third for the rest."""
    gold = dict(
        line.split()[0:3:2] for line in (DEMO / "qrels.trec").read_text(encoding="utf-8").splitlines()
    )
    lines: list[str] = []
    for number, (qid, docid) in enumerate(gold.items()):
        docids = dict.fromkeys([*(["mount-etna#0", "mount-etna#1"] if number % 3 == 0 else []), docid])
        lines += [f"{qid} Q0 {name} {rank} {-rank} t\n" for rank, name in enumerate(docids, start=1)]
    path = tmp_path_factory.mktemp("demo") / "demo.trec"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_the_demo_by_name(demo_run: Path, tmp_path: Path) -> None:
    output = tmp_path / "table.json"
    done = eval_command(
        *("--run", demo_run, "--topics", "demo", "--input", DEMO / "corpus.jsonl", "--output", output),
        *("--measures", "AnswerAccuracy@1", "AnswerAccuracy@5", "AnswerAccuracy@20", "Success@1"),
        LC_ALL="C",
        PYTHONUTF8="0",
    )
    assert (done.returncode, done.stderr) == (
        0,
        f"{demo_run}: no topic has more than 3 results; AnswerAccuracy@5, AnswerAccuracy@20 look deeper,"
        " where all counts as wrong\n"
        "demo: 102 topics, 102 in run, 0 missing; 102 judged, 102 in run, 0 missing; missing counts as 0;"
        " no run topics unknown\n",
    )
    head, row = (line.split() for line in done.stdout.splitlines()[:2])
    assert head == ["system", "accuracy@1", "accuracy@5", "accuracy@20", "Success@1"]
    assert row[0] == "demo"
    assert row[2:4] == ["1.0000", "1.0000"]
    value = json.loads(output.read_text(encoding="utf-8"))
    assert [f"{figure['value']:.4f}" for figure in value["rows"]] == row[1:]
    assert {figure["n"] for figure in value["rows"]} == {102}


def test_nothing_heavy_is_loaded() -> None:
    code = "import sys, seal_ir.eval.__main__; print({'torch', 'pyserini', 'jnius'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["--qrels", "q", "--measures", "Foo", "Accuracy@5"],
            2,
            "error: --measures: 'Foo': .*AnswerAccuracy@5",
        ),
        (["--qrels", "nowhere.trec"], 1, "error: qrels 'nowhere.trec': no such file"),
        (["--qrels", "q", "--wrong"], 2, "unrecognized arguments: --wrong"),
        ([], 2, "error: nothing to measure against"),
    ],
)
def test_faults_are_one_line_and_have_exit_codes(
    call: Runner, demo_run: Path, arguments: list[str], code: int, message: str
) -> None:
    done = call(main, "--run", demo_run, *arguments)
    assert (done.code, done.out) == (code, "")
    assert re.search(message, done.err.splitlines()[-1])
    assert "Traceback" not in done.err


def test_json_alone_on_stdout(demo_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, err = table(capsys, "--run", demo_run, "--topics", "demo", "--format", "json")
    assert [row["measure"] for row in json.loads(out)["rows"]] == ["Success@1", "Success@10", "Rprec"]
    assert "AnswerAccuracy@k is left out: no --index" in err


def test_default_measures_and_an_index(
    tiny_index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_file(tmp_path, "1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n2 Q0 d5 1 1 t\n")
    answers = run_file(
        tmp_path, '{"qid": "1", "answers": ["thames"]}\n{"qid": "2", "answers": ["MAMMAL"]}', "a"
    )
    qrels = run_file(tmp_path, "1 0 d2 1\n", "q")
    rows, out, _ = table(capsys, "--run", run, "--answers", answers, "--qrels", qrels, "--index", tiny_index)
    assert rows[0][1:] == [
        *("accuracy@1", "accuracy@5", "accuracy@20", "accuracy@100"),
        *("Success@1", "Success@10", "Rprec"),
    ]
    assert rows[1][1:] == ["0.5000", "1.0000", "1.0000", "1.0000", "0.0000", "1.0000", "0.0000"]
    assert "# topics: a, 2 questions" in out


def test_b1_topics_without_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_file(tmp_path, "1 Q0 a 1 1.0 t\n")
    qrels = run_file(tmp_path, "1 0 a 1\n2 0 b 1\n", "q.trec")
    rows, out, err = table(capsys, "--run", run, "--qrels", qrels, "--measures", "Rprec")
    assert rows[1] == ["run", "0.5000"]
    assert "Rprec: over all 2 judged topics" in out
    assert "2 judged, 1 in run, 1 missing" in err


def test_i13_an_empty_run_beside_a_good_one_is_a_row_of_zeros(call: Runner, tmp_path: Path) -> None:
    good, empty = run_file(tmp_path, "1 Q0 a 1 1.0 t\n", "good.trec"), run_file(tmp_path, "", "empty.trec")
    qrels = run_file(tmp_path, "1 0 a 1\n2 0 b 1\n", "q.trec")
    done = call(main, "--run", good, empty, "--qrels", qrels, "--measures", "Rprec", "--baseline", "good")
    assert done.code == 0
    assert [line.split()[:2] for line in done.out.splitlines()[1:3]] == [
        ["good", "0.5000"],
        ["empty", "0.0000"],
    ]
    assert f"{empty}: the run is empty; every topic counts as one without results" in done.err
    assert "check that ids" not in done.err


@pytest.fixture
def partial(tmp_path: Path) -> list[object]:
    """Options of a run with results for topics 1 and 2 of 1 to 4; 3 is judged too, 2 and 4 have no answer."""
    run = run_file(tmp_path, "1 Q0 a 1 1.0 t\n2 Q0 b 1 1.0 t\n", "half.trec")
    topics = run_file(tmp_path, "".join(f"{i}\tq\n" for i in range(1, 5)), "topics.tsv")
    qrels = run_file(tmp_path, "1 0 a 1\n2 0 c 1\n3 0 c 1\n", "q.trec")
    answers = run_file(tmp_path, '{"qid": "1", "answers": ["x"]}\n{"qid": "3", "answers": ["y"]}', "a.jsonl")
    corpus = run_file(tmp_path, '{"id": "a", "contents": "x"}\n{"id": "b", "contents": "x"}\n', "c.jsonl")
    files = ["--topics", topics, "--qrels", qrels, "--answers", answers, "--input", corpus]
    return ["--run", run, *files, "--measures", "AnswerAccuracy@1", "Success@1"]


@pytest.mark.parametrize("option", ["--per-topic", "-q"])
def test_i14_figures_per_topic_of_a_single_run_have_zeros_for_missing_topics(
    partial: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    table(capsys, *partial, option, tmp_path / "topics.out.tsv", "--average", "in-run")
    rows = [line.split("\t") for line in (tmp_path / "topics.out.tsv").read_text("utf-8").splitlines()]
    assert rows[0] == ["topic", "system", "measure", "value"]
    found = {(measure, topic): value for topic, system, measure, value in rows[1:] if system == "half"}
    assert [found["AnswerAccuracy@1", str(i)] for i in range(1, 5)] == ["1.0", "0.0", "0.0", "0.0"]
    assert [found["Success@1", str(i)] for i in range(1, 4)] == ["1.0", "0.0", "0.0"]
    assert len(found) == len(rows) - 1 == 7
    table(capsys, *partial, option, tmp_path / "topics.jsonl")
    lines = (tmp_path / "topics.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[0]) == {
        "topic": "1", "system": "half", "measure": "AnswerAccuracy@1", "value": 1.0,
    }  # fmt: skip
    assert len(lines) == 7
    with pytest.raises(UsageError, match=r"--per-topic .*x\.csv: must end in \.tsv or \.jsonl"):
        main([*map(str, partial), option, str(tmp_path / "x.csv")])


@pytest.mark.parametrize(
    ("average", "head", "row", "note"),
    [
        ("all", ["accuracy@1", "Success@1"], ["0.2500", "0.3333"], "over all 4 topics (2 have answers)"),
        (
            "judged",
            ["accuracy@1 (n=2)", "Success@1 (n=3)"],
            ["0.5000", "0.3333"],
            "the 2 topics with",
        ),
        ("in-run", ["accuracy@1 (n=1)", "Success@1 (n=2)"], ["1.0000", "0.5000"], "that the run has results"),
    ],
)
def test_i14_averages_over_fewer_topics_have_their_denominator_in_the_header(
    partial: list[object],
    capsys: pytest.CaptureFixture[str],
    average: str,
    head: list[str],
    row: list[str],
    note: str,
) -> None:
    rows, out, _ = table(capsys, *partial, "--average", average)
    assert re.split(r"  +", out.splitlines()[0]) == ["system", *head]
    assert rows[1] == ["half", *row]
    assert note in out
    _, out, _ = table(capsys, *partial, "--average", average, "--format", "json")
    value = json.loads(out)
    assert value["average"] == average
    sizes = [int(re.sub(r"\D", "", cell.partition("n=")[2]) or 0) for cell in head]
    assert [figure["n"] for figure in value["rows"]] == (sizes if all(sizes) else [4, 3])


def test_runs_that_are_averaged_over_different_topics_show_each_denominator(
    partial: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = run_file(tmp_path, "1 Q0 a 1 1.0 t\n2 Q0 c 1 1.0 t\n3 Q0 b 1 1.0 t\n", "other.trec")
    arguments = [partial[0], other, *partial[1:], "--average", "in-run"]
    _, out, _ = table(capsys, *arguments)
    head, *rows = (re.split(r"  +", line) for line in out.splitlines()[:3])
    assert head == ["system", "accuracy@1", "Success@1"]
    assert rows == [
        ["other", "0.5000 (n=2)", "0.6667 (n=3)"],
        ["half", "1.0000 (n=1)", "0.5000 (n=2)"],
    ]
    empty = run_file(tmp_path, "", "empty.trec")
    with pytest.raises(UsageError, match="empty has results for no topic that it could be averaged over"):
        main(list(map(str, [partial[0], empty, *partial[1:], "--average", "in-run"])))


def test_b6_regular_expressions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = run_file(tmp_path, '{"id": "a", "contents": "18th of May 1904"}\n', "c.jsonl")
    answers = run_file(
        tmp_path, json.dumps({"qid": "1", "answers": [r"(18th|19th) of May,? 190\d"]}), "a.jsonl"
    )
    run = run_file(tmp_path, "1 Q0 a 1 1.0 t\n")
    arguments = ("--run", run, "--answers", answers, "--input", corpus, "--measures", "AnswerAccuracy@1")
    assert table(capsys, *arguments)[0][1] == ["run", "0.0000"]
    rows, out, _ = table(capsys, *arguments, "--regex")
    assert rows[1] == ["run", "1.0000"]
    assert "regular expressions" in out
    answers.write_text(json.dumps({"qid": "1", "answers": ["(18"]}), encoding="utf-8")
    with pytest.raises(InputError, match=r"topic '1': answer '\(18' is no regular expression"):
        main([str(argument) for argument in (*arguments, "--regex")])


@pytest.mark.parametrize("regex", [True, False])
def test_i4_answers_that_match_any_text_or_none_are_left_out_with_a_warning(
    call: Runner, tmp_path: Path, regex: bool
) -> None:
    corpus = run_file(tmp_path, '{"id": "a", "contents": "some words here"}\n', "c.jsonl")
    given = {"1": ["zzz", " "], "2": ["\u200b", "\ufeff"], "3": ["words"]}
    if regex:
        given["1"] += ["zzz|"]
    lines = [json.dumps({"qid": qid, "answers": values}) for qid, values in given.items()]
    answers = run_file(tmp_path, "\n".join(lines), "a.jsonl")
    run = run_file(tmp_path, "".join(f"{qid} Q0 a 1 1.0 t\n" for qid in given))
    arguments = ("--run", run, "--answers", answers, "--input", corpus, "--measures", "AnswerAccuracy@1")
    done = call(main, *arguments, *(["--regex"] if regex else []))
    assert done.code == 0
    assert done.out.splitlines()[1].split() == ["run", "0.3333"]
    assert "over all 3 topics (2 have answers)" in done.out
    n_left_out = 4 if regex else 3
    assert done.err.splitlines()[:2] == [
        f"{answers}: {n_left_out} answers of 2 topics match any text or none, and were left out: topics 1, 2",
        f"{answers}: 1 of 3 topics have no answer to look for: topics 2",
    ]


def test_b7_pages(call: Runner, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_file(tmp_path, "1 Q0 12#1 1 3 t\n1 Q0 12#5 2 2 t\n1 Q0 34#2 3 1 t\n")
    qrels = run_file(tmp_path, "1 0 12 1\n1 0 34 1\n", "q.trec")
    arguments = ("--run", run, "--qrels", qrels, "--measures", "Rprec")
    rows, out, err = table(capsys, *arguments, "--max-passage")
    assert rows[1] == ["run", "1.0000"]
    assert "page level, ids cut at '#'" in out
    assert "no relevant document" not in err
    rows, out, _ = table(capsys, *arguments)
    assert rows[1] == ["run", "0.0000"]
    assert "passage level" in out
    assert "run: no relevant document is in it; check that ids" in call(main, *arguments).err


def test_a16_any_white_space(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_file(tmp_path, "1\tQ0\ta\t1\t2.0\tt\r\n1  Q0  b 2   1.0 t\r\n")
    qrels = run_file(tmp_path, "1\t0\tb\t1\r\n1   0 a  0\r\n", "q.trec")
    rows, _, _ = table(capsys, "--run", run, "--qrels", qrels, "--measures", "RR")
    assert rows[1] == ["run", "0.5000"]


@pytest.mark.parametrize(
    ("run_text", "qrels_text", "message"),
    [
        ("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1\n", "1 0 a 1\n", r"run\.trec:3: 5 columns"),  # A17
        ("1 Q0 a 1 1 t\n", "1 0 a 0.5\n", r"q\.trec:1: grade is '0\.5'; grades are integers only"),  # A18
        (
            "1 Q0 a 1 1 t\n2 Q0 a 1 1 t\n",
            "1.0 0 a 1\n2.0 0 a 1\n",
            r"0 of 2 judged topics in run .*'1\.0'.*'1'",
        ),
        ("1 Q0 a 1 2 t\n1 Q0 a 2 1 t\n", "1 0 a 1\n", r"run\.trec:2: document 'a' comes twice"),  # B10
    ],
    ids=["a17", "a18", "a19", "b10"],
)
def test_files_that_are_refused(tmp_path: Path, run_text: str, qrels_text: str, message: str) -> None:
    run, qrels = run_file(tmp_path, run_text), run_file(tmp_path, qrels_text, "q.trec")
    output = tmp_path / "table.json"
    with pytest.raises(InputError, match=message):
        main(["--run", str(run), "--qrels", str(qrels), "--output", str(output)])
    assert not output.exists()


def test_a19_partial_overlap_is_measured_and_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_file(tmp_path, "1 Q0 a 1 1 t\n7 Q0 a 1 1 t\n")
    qrels = run_file(tmp_path, "1 0 a 1\n2 0 a 1\n", "q.trec")
    rows, _, err = table(capsys, "--run", run, "--qrels", qrels, "--measures", "P@1")
    assert rows[1] == ["run", "0.5000"]
    assert "1 run topics unknown" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--topics", "demo", "--index", "a", "--input", "b"], "--index or --input, not both"),
        (["--topics", "demo", "--measures", "AnswerAccuracy@5"], "needs the passages"),
        (["--answers", "demo"], "needs the passages"),
        (["--qrels", "demo", "--measures", "AnswerAccuracy@5"], "needs answers"),
        (["--answers", "demo", "--measures", "P@1"], "needs judgements"),
        (["--topics", str(DEMO / "topics.tsv")], "nothing to measure"),
        (["--topics", "demo", "--max-passage", "--measures", "AnswerAccuracy@1"], "leave out --max-passage"),
        (["--topics", "demo", "--max-passage-delimiter", ""], "delimiter is empty"),
        (["--topics", "demo", "--input", str(DEMO), "--collection", "Foo"], "unknown collection 'Foo'"),
    ],
)
def test_options_that_do_not_go_together(demo_run: Path, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        main(["--run", str(demo_run), *arguments])


def test_a_wrong_index_is_told(demo_run: Path, tiny_index: Path) -> None:
    with pytest.raises(SealError, match=r"\d+ of \d+ passages in the runs, such as .*, are not in the index"):
        main(["--run", str(demo_run), "--topics", "demo", "--index", str(tiny_index)])
