"""KILT's datapoints: questions, answers, gold pages, runs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.kilt import provenance_qrels, read_guesses, read_provenance
from seal_ir.formats.runs.trec import RunWriter, read_qrels
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import datapoint_inputs, read_topics
from seal_ir.records import Hit, Query

MARKED = " Who was [START_ENT] Ann [END_ENT]\nborn to? "


def write(path: Path, *records: object) -> Path:
    path.write_bytes("".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records).encode())
    return path


def gold(*pages: object) -> dict[str, object]:
    return {"provenance": [{"wikipedia_id": page, "title": "t"} for page in pages]}


def test_entity_marks_and_outer_white_space_are_taken_off(tmp_path: Path) -> None:
    path = write(tmp_path / "t", {"id": "k1", "input": MARKED}, {"id": 7, "input": "plain", "output": []})
    wanted = [Query("k1", "Who was  Ann \nborn to?"), Query("7", "plain")]
    for name in ("auto", "default", "kilt"):
        assert read_topics(path, name) == wanted
    assert datapoint_inputs(path, wanted) == {"k1": MARKED, "7": "plain"}
    assert datapoint_inputs(path, [Query("k1", "x")], "jsonl") == {"k1": "x"}


def test_answers(tmp_path: Path) -> None:
    outputs = [{"answer": "x"}, gold("7"), {"answer": "Zürich"}, {"answer": "x"}, {"answer": None}]
    path = write(tmp_path / "t", {"id": "k1", "input": "q", "output": outputs}, {"id": "k2", "input": "q"})
    assert read_answers(path) == read_answers(path, "kilt") == {"k1": ["x", "Zürich"], "k2": []}


# A record of each dataset as its file has it, cut short, with what is asked and answered.
PAGE = {"wikipedia_id": "7", "title": "T", "start_paragraph_id": 1, "end_paragraph_id": 1}
DATASETS: dict[str, tuple[dict[str, object], str, list[str]]] = {
    "fever": (
        {"input": "Ann was born in Paris.", "output": [{"answer": "REFUTES", "provenance": [PAGE]}]},
        "Ann was born in Paris.",
        ["REFUTES"],
    ),
    "aidayago2": (
        {
            "input": "SOCCER - [START_ENT] JAPAN [END_ENT] GET LUCKY WIN",
            "output": [
                {"answer": "Japan national team", "provenance": [{"wikipedia_id": "7", "title": "T"}]}
            ],
            "meta": {"left_context": "SOCCER -", "mention": "JAPAN", "right_context": "GET LUCKY WIN"},
        },
        "SOCCER -  JAPAN  GET LUCKY WIN",
        ["Japan national team"],
    ),
    "wned": (
        {"input": "He met [START_ENT] Ann [END_ENT]", "output": [{"answer": "Ann", "provenance": [PAGE]}]},
        "He met  Ann",
        ["Ann"],
    ),
    "cweb": (
        {"input": "[START_ENT] Ann [END_ENT] again", "output": [{"answer": "Ann", "provenance": [PAGE]}]},
        "Ann  again",
        ["Ann"],
    ),
    "trex": (
        {
            "input": "Ann [SEP] genre",
            "output": [{"answer": "jazz", "provenance": [PAGE]}, {"answer": "jazz", "provenance": [PAGE]}],
            "meta": {"sub_surface": ["Ann"]},
        },
        "Ann [SEP] genre",
        ["jazz"],
    ),
    "structured_zeroshot": (
        {
            "input": "Ann [SEP] spouse",
            "output": [{"answer": "Bob", "provenance": [PAGE]}],
            "meta": {"template_questions": ["Who is Ann's spouse?"]},
        },
        "Ann [SEP] spouse",
        ["Bob"],
    ),
    "nq": (
        {"input": "who is ann", "output": [{"answer": "a", "provenance": [PAGE]}, {"answer": "b"}]},
        "who is ann",
        ["a", "b"],
    ),
    "hotpotqa": (
        {"input": "Are Ann and Bob alike?", "output": [{"answer": "yes", "provenance": [PAGE, PAGE]}]},
        "Are Ann and Bob alike?",
        ["yes"],
    ),
    "triviaqa": (
        {"input": "Who?", "output": [{"answer": "Ann"}, {"answer": "ANN"}, {"provenance": [PAGE]}]},
        "Who?",
        ["Ann", "ANN"],
    ),
    "eli5": (
        {"input": "Why so?", "output": [{"answer": "Because. It is."}, {"provenance": [PAGE]}]},
        "Why so?",
        ["Because. It is."],
    ),
    "wow": (
        {"input": "I like jazz.\nWho plays it?", "output": [{"answer": "Ann does.", "provenance": [PAGE]}]},
        "I like jazz.\nWho plays it?",
        ["Ann does."],
    ),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_file_of_each_dataset_is_topics_answers_and_pages(tmp_path: Path, name: str) -> None:
    record, question, answers = DATASETS[name]
    path = write(tmp_path / f"{name}-dev-kilt.jsonl", {"id": "1", **record})
    assert read_topics(path) == [Query("1", question)]
    assert read_answers(path) == {"1": answers}
    assert read_qrels(path) == {"1": {"7": 1}}
    test = write(tmp_path / f"{name}-test_without_answers-kilt.jsonl", {"id": "1", "input": record["input"]})
    assert read_topics(test) == [Query("1", question)]
    assert read_answers(test) == {"1": []}


def test_a21_only_outputs_with_provenance_count(tmp_path: Path) -> None:
    path = write(
        tmp_path / "gold.jsonl",
        {"id": "k1", "output": [{"answer": "x"}, gold("7")]},
        {"id": "k2", "input": "q", "output": [{"answer": "x"}, {"provenance": []}, {"provenance": None}]},
        {
            "id": "k3",
            "input": "q",
            "output": [gold("12", "34", "12"), gold("007", None), {"provenance": [{}]}],
        },
        {"id": "k4", "input": "q", "output": None},
    )
    assert read_provenance(path) == {"k1": [["7"]], "k2": [], "k3": [["12", "34"], ["007"]], "k4": []}
    wanted = {"k1": {"7": 1}, "k3": {"12": 1, "34": 1, "007": 1}}
    assert provenance_qrels(path) == read_qrels(path) == wanted


def test_page_ids_are_strings(tmp_path: Path) -> None:
    path = write(tmp_path / "t", {"id": "k", "input": "q", "output": [gold(7, "enwiki:9", "1_0")]})
    assert read_provenance(path) == {"k": [["7", "enwiki:9", "1_0"]]}


@pytest.mark.parametrize("page", [" 7", "7 ", "\t7\n", "\u00a07\u2003"])
def test_i13_blanks_around_page_ids_do_not_count(tmp_path: Path, page: str) -> None:
    path = write(tmp_path / "t", {"id": "k", "input": "q", "output": [gold(page, "8", "7")]})
    assert read_provenance(path) == {"k": [["7", "8"]]}
    assert read_qrels(path) == {"k": {"7": 1, "8": 1}}
    assert read_guesses(path) == {"k": ["7", "8"]}


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ({"id": "k", "output": {}}, '"output" is {}'),
        ({"id": "k", "output": ["x"]}, "\"output\" is ['x']"),
        ({"id": "k", "output": [{"provenance": 3}]}, '"provenance" is 3'),
        ({"id": "k", "output": [gold("a b")]}, "a page id must be a string"),
        ({"id": "k", "output": [gold("  ")]}, "a page id must be a string"),
        ({"id": "k", "output": [gold(True)]}, "a page id must be a string"),
        ({"id": "k", "output": [{"provenance": ["x", 3]}]}, "a page id must be a string"),
        ({"input": "q", "output": []}, "some have none"),
        ({"id": "k 1", "output": []}, '"id" has white space'),
        ({"id": "k0", "output": []}, "comes twice"),
    ],
)
def test_faulty_gold(tmp_path: Path, record: object, part: str) -> None:
    path = write(tmp_path / "gold", {"id": "k0", "input": "q"}, record)
    with pytest.raises(InputError) as error:
        read_provenance(path)
    assert f"{path}:2: " in str(error.value)
    assert part in str(error.value)


@pytest.mark.parametrize(
    ("record", "part"),
    [
        ({"id": "k", "input": None}, '"input" is None'),
        ({"id": "k", "input": "\ud83d"}, '"input" is'),
        ({"id": "k"}, '"input" is None'),
        ({"qid": "k", "input": "q"}, 'no "id"'),
        ({"id": "k0", "input": "r"}, "topic 'k0' comes twice"),
    ],
)
def test_faulty_topics(tmp_path: Path, record: object, part: str) -> None:
    path = tmp_path / "t"
    path.write_text(f'{{"id": "k0", "input": "q"}}\n{json.dumps(record)}\n', encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_topics(path, "kilt")
    assert f"{path}:2: " in str(error.value)
    assert part in str(error.value)


@pytest.mark.parametrize("answer", [3, ["x"], True])
def test_faulty_answers(tmp_path: Path, answer: object) -> None:
    path = write(tmp_path / "t", {"id": "k", "input": "q", "output": [{"answer": answer}]})
    with pytest.raises(InputError, match='"answer" is'):
        read_answers(path)


def test_a22_any_docid_is_written_as_a_string(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    docids = ["Ab-3", "12-3-4", "enwiki:9", "007", "Zürich#1", 'a"b']
    inputs = {"k1": MARKED, "30_1": "nothing"}
    with RunWriter(path, tag="t", output_format="kilt", inputs=inputs) as writer:
        writer.write("k1", [Hit(docid, 1.0) for docid in docids])
        writer.write("30_1", [])
    first, second = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {
        "id": "k1",
        "input": MARKED,
        "output": [{"provenance": [{"wikipedia_id": docid} for docid in docids]}],
    }
    assert second == '{"id": "30_1", "input": "nothing", "output": [{"provenance": []}]}'
    assert read_provenance(path) == {"k1": [docids], "30_1": []}


def test_a_kilt_run_needs_inputs(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="needs the inputs"):
        RunWriter(tmp_path / "run", tag="t", output_format="kilt")
    with (
        pytest.raises(ValueError, match="topic 'k2' has no input"),
        RunWriter(tmp_path / "run", tag="t", output_format="kilt", inputs={"k1": "q"}) as writer,
    ):
        writer.write("k2", [])
    assert not list(tmp_path.iterdir())


@pytest.mark.data
@pytest.mark.skipif("SEAL_IR_DATA" not in os.environ, reason="SEAL_IR_DATA is not set")
@pytest.mark.parametrize(
    ("name", "n_topics", "n_pages"),
    [
        ("hotpotqa-dev-kilt", 5600, 11200),
        ("wow-dev-kilt", 3054, 3054),
        ("kilt-hotpotqa-dev-in-corpus", 281, 562),
        ("kilt-wow-dev-in-corpus", 1190, 1190),
    ],
)
def test_real_datapoints(name: str, n_topics: int, n_pages: int) -> None:
    path = Path(os.environ["SEAL_IR_DATA"]) / "kilt" / f"{name}.jsonl"
    queries, answers, provenance = read_topics(path), read_answers(path), read_provenance(path)
    assert len(queries) == len(answers) == len(provenance) == n_topics
    assert all(answers.values())
    assert sum(map(len, read_qrels(path).values())) == n_pages
