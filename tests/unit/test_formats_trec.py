"""Runs and qrels."""

import bz2
import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.runs.trec import RunWriter, read_qrels, read_run, strictly_decreasing, trec_order
from seal_ir.records import Hit


def write(path: Path, content: str) -> Path:
    path.write_bytes(content.encode())
    return path


def refusal(read: object, path: Path) -> str:
    with pytest.raises(InputError) as error:
        read(path)  # type: ignore[operator]
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".zst", zstandard.ZstdCompressor().compress)],
)
def test_a11_compressed_runs_and_qrels(tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / f"run{suffix}").write_bytes(pack(b"1 Q0 a 1 2.5 t\n"))
    (tmp_path / "qrels").write_bytes(pack(b"1 0 a 1\n"))
    assert read_run(tmp_path / f"run{suffix}") == {"1": [("a", 2.5)]}
    assert read_qrels(tmp_path / "qrels") == {"1": {"a": 1}}


def test_a12_a13_a15_ids_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "run"
    hits = [Hit("Report,_1992", 2.0), Hit("Ab-3", 1.0), Hit("12-3-4#1", 0.5)]
    with RunWriter(path, tag="t") as writer:
        for qid in ("30_1", "1e3", "٣", "q123", "5a8b57f2"):
            writer.write(qid, hits)
    assert list(read_run(path)) == ["30_1", "1e3", "٣", "q123", "5a8b57f2"]
    assert path.read_bytes().split(b"\n")[0] == b"30_1 Q0 Report,_1992 1 2.000000 t"


