"""Options of `python -m seal_ir.eval`: what each does, what is measured without, what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.eval.__main__ import main
from seal_ir.formats.collections.collection import collection_kinds
from tests.helpers.commands import Runner
from tests.helpers.evaluating import table

KILT = [
    {"id": qid, "input": "?", "output": [{"answer": text, "provenance": [{"wikipedia_id": page}]}]}
    for qid, text, page in (("1", "yes", "a#1"), ("2", "no", "b#2"))
]
QUESTIONS = {"1": "who is it", "2": "where is it"}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two topics with all that belongs to them, and runs of every kind, in the working directory."""
    monkeypatch.chdir(tmp_path)
    passages = {"a#1": "yes it is", "a#2": "maybe", "b#2": "and no"}
    for name, records in {
        "gold.jsonl": KILT,
        "kilt.jsonl": KILT,
        "answers.jsonl": [{"qid": "1", "answers": ["yes"]}, {"qid": "2", "answers": ["no"]}],
        "said.jsonl": [{"qid": "1", "answer": "yes"}, {"qid": "2", "answer": "yes"}],
        "corpus.jsonl": [{"id": docid, "contents": text} for docid, text in passages.items()],
        "own.jsonl": [
            {"id": qid, "question": text, "ctxs": [{"id": f"x{qid}", "text": "yes", "score": 1}]}
            for qid, text in QUESTIONS.items()
        ],
    }.items():
        Path(name).write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    Path("topics.tsv").write_text("".join(f"{qid}\t{text}\n" for qid, text in QUESTIONS.items()))
    Path("run.trec").write_text("1 Q0 a#2 1 3 t\n1 Q0 a#1 2 2 t\n2 Q0 b#2 1 1 t\n")
    Path("other.trec").write_text("1 Q0 a#1 1 3 t\n2 Q0 a#2 1 1 t\n")
    Path("qrels.trec").write_text("1 0 a#1 1\n2 0 b#2 1\n")


ACCURACY = ["accuracy@1", "accuracy@5", "accuracy@20", "accuracy@100"]
HITS = ["Success@1", "Success@10", "Rprec"]
WRITTEN = ["EM", "F1"]
PASSAGES = ["--input", "corpus.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "measures"),
    [
        ("--run run.trec --qrels qrels.trec", HITS),
        ("--run run.trec --answers answers.jsonl --input corpus.jsonl", ACCURACY),
        ("--run run.trec --answers answers.jsonl --qrels qrels.trec --input corpus.jsonl", ACCURACY + HITS),
        ("--run run.trec --answers answers.jsonl --qrels qrels.trec --max-passage", HITS),
        ("--run own.jsonl --qrels qrels.trec", HITS),
        ("--run own.jsonl --answers answers.jsonl --qrels qrels.trec --max-passage", HITS),
        ("--run own.jsonl --answers answers.jsonl", ACCURACY),  # it brings its texts
        ("--run own.jsonl --topics topics.tsv --answers answers.jsonl", ACCURACY),
        ("--run run.trec --predictions said.jsonl --answers answers.jsonl", WRITTEN),
        (
            "--run run.trec --predictions said.jsonl --answers answers.jsonl --qrels qrels.trec",
            HITS + WRITTEN,
        ),
        (
            "--run run.trec --predictions said.jsonl --answers answers.jsonl --input corpus.jsonl",
            ACCURACY + WRITTEN,
        ),
        ("--predictions said.jsonl --answers answers.jsonl --qrels qrels.trec", WRITTEN),
    ],
)
def test_what_is_measured_unless_it_is_said(
    capsys: pytest.CaptureFixture[str], arguments: str, measures: list[str]
) -> None:
    rows, _, _ = table(capsys, *arguments.split())
    assert rows[0] == ["system", *measures]


NO_TEXTS = "AnswerAccuracy@k is left out: no --index and no --input to read passages from\n"


@pytest.mark.parametrize(
    ("arguments", "is_told"),
    [
        ("--qrels qrels.trec", True),
        ("--qrels qrels.trec --measures P@1", False),
        ("--qrels qrels.trec --max-passage", False),
        ("--qrels qrels.trec --answers answers.jsonl --input corpus.jsonl", False),
    ],
)
def test_accuracy_that_is_left_out_is_told(
    capsys: pytest.CaptureFixture[str], arguments: str, is_told: bool
) -> None:
    _, _, err = table(capsys, "--run", "run.trec", *arguments.split())
    assert err.endswith(f"no run topics unknown\n{NO_TEXTS if is_told else ''}")
    assert NO_TEXTS not in table(capsys, "--predictions", "said.jsonl", "--answers", "answers.jsonl")[2]


def test_coverage_of_each_run_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = table(capsys, "--run", "run.trec", "other.trec", "--qrels", "qrels.trec", "--measures", "AP")
    covered = "2 topics, 2 in run, 0 missing; 2 judged, 2 in run, 0 missing; missing counts as 0"
    assert err == f"run: {covered}; no run topics unknown\nother: {covered}; no run topics unknown\n"


