"""NQ320k out of invented examples in the formats of Natural Questions, original and simplified."""

from __future__ import annotations

import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from seal_ir.convert.__main__ import main
from seal_ir.convert.nq320k import NAMES, convert
from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.runs.trec import read_qrels
from seal_ir.formats.topics.questions import paired_questions
from seal_ir.formats.topics.reading import read_topics
from seal_ir.records import Document, Query
from tests.helpers.commands import Runner, assert_fault

SITE = "https://en.wikipedia.org//w/index.php?title="
FIGHT = (
    '<H1> Fight Club </H1> <Table_class="x_y"> <Tr> <Td_colspan="2"> a < b </Td> </Tr> </Table>'
    " <P> It 's é </P>"
)


def annotation(start: int) -> dict[str, Any]:
    answer = {
        "start_token": start,
        "end_token": start + 3 if start >= 0 else -1,
        "candidate_index": min(start, 0),
    }
    return {"annotation_id": 5, "long_answer": answer, "short_answers": [], "yes_no_answer": "NONE"}


def simplified(number: int, question: str, page: str, text: str, *starts: int) -> dict[str, Any]:
    """As in simplified-nq-train.jsonl: one annotation, no title; its addresses have escaped ampersands."""
    return {
        "document_text": text,
        "long_answer_candidates": [{"start_token": 0, "top_level": True, "end_token": 3}],
        "question_text": question,
        "annotations": [annotation(start) for start in starts],
        "document_url": SITE + page,
        "example_id": number,
    }


def original(number: int, question: str, page: str, title: str, text: str, *starts: int) -> dict[str, Any]:
    """As in nq-dev-00.jsonl.gz: tokens with places in the HTML, and the HTML."""
    words = text.split(" ")
    tokens = [
        {
            "end_byte": i + 1,
            "html_token": word.startswith("<") and len(word) > 1,
            "start_byte": i,
            "token": word,
        }
        for i, word in enumerate(words)
    ]
    return {
        "annotations": [annotation(start) for start in starts],
        "document_html": f"<!DOCTYPE html>{text}",
        "document_title": title,
        "document_tokens": tokens,
        "document_url": SITE + page,
        "example_id": number,
        "long_answer_candidates": [],
        "question_text": question,
        "question_tokens": question.split(),
    }


TRAIN = [
    simplified(-4316154511519088241, "who wrote fight club", "Fight_Club&amp;oldid=812", FIGHT, 2),
    simplified(7, "what is\tthe first rule", "Fight_Club&amp;oldid=999", "Another revision", -1),  # same page
    simplified(8, "empty page", "Nothing&amp;oldid=5", "<P> </P>", -1),
    simplified(9, "  ", "Mont_Blanc&amp;oldid=77", "High", -1),
    simplified(10, "how high is it", "Mont_Blanc&amp;oldid=77", "High", -1),
]
DEV = [
    original(11, "who is tyler", "Fight_Club&amp;oldid=812", "Fight Club", FIGHT, -1, 4, -1),
    original(12, "where is c#", "C%23_(music)&amp;oldid=31", "C♯ (music)", "<P> It is a note </P>", -1, -1),
    original(13, "no revision", "Mount_Etna", "Mount Etna", "<P> Lava </P>", 2),
]


