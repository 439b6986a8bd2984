"""`python -m seal_ir.eval` on answers that systems wrote: alone, beside runs, inside KILT's datapoints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from seal_ir.errors import InputError, SealError, UsageError
from seal_ir.eval.__main__ import main

GOLD = [
    {"id": "1", "input": "?", "output": [{"answer": "Mont Blanc", "provenance": [{"wikipedia_id": "12"}]}]},
    {"id": "2", "input": "?", "output": [{"answer": "1786"}, {"provenance": [{"wikipedia_id": "34"}]}]},
    {"id": "3", "input": "?", "output": [{"answer": "yes", "provenance": [{"wikipedia_id": "56"}]}]},
]
RUN = "1 Q0 12 1 2 t\n1 Q0 34 2 1 t\n2 Q0 12 1 1 t\n3 Q0 56 1 1 t\n"
ANSWERS = {"1": "the Mont Blanc", "2": "1786", "3": "no, yes"}
Command = Callable[..., list[list[str]]]


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def answered(path: Path, answers: dict[str, str]) -> Path:
    return lines(path, *({"qid": qid, "question": "?", "answer": text} for qid, text in answers.items()))


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """The table's rows as cells, its header first; run where the files are."""
    monkeypatch.chdir(tmp_path)
    lines(Path("gold.jsonl"), *GOLD)
    Path("run.trec").write_text(RUN, encoding="utf-8")
    answered(Path("answers.jsonl"), ANSWERS)

    def call(*arguments: str) -> list[list[str]]:
        assert main(list(arguments)) == 0
        printed = capsys.readouterr().out.split("\n\n")[0].splitlines()
        return [line.split() for line in printed if not line.startswith("#")]

    return call


def test_predictions_alone(command: Command) -> None:
    """Exact match and F1 are what is measured unless something is asked for."""
    assert command("--predictions", "answers.jsonl", "--answers", "gold.jsonl") == [
        ["system", "EM", "F1"],
        ["answers", "0.6667", "0.8889"],
    ]


def test_predictions_beside_a_run_and_inside_datapoints(command: Command) -> None:
    """A run with its predictions has the figures of the same things written as KILT's datapoints."""
    pages = {"1": ["12", "34"], "2": ["12"], "3": ["56"]}
    lines(
        Path("both.jsonl"),
        *(
            {
                "id": qid,
                "input": "?",
                "output": [{"answer": text, "provenance": [{"wikipedia_id": page} for page in pages[qid]]}],
            }
            for qid, text in ANSWERS.items()
        ),
    )
    asked = ["--answers", "gold.jsonl", "--qrels", "gold.jsonl", "--measures", "KiltRprec", "EM", "KiltEM"]
    head = ["system", "KiltRprec", "EM", "KILT-EM"]
    expected = ["0.6667", "0.6667", "0.3333"]
    assert command("--run", "run.trec", "--predictions", "answers.jsonl", *asked) == [
        head,
        ["run", *expected],
    ]
    assert command("--run", "both.jsonl", *asked) == [head, ["both", *expected]]


def test_several_systems_are_compared(command: Command) -> None:
    answered(Path("worse.jsonl"), {"1": "Etna", "2": "1786"})
    rows = command(
        *("--predictions", "answers.jsonl", "worse.jsonl", "--answers", "gold.jsonl", "--measures", "EM"),
        *("--baseline", "answers", "--per-topic", "topics.tsv"),
    )
    assert rows[1:] == [["answers", "0.6667"], ["worse", "0.3333"]]
    topics = Path("topics.tsv").read_text(encoding="utf-8").splitlines()
    assert topics[1:] == [
        *("1\tanswers\tEM\t1.0", "2\tanswers\tEM\t1.0", "3\tanswers\tEM\t0.0"),
        *("1\tworse\tEM\t0.0", "2\tworse\tEM\t1.0", "3\tworse\tEM\t0.0"),
    ]