def test_figures_go_to_a_file_or_to_stdout_and_the_table_then_to_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["--run", "run.trec", "--qrels", "qrels.trec", "--measures", "P@1"]
    _, out, err = table(capsys, *asked, "--output", "-")
    assert json.loads(out)["rows"][0]["value"] == 0.5
    assert "\nsystem     P@1\nrun     0.5000\n# topics: qrels.trec, 2 questions\n" in err
    _, out, _ = table(capsys, *asked, "--output", "figures.json", "--format", "markdown")
    assert out.startswith("| system | P@1 |\n")
    written = json.loads(Path("figures.json").read_text(encoding="utf-8"))
    assert (written["rows"][0]["value"], len(written["rows"][0]["ci"])) == (0.5, 2)
    _, out, _ = table(capsys, *asked, "--format", "json")
    assert json.loads(out) == written
    assert "statistics" not in table(capsys, *asked)[1]


def test_what_is_drawn_follows_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [
        "--run",
        "run.trec",
        "other.trec",
        "--qrels",
        "qrels.trec",
        "--measures",
        "P@1",
        "--format",
        "json",
    ]
    _, out, _ = table(capsys, *asked, "--baseline", "other", "--permutations", "77", "--seed", "5")
    value = json.loads(out)
    assert value["statistics"] == {"permutations": 77, "resamples": 10_000, "level": 0.95, "seed": 5}
    assert [(found["system"], found["baseline"]) for found in value["comparisons"]] == [("run", "other")]
    _, out, _ = table(capsys, *asked)
    assert json.loads(out)["statistics"] == {
        "permutations": 10_000,
        "resamples": 10_000,
        "level": 0.95,
        "seed": 0,
    }
    assert json.loads(out)["comparisons"] == []


def test_pages_end_at_the_delimiter(capsys: pytest.CaptureFixture[str]) -> None:
    Path("run.trec").write_text("1 Q0 a/9 1 3 t\n2 Q0 x/b 1 1 t\n")
    Path("qrels.trec").write_text("1 0 a/1 1\n2 0 b/2 1\n")
    asked = ["--run", "run.trec", "--qrels", "qrels.trec", "--measures", "P@1"]
    rows, out, _ = table(capsys, *asked, "--max-passage", "--max-passage-delimiter", "/")
    assert rows[1] == ["run", "0.5000"]
    assert "page level, ids cut at '/'" in out
    assert "passage level" in table(capsys, *asked, "--max-passage-delimiter", "/")[1]


def test_collections_of_other_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    Path("corpus.tsv").write_text("id\ttext\ttitle\na#1\tyes\tT\na#2\tmaybe\tT\nb#2\tand no\tT\n")
    asked = ["--run", "run.trec", "--answers", "answers.jsonl", "--measures", "AnswerAccuracy@1"]
    for collection, path in (("DprTsvCollection", "corpus.tsv"), ("JsonCollection", "corpus.jsonl")):
        rows, _, _ = table(capsys, *asked, "--input", path, "--collection", collection)
        assert rows[1] == ["run", "0.5000"]
    assert table(capsys, *asked, *PASSAGES)[0][1] == ["run", "0.5000"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--topics topics.tsv",
            "nothing to measure; name one or more files with --run, --predictions or both",
        ),
        (
            "--run run.trec other.trec --predictions said.jsonl --answers answers.jsonl",
            "--predictions names 1 files and --run 2; give one a run, in the same order",
        ),
        ("--run run.trec", "nothing to measure against; give --topics, --qrels or --answers"),
        (
            "--run run.trec --answers answers.jsonl --index x --input corpus.jsonl",
            "give --index or --input, not both: passages come from one of them",
        ),
        (
            "--run run.trec --qrels qrels.trec --max-passage-delimiter=",
            "--max-passage-delimiter is empty; give one or more characters, such as '#'",
        ),
        (
            "--run run.trec --qrels qrels.trec --training topics.tsv",
            "--training compares questions; name those of the runs with --topics",
        ),
        (
            "--run run.trec --qrels qrels.trec --min-judged 1.01",
            "--min-judged is 1.01; it is a share, at most 1",
        ),
        (
            "--run run.trec --qrels qrels.trec --min-judged -0.01",
            "--min-judged is -0.01; it must be at least 0",
        ),
        (
            "--run run.trec other.trec --qrels qrels.trec --deltas d.tsv",
            "--deltas are differences from a run; name it with --baseline",
        ),
        (
            "--run run.trec other.trec --qrels qrels.trec --baseline run --deltas d.csv",
            "--deltas d.csv: must end in .tsv or .jsonl",
        ),
        ("--run run.trec --qrels qrels.trec -q d.csv", "--per-topic d.csv: must end in .tsv or .jsonl"),
        (
            "--run run.trec --qrels qrels.trec --baseline run",
            "--baseline needs other runs to compare it with; name them with --run",
        ),
        (
            "--run own.jsonl --qrels qrels.trec --max-passage --measures AnswerAccuracy@1",
            "AnswerAccuracy@1 looks for answers in passages; leave out --max-passage",
        ),
        (
            "--run run.trec --topics topics.tsv",
            "nothing to measure: these topics have no judgements, and no answers with passages to look in;"
            " give --qrels, or --answers with --index",
        ),
        (
            "--run run.trec --answers answers.jsonl",
            "AnswerAccuracy@k needs the passages; name them with --index, or with --collection and --input",
        ),
        (
            "--run own.jsonl run.trec --answers answers.jsonl",
            "AnswerAccuracy@k needs the passages; name them with --index, or with --collection and --input",
        ),
        (
            "--run run.trec --answers answers.jsonl --input corpus.jsonl --max-passage --measures"
            " AnswerAccuracy@1",
            "AnswerAccuracy@1 looks for answers in passages; leave out --max-passage",
        ),
        (
            "--run run.trec --qrels qrels.trec --measures AnswerAccuracy@1",
            "AnswerAccuracy@1 needs answers; name them with --answers",
        ),
        (
            "--run run.trec --answers answers.jsonl --measures P@1",
            "P@1 needs judgements; name them with --qrels",
        ),
        (
            "--run run.trec --qrels qrels.trec --measures KiltP@1",
            "KiltP@1 needs KILT's gold file, with its sets of pages, as --qrels",
        ),
        (
            "--run run.trec --predictions said.jsonl --qrels qrels.trec --measures P@1 EM",
            "EM needs answers; name them with --answers",
        ),
    ],
)
def test_what_is_refused_is_one_line(call: Runner, arguments: str, message: str) -> None:
    done = call(main, *arguments.split())
    assert (done.code, done.out, done.err.splitlines()[-1]) == (2, "", f"error: {message}")