def write(path: Path, records: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.fixture
def sample(tmp_path: Path) -> list[object]:
    """The command's arguments: training examples in a folder of two files, dev examples in one."""
    write(tmp_path / "train" / "nq-train-00.jsonl.gz", TRAIN[:2])
    write(tmp_path / "train" / "nq-train-01.jsonl.gz", TRAIN[2:])
    dev = write(tmp_path / "nq-dev-00.jsonl", DEV)
    return ["nq320k", "--train", tmp_path / "train", "--dev", dev, "--output", tmp_path / "data"]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    return Runner(monkeypatch, capsys)


def test_f2_files_that_other_commands_read(tmp_path: Path, sample: list[object], runner: Runner) -> None:
    result = runner(main, *sample)
    assert (result.code, result.out) == (0, "")
    data = tmp_path / "data"
    assert list(Collection("JsonCollection", data / NAMES["corpus"])) == [
        Document("812", "Fight Club", "Fight Club a < b It 's é"),
        Document("77", "Mont Blanc", "High"),
        Document("31", "C♯ (music)", "It is a note"),
        Document("Mount_Etna", "Mount Etna", "Lava"),
    ]
    topics = [Query("11", "who is tyler"), Query("12", "where is c#"), Query("13", "no revision")]
    assert read_topics(data / NAMES["topics"]) == topics
    assert read_qrels(data / NAMES["qrels"]) == {"11": {"812": 1}, "12": {"31": 1}, "13": {"Mount_Etna": 1}}
    assert list(paired_questions(data / NAMES["pairs"])) == [
        ("who wrote fight club", "812"),
        ("what is the first rule", "812"),
        ("how high is it", "77"),
    ]


def test_counts_balance(tmp_path: Path, sample: list[object], runner: Runner) -> None:
    assert runner(main, *sample).err.splitlines() == [
        f"{tmp_path / 'train' / 'nq-train-00.jsonl.gz'}: 2 questions",
        f"{tmp_path / 'train' / 'nq-train-01.jsonl.gz'}: 3 questions",
        f"{tmp_path / 'nq-dev-00.jsonl'}: 3 questions",
        "train: read 5 questions = written 3 + without long answer 0 + without text 1"
        " + of pages without text 1; their 3 pages = new documents 2 + documents already 1",
        "dev: read 3 questions = written 3 + without long answer 0 + without text 0"
        " + of pages without text 0; their 3 pages = new documents 2 + documents already 1",
    ]


def test_only_questions_with_a_long_answer(tmp_path: Path, sample: list[object], runner: Runner) -> None:
    """One of a dev question's annotators is enough; pages of other questions are no documents."""
    told = runner(main, *sample, "--long-answers").err.splitlines()
    assert told[-2].startswith("train: read 5 questions = written 1 + without long answer 4 ")
    assert told[-1].startswith("dev: read 3 questions = written 2 + without long answer 1 ")
    data = tmp_path / "data"
    assert [document.id for document in Collection("JsonCollection", data / NAMES["corpus"])] == [
        "812",
        "Mount_Etna",
    ]
    assert list(read_qrels(data / NAMES["qrels"])) == ["11", "13"]


def test_same_input_same_bytes(tmp_path: Path, sample: list[object], runner: Runner) -> None:
    def made() -> list[bytes]:
        assert runner(main, *sample).code == 0
        return [(tmp_path / "data" / name).read_bytes() for name in NAMES.values()]

    assert made() == made()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"example_id": None}, '"example_id" is None'),
        ({"question_text": 3}, '"question_text" is 3'),
        ({"document_url": "https://en.wikipedia.org/"}, '"document_url" is'),
        ({"document_url": f"{SITE}A&oldid=1+2"}, "it names no page"),
        ({"document_title": 5}, '"document_title" is 5'),
        ({"annotations": {}}, '"annotations" is {}; it must be a list'),
        ({"annotations": [{"long_answer": None}]}, "no long_answer with a start_token"),
        ({"document_tokens": ["a"]}, "\"document_tokens\" has 'a'"),
        ({"document_tokens": None}, 'no "document_tokens" and no "document_text"'),
        ({"document_tokens": [{"token": "\ud83d", "html_token": False}]}, "half a surrogate pair"),
        ({"example_id": 11}, "example '11' comes twice"),
    ],
)
def test_a_faulty_example_leaves_nothing(
    tmp_path: Path, sample: list[object], runner: Runner, change: dict[str, Any], part: str
) -> None:
    faulty = {**original(14, "q", "Page&amp;oldid=1", "Page", "<P> x </P>", 1), **change}
    path = tmp_path / "nq-dev-00.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in [*DEV, faulty]), encoding="utf-8")
    assert_fault(runner(main, *sample), 1, f"{path}:4: ", part)
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


@pytest.mark.parametrize("line", ["{", "[]", '{"question_text": "q"}'])
def test_other_files_are_refused(tmp_path: Path, sample: list[object], line: str, runner: Runner) -> None:
    write(tmp_path / "train" / "nq-train-00.jsonl.gz", [])
    (tmp_path / "train" / "a.jsonl").write_text(f"{line}\n", encoding="utf-8")
    assert_fault(runner(main, *sample), 1, f"{tmp_path / 'train' / 'a.jsonl'}:1: ")


def test_places_that_cannot_be(tmp_path: Path, sample: list[object]) -> None:
    def call(train: Path, output: Path) -> None:
        convert(train, tmp_path / "nq-dev-00.jsonl", output, long_answers=False, tell=lambda line: None)

    with pytest.raises(InputError, match="no such file or folder"):
        call(tmp_path / "absent", tmp_path / "data")
    with pytest.raises(UsageError, match="cannot be written"):
        call(tmp_path / "train", tmp_path / "nq-dev-00.jsonl")


def test_memory_does_not_grow_with_the_pages(tmp_path: Path) -> None:
    """What stays of 6 MB more pages is their ids."""

    def peak(n_pages: int) -> int:
        records = [
            simplified(i, "q", f"P{i}&amp;oldid={i}", f"{i} {'x' * 40_000}", -1) for i in range(n_pages)
        ]
        train, dev = write(tmp_path / "train.jsonl", records), write(tmp_path / "dev.jsonl", DEV)
        tracemalloc.start()
        try:
            counts = convert(train, dev, tmp_path / "data", long_answers=False, tell=lambda line: None)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
            assert counts["train"].documents == n_pages

    assert peak(200) < peak(50) + (1 << 20)