@pytest.mark.parametrize("docid", ["My Doc", "", "a\tb", "a\u2028b"])
def test_a15_white_space_never_reaches_a_run(tmp_path: Path, docid: str) -> None:
    with pytest.raises(ValueError, match="white space"), RunWriter(tmp_path / "run", tag="t") as writer:
        writer.write("1", [Hit(docid, 1.0)])
    with pytest.raises(ValueError, match="white space"), RunWriter(tmp_path / "run", tag="t") as writer:
        writer.write(docid, [])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("gap", ["\t", " ", "   ", " \t "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a16_any_white_space(tmp_path: Path, gap: str, end: str) -> None:
    run = write(tmp_path / "run", gap.join(("1", "Q0", "a", "1", "-0.3", "t")) + end)
    qrels = write(tmp_path / "qrels", gap.join(("1", "0", "a", "1")) + end)
    assert read_run(run) == {"1": [("a", -0.3)]}
    assert read_qrels(qrels) == {"1": {"a": 1}}


def test_a17_wrong_columns_name_the_line(tmp_path: Path) -> None:
    run = write(tmp_path / "run", "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n1 Q0 c 3 t\n")
    assert f"{run}:3: 5 columns" in refusal(read_run, run)
    assert ":1: 7 columns" in refusal(read_run, write(tmp_path / "run7", "1 Q0 My Doc 1 2 t\n"))
    assert ":1: 3 columns" in refusal(read_qrels, write(tmp_path / "qrels", "q\td\t1\n"))


@pytest.mark.parametrize("grade", ["0.5", "1.0", "x", "1_0", "٣"])
def test_a18_grades_are_integers(tmp_path: Path, grade: str) -> None:
    path = write(tmp_path / "qrels", f"1 0 a 1\n1 0 b {grade}\n")
    assert f"{path}:2: grade is '{grade}'; grades are integers only" in refusal(read_qrels, path)


def test_a18_signed_grades(tmp_path: Path) -> None:
    assert read_qrels(write(tmp_path / "qrels", "1 0 a -2\n1 0 b +3\n")) == {"1": {"a": -2, "b": 3}}


@pytest.mark.parametrize("score", ["nan", "inf", "-inf", "1_0", "x", "٣", "1e999", "0x1p3"])
def test_scores_are_finite_numbers(tmp_path: Path, score: str) -> None:
    path = write(tmp_path / "run", f"1 Q0 a 1 {score} t\n")
    assert f"{path}:1: score is" in refusal(read_run, path)


@pytest.mark.parametrize(
    ("lines", "topics"),
    [
        ("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n", "1"),  # distances
        ("1 Q0 a 2 0.9 t\n1 Q0 b 1 0.2 t\n2 Q0 a 1 2 t\n2 Q0 b 2 1 t\n", "1"),
        (
            "".join(f"{i} Q0 a 1 1 t\n{i} Q0 b 2 2 t\n" for i in range(11)),
            "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ...",
        ),
        ("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n", ""),
        ("1 Q0 b 2 1 t\n1 Q0 a 1 2 t\n", ""),
        ("1 Q0 a 0 1 t\n1 Q0 b 0 2 t\n1 Q0 c x 3 t\n", ""),  # no ranks
        ("1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n", ""),
    ],
)
def test_ranks_that_contradict_scores_are_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, lines: str, topics: str
) -> None:
    run = write(tmp_path / "run", lines)
    read_run(run)
    n = 11 if "..." in topics else 1
    told = f"{run}: ranks of {n} topics contradict their scores; scores count, the highest first: topics "
    assert caplog.messages == ([f"{told}{topics}"] if topics else [])


def test_i13_identical_duplicate_judgements_count_once_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    qrels = write(tmp_path / "qrels", "1 0 a 1\n2 0 a 1\n1 0 a 1\n1 Q0 a +1\n1 0 b -2\n1 0 b -02\n")
    assert read_qrels(qrels) == {"1": {"a": 1, "b": -2}, "2": {"a": 1}}
    assert caplog.messages == [
        f"{qrels}: 3 lines repeat a judgement, the first of them line 3; each judgement counts once"
    ]


def test_a_judgement_with_two_grades_is_an_error(tmp_path: Path) -> None:
    qrels = write(tmp_path / "qrels", "1 0 a 1\n1 0 a 1\n1 0 a 2\n")
    message = refusal(read_qrels, qrels)
    assert f"{qrels}:3: document 'a' comes twice for topic '1', with grades 1 and 2" in message


def test_a6_b10_a_document_twice(tmp_path: Path) -> None:
    run = write(tmp_path / "run", "1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 1 t\n")
    assert f"{run}:3: document 'a' comes twice for topic '1'" in refusal(read_run, run)
    qrels = write(tmp_path / "qrels", "1 0 a 1\n1 0 a 0\n")
    assert f"{qrels}:2: document 'a' comes twice" in refusal(read_qrels, qrels)
    with pytest.raises(ValueError, match="twice"), RunWriter(tmp_path / "out", tag="t") as writer:
        writer.write("1", [Hit("a", 2.0), Hit("a", 1.0)])
    with pytest.raises(ValueError, match="before"), RunWriter(tmp_path / "out", tag="t") as writer:
        writer.write("1", [])
        writer.write("1", [])


def test_run_order_is_that_of_the_file_and_of_trec_eval_on_request(tmp_path: Path) -> None:
    path = write(tmp_path / "run", "2 Q0 z 1 1 t\n1 Q0 a 1 1 t\n1 Q0 b 2 1.00000001 t\n1 Q0 c 3 2 t\n")
    run = read_run(path)
    assert list(run) == ["2", "1"]
    assert [docid for docid, _ in run["1"]] == ["a", "b", "c"]
    assert [docid for docid, _ in trec_order(run["1"])] == ["c", "b", "a"]
    assert [docid for docid, _ in trec_order([("a", 1e300), ("b", -1e300), ("é", 0.0), ("z", 0.0)])] == [
        "a",
        "é",
        "z",
        "b",
    ]


def test_b2_b3_ties_are_written_in_our_order(tmp_path: Path) -> None:
    path = tmp_path / "run"
    hits = [Hit(f"d{i:02}", 1.0) for i in range(50)]
    for _ in range(2):
        with RunWriter(path, tag="t") as writer:
            writer.write("1", hits)
        entries = read_run(path)["1"]
        assert [docid for docid, _ in trec_order(entries)] == [hit.docid for hit in hits]
    assert entries[:2] == [("d00", 1.0), ("d01", 0.999999)]


def test_b11_ranks_columns_and_tag(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunWriter(path, tag="seal") as writer:
        writer.write("1", [Hit("a", 3.0), Hit("b", 3.5), Hit("c", -12.5)])
        writer.write("2", [])
        writer.write("3", [Hit("a", -0.0000001)])
    assert path.read_bytes().decode() == (
        "1 Q0 a 1 3.000000 seal\n1 Q0 b 2 2.999999 seal\n1 Q0 c 3 -12.500000 seal\n3 Q0 a 1 0.000000 seal\n"
    )
    for tag in ("", "two words", "tab\t", "line\n"):
        with pytest.raises(UsageError, match="one word"):
            RunWriter(path, tag=tag)


def test_b17_negative_scores(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunWriter(path, tag="t") as writer:
        writer.write("1", [Hit("a", -0.3), Hit("b", -12.5)])
    assert trec_order(read_run(path)["1"]) == [("a", -0.3), ("b", -12.5)]


@pytest.mark.parametrize(
    "scores",
    [
        [100.000002, 100.000001, 100.0],
        [1e6] * 5,
        [1e37] * 3,
        [-1e37] * 3,
        [-127.999996] * 9,
        [0.0, -0.0, 1e-9],
        [8.0] * 9,
    ],
)
def test_scores_strictly_decrease_in_single_precision(scores: list[float]) -> None:
    printed = [float(text) for text in strictly_decreasing(scores)]
    assert all(above > below for above, below in zip(printed, printed[1:], strict=False))
    assert all(single(above) > single(below) for above, below in zip(printed, printed[1:], strict=False))


@pytest.mark.parametrize("score", [float("nan"), float("inf"), -1e39])
def test_scores_that_cannot_be_written(score: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        strictly_decreasing([score])


def test_msmarco_format(tmp_path: Path) -> None:
    path = tmp_path / "run"
    with RunWriter(path, tag="t", output_format="msmarco") as writer:
        writer.write("1", [Hit("a", 1.0), Hit("b", 1.0)])
    assert path.read_bytes() == b"1\ta\t1\n1\tb\t2\n"
    with pytest.raises(UsageError, match="trec, msmarco, kilt"):
        RunWriter(path, tag="t", output_format="csv")


def test_a_run_is_whole_or_absent(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "run"
    writer = RunWriter(path, tag="t")
    with pytest.raises(ValueError, match="with block"):
        writer.write("1", [])
    with pytest.raises(KeyboardInterrupt), writer:
        writer.write("1", [Hit("a", 1.0)])
        raise KeyboardInterrupt
    assert not list(path.parent.iterdir())


def test_a_topic_that_looks_like_json_is_a_topic(tmp_path: Path) -> None:
    assert read_qrels(write(tmp_path / "qrels", "{1} 0 a 1\n")) == {"{1}": {"a": 1}}