HELP = """
Measure runs and written answers over all topics.

options:
-h, --help show this help message and exit
--version show the version and exit
--run RUN [RUN ...] one or more runs, whosever they are; one row each
--predictions FILE [FILE ...] answers that the systems wrote: one file a run, in the runs' order, or files
  without runs
--topics TOPICS file or name, such as nq-test or demo; what is measured on
--qrels QRELS judgements: file or name of topics; default: those that belong to --topics
--answers ANSWERS answers: file or name of topics; default: those that belong to --topics
--measures MEASURES [MEASURES ...] ir_measures' names (Success@1 Rprec nDCG@10), trec_eval's
  (map ndcg_cut.10), AnswerAccuracy@k, KILT's (KiltRprec KiltEM), of written answers EM F1 RougeL AC;
  default: AnswerAccuracy@1 AnswerAccuracy@5 AnswerAccuracy@20 AnswerAccuracy@100 with answers,
  Success@1 Success@10 Rprec with judgements, EM F1 with --predictions

where passages are, for answers:
--index INDEX index that was searched, ours (directory or name) or Lucene's, for AnswerAccuracy@k
--collection COLLECTION of --input: KINDS (JsonCollection)
--input INPUT collection that was searched, instead of --index: file or folder

how to measure:
--regex answers are regular expressions
--max-passage fold passages into pages, then measure
--max-passage-delimiter MAX_PASSAGE_DELIMITER what ends the page in a passage's id (#)
--overlap OVERLAP also measure by overlap with training questions: their annotations

what makes figures doubtful:
--strict refuse what is else a warning: exit 1, and write nothing
--training FILE [FILE ...] warn of --topics that are questions here
--min-judged SHARE warn of a top k of which a smaller share is judged, 0 to 1; default: 0.5 where judgements
  say as often what is not relevant, else 0

comparing runs:
--baseline BASELINE also compare the other runs with this one: its name in the table, or its path
--deltas DELTAS with --baseline: write each topic's differences, as .tsv or .jsonl
-q, --per-topic FILE write each topic's figures, as .tsv or .jsonl; topics without results have zeros
--average {all,judged,in-run} figures are over all topics, or leave out those without answers (judged), or
  also those that the run lacks (in-run, as trec_eval without -c) (all)
--permutations PERMUTATIONS of the randomisation test (10000)
--seed SEED of all that is drawn (0)

writing:
--format {text,markdown,json} of the table on stdout (text)
--output OUTPUT also write the figures as JSON, unrounded; - for stdout
"""


def test_the_help(call: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    done = call(main, "--help")
    usage, shown = done.out.split("\n\n", 1)
    shown = shown.replace("-q FILE, --per", "-q, --per")  # as Python 3.13 has it
    assert shown.split() == HELP.replace("KINDS", ", ".join(collection_kinds())).split()
    assert usage.startswith("usage: python -m seal_ir.eval [-h]")


@pytest.mark.parametrize("option", ["--format", "--average"])
def test_words_that_an_option_does_not_know(call: Runner, option: str) -> None:
    done = call(main, "--run", "run.trec", "--qrels", "qrels.trec", option, "xml")
    assert (done.code, done.out) == (2, "")
    assert f"argument {option}: invalid choice: 'xml'" in done.err.splitlines()[-1]


@pytest.mark.parametrize("share", ["0", "1"])
def test_shares_that_can_be(capsys: pytest.CaptureFixture[str], share: str) -> None:
    asked = ["--run", "run.trec", "--qrels", "qrels.trec", "--measures", "P@1", "--min-judged", share]
    assert table(capsys, *asked)[0][1] == ["run", "0.5000"]
