"""Figures by overlap with training questions, on invented annotations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seal_ir.convert.__main__ import main as formats
from seal_ir.convert.overlap import overlap_splits, read_overlap
from seal_ir.errors import InputError, UsageError
from seal_ir.eval.__main__ import main

LABELS = {
    0: ["question_overlap", "answer_overlap"],
    1: ["no_question_overlap", "answer_overlap", "answer_overlap_only"],
    2: ["no_question_overlap", "no_answer_overlap"],
    3: ["no_answer_overlap"],  # its question was not looked at
    4: [],
    99: ["question_overlap", "answer_overlap"],  # not of the topics
}


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    path = tmp_path / "nq-annotations.jsonl"
    lines = [json.dumps({"labels": labels, "id": number}) for number, labels in LABELS.items()]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A run with the judged document first for topics 0 and 2, second for 1; topic 3 has no results."""
    run, qrels = tmp_path / "seal.trec", tmp_path / "qrels.trec"
    ranked = {0: "ax", 1: "xa", 2: "ax", 4: "xy"}
    lines = [
        f"{qid} Q0 {docid} 1 {-i} t\n" for qid, docids in ranked.items() for i, docid in enumerate(docids)
    ]
    run.write_text("".join(lines), encoding="utf-8")
    qrels.write_text("".join(f"{qid} 0 a 1\n" for qid in range(5)), encoding="utf-8")
    return ["--run", str(run), "--qrels", str(qrels), "--measures", "Success@1", "Success@2"]


def test_each_label_and_its_opposite(
    annotations: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "table.json"
    assert main([*files, "--overlap", str(annotations), "--output", str(output)]) == 0
    whole, parts = capsys.readouterr().out.split("\n\n")
    assert whole.splitlines()[1].split() == ["seal", "0.4000", "0.6000"]
    assert [line.rsplit(maxsplit=4) for line in parts.splitlines()] == [
        ["topics", "system", "n", "Success@1", "Success@2"],
        ["answer overlap", "seal", "2", "0.5000", "1.0000"],
        ["no answer overlap", "seal", "2", "0.5000", "0.5000"],
        ["question overlap", "seal", "1", "1.0000", "1.0000"],
        ["no question overlap", "seal", "2", "0.5000", "1.0000"],
        ["answer overlap only", "seal", "1", "0.0000", "1.0000"],
        ["no overlap", "seal", "1", "1.0000", "1.0000"],
    ]
    rows = json.loads(output.read_text(encoding="utf-8"))["rows"]
    assert len(rows) == 2 * 7
    found = {(row["topics"], row["measure"]): (row["value"], row["n"]) for row in rows}
    assert found["qrels.trec: no answer overlap", "Success@1"] == (0.5, 2)
    assert found["qrels.trec", "Success@1"] == (0.4, 5)
    assert all(low <= row["value"] <= high for row in rows for low, high in [row["ci"]])


def test_markdown_and_comparisons_go_along(
    annotations: Path, files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.trec"
    other.write_text("0 Q0 x 1 1 t\n", encoding="utf-8")
    run, qrels = files[1], files[3]
    options = ["--overlap", str(annotations), "--format", "markdown", "--baseline", "other"]
    assert main(["--run", run, str(other), "--qrels", qrels, "--measures", "Success@1", *options]) == 0
    out = capsys.readouterr().out
    assert "| question overlap | seal | 1 | 1.0000 |\n| question overlap | other | 1 | 0.0000 |\n" in out
    assert out.count("less other") == 1


def test_a_part_without_topics_is_left_out(
    annotations: Path, files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    annotations.write_text('{"id": 0, "labels": ["answer_overlap"]}\n', encoding="utf-8")
    assert main([*files, "--overlap", str(annotations)]) == 0
    parts = capsys.readouterr().out.split("\n\n")[1]
    assert [line.split("  ")[0] for line in parts.splitlines()] == ["topics", "answer overlap"]


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ('{"labels": []}', 'no "id"; every annotation needs one'),
        ('{"id": 1}', '"labels" is None; it must be a list'),
        ('{"id": 1, "labels": "answer_overlap"}', "\"labels\" is 'answer_overlap'"),
        ('{"id": 1, "labels": ["overlap"]}', "label 'overlap' is unknown; the labels are answer_overlap,"),
        ('{"id": 1, "labels": [["answer_overlap"]]}', "is unknown"),
        ('{"id": 1, "labels": ["answer_overlap", "no_answer_overlap"]}', "contradict each other"),
        ("[]", "a JSON object is needed"),
        ("{", "not JSON"),
    ],
)
def test_faults_are_one_line(tmp_path: Path, record: str, part: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"\n{record}\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_overlap(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_a_question_twice_and_foreign_ids_are_refused(tmp_path: Path, files: list[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 7, "labels": []}\n{"id": "7", "labels": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.jsonl:2: topic '7' comes twice"):
        main([*files, "--overlap", str(path)])
    path.write_text('{"id": "nq-0", "labels": []}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"0 of 5 topics .* like '0', these like 'nq-0'\); the ids"):
        main([*files, "--overlap", str(path)])
    path.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"'0', the file is blank\); the ids must be equal$"):
        main([*files, "--overlap", str(path)])


def test_lists_of_topics(annotations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The files that eval/nq.toml names."""
    assert (
        formats(["overlap", "--input", str(annotations), "--output", str(tmp_path / "overlap" / "nq-test")])
        == 0
    )
    assert capsys.readouterr().err == (
        "6 questions: answer overlap 3, no answer overlap 2, question overlap 2, no question overlap 2,"
        " answer overlap only 1, no overlap 1\n"
    )
    lists = {path.name: path.read_text(encoding="utf-8").split() for path in (tmp_path / "overlap").iterdir()}
    assert lists == {
        f"nq-test.{label.replace('_', '-')}.ids.txt": qids
        for label, qids in overlap_splits(read_overlap(annotations), map(str, LABELS)).items()
    }
    assert lists["nq-test.question-overlap.ids.txt"] == ["0", "99"]
    with pytest.raises(UsageError, match="cannot be written"):
        formats(["overlap", "--input", str(annotations), "--output", str(annotations / "x")])