def test_missing_answers_count_as_zero_and_are_told(
    command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    answered(Path("few.jsonl"), {"1": "Mont Blanc", "2": " "})
    rows = command("--predictions", "few.jsonl", "--answers", "gold.jsonl", "--measures", "AC")
    assert rows[1] == ["few", "0.3333"]
    assert "few.jsonl: 2 of 3 topics have no answer, and count as 0: topics 2, 3" in caplog.text


def test_topics_without_gold_answers_count_as_zero_and_are_told(
    command: Command, caplog: pytest.LogCaptureFixture
) -> None:
    lines(Path("gold.jsonl"), *GOLD, {"id": "4", "output": [{"answer": " "}, {}]})
    answered(Path("answers.jsonl"), {**ANSWERS, "4": "x"})
    asked = ["--predictions", "answers.jsonl", "--answers", "gold.jsonl", "--measures", "EM"]
    assert command(*asked)[1] == ["answers", "0.5000"]
    assert "gold.jsonl: 1 of 4 topics have no answer to compare with, and count as 0: topics 4" in caplog.text
    assert command(*asked, "--average", "judged")[1] == ["answers", "0.6667"]


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ("--answers gold.jsonl", UsageError, "nothing to measure; name one or more files with --run"),
        (
            "--run run.trec run.trec --predictions answers.jsonl --answers gold.jsonl",
            UsageError,
            "--predictions names 1 files and --run 2",
        ),
        (
            "--run run.trec --answers gold.jsonl --measures EM",
            UsageError,
            "run.trec: a run without answers, which EM needs; give --predictions",
        ),
        (
            "--run answers.jsonl --qrels gold.jsonl --measures KiltRprec",
            UsageError,
            "answers.jsonl: answers without a ranking, which KiltRprec needs",
        ),
        (
            "--predictions answers.jsonl --answers gold.jsonl --qrels gold.jsonl --measures EM KiltEM",
            UsageError,
            "answers.jsonl: answers without a ranking, which KiltEM needs",
        ),
        (
            "--run run.trec --predictions answers.jsonl --answers gold.jsonl --measures KiltF1",
            UsageError,
            "KiltF1 needs judgements",
        ),
        (
            "--run run.trec --predictions answers.jsonl --qrels gold.jsonl --measures EM",
            UsageError,
            "EM needs answers; name them with --answers",
        ),
        (
            "--run run.trec --predictions answers.jsonl --answers gold.jsonl --qrels qrels.trec"
            " --measures KiltAC",
            UsageError,
            "KiltAC needs KILT's gold file",
        ),
        (
            "--predictions other.jsonl --answers gold.jsonl",
            InputError,
            "other.jsonl: 0 of 3 topics have an answer here",
        ),
        (
            "--predictions number.jsonl --answers gold.jsonl",
            InputError,
            "number.jsonl:2: topic 'b': \"answer\" is 5; it must be a string",
        ),
        (
            "--predictions none.jsonl --answers gold.jsonl",
            InputError,
            "none.jsonl:1: topic '1': no \"answer\"; it must be a string",
        ),
        ("--predictions run.trec --answers gold.jsonl", InputError, "run.trec:1: not JSON"),
        (
            "--predictions answers.jsonl --answers test.jsonl",
            InputError,
            "test.jsonl: no topic has an answer",
        ),
    ],
)
def test_what_is_refused(command: Command, arguments: str, kind: type[SealError], message: str) -> None:
    Path("qrels.trec").write_text("1 0 12 1\n", encoding="utf-8")
    answered(Path("other.jsonl"), {"x": "y"})
    lines(Path("number.jsonl"), {"qid": "1", "answer": "x"}, {"qid": "b", "answer": 5})
    lines(Path("none.jsonl"), {"qid": "1", "question": "?"})
    lines(Path("test.jsonl"), {"id": "1", "input": "?"})
    with pytest.raises(kind) as told:
        command(*arguments.split())
    assert message in str(told.value)
    assert "\n" not in str(told.value)
