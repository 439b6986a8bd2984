"""Topics and answers in the forms of Pyserini, FlashRAG, TriviaQA and SQuAD; what is none names its keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.topics.answers import read_answers
from seal_ir.formats.topics.reading import detect_format, read_topics
from seal_ir.records import Query

TOPICS = [Query("301", "organized crime"), Query("2_a", "polio, \u201cand after\u201d")]
TITLED = {query.id: {"title": query.text, "description": "..."} for query in TOPICS}
PLAIN = {query.id: query.text for query in TOPICS}


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refusal(read: Any, path: Path) -> str:
    with pytest.raises(InputError) as error:
        read(path)
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith(f"{path}:")
    return text


@pytest.mark.parametrize("indent", [None, 2, 0])
@pytest.mark.parametrize("name", ["topics.json", "topics", "topics.jsonl"])
@pytest.mark.parametrize("value", [TITLED, PLAIN])
def test_i16_pyserinis_own_json_is_read(tmp_path: Path, value: Any, name: str, indent: int | None) -> None:
    """`default` of Pyserini, an object from ids to titles, on one line or pretty-printed; and plain texts."""
    for ascii_only in (True, False):
        path = write(tmp_path / name, json.dumps(value, indent=indent, ensure_ascii=ascii_only))
        assert detect_format(path) == "map-json"
        for topics_format in ("auto", "default", "map-json"):
            assert read_topics(path, topics_format) == TOPICS


def test_one_topic_and_one_object_a_line(tmp_path: Path) -> None:
    assert read_topics(write(tmp_path / "one", '{"1": "what is it"}')) == [Query("1", "what is it")]
    text = "\n".join(json.dumps({name: value}) for name, value in TITLED.items())
    assert read_topics(write(tmp_path / "lines", text)) == TOPICS
    named = {"id": {"title": "a topic called id"}, "question": {"question": "another"}}
    assert [query.id for query in read_topics(write(tmp_path / "odd", json.dumps(named)))] == [
        "id",
        "question",
    ]


def test_answers_of_an_object_of_topics(tmp_path: Path) -> None:
    value = {"1": {"title": "q", "answers": ["a", "b"]}, "2": {"title": "r", "answers": []}}
    assert read_answers(write(tmp_path / "t.json", json.dumps(value, indent=1))) == {"1": ["a", "b"], "2": []}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('{"1": {"title": "a"}, "1": {"title": "b"}}', ":1: key '1' comes twice; make ids unique"),
        ('{"1": {"title": "a"}}\n{"1": {"title": "b"}}', ":2: topic '1' comes twice"),
        ('{"a b": {"title": "a"}}', ":1: the topic id has white space (seen 'a b')"),
        ('{"": "a", "1": "b"}', ":1: the topic id is empty"),
        ('{"1": {"title": 3}}', ':1: "title" is 3; it must be a string'),
        ('{"1": {"title": "a"}, "2": "b"}', "no question (its keys: '1, 2')"),
        ('{"1": {"title": "a"}, "2": ["b"]}', "no question (its keys: '1, 2')"),
        (
            '{"words": "what is it", "number": "3"}\n{"words": "b", "number": "4"}',
            "(its keys: 'words, number')",
        ),
        ('{"data": [], "version": "1.1"}', "no question (its keys: 'data, version')"),
        ('{"qid": "1", "words": "what is it"}', "no question (its keys: 'qid, words')"),
        ('{\n"1": {"title": "a"},\n"2": {"title": "b"\n', "not JSON"),
    ],
)
def test_i16_what_is_no_topic_names_its_keys(tmp_path: Path, text: str, part: str) -> None:
    assert part in refusal(read_topics, write(tmp_path / "t.json", text))


ANSWERS: list[tuple[dict[str, object], list[str]]] = [
    ({"answers": ["a", "b"]}, ["a", "b"]),
    ({"answer": ["a"]}, ["a"]),
    ({"answer": "a"}, ["a"]),
    ({"golden_answers": ["a", "b"]}, ["a", "b"]),
    ({"answer": {"value": "a", "aliases": ["b", "a"], "normalized_aliases": ["x"]}}, ["a", "b"]),
    ({"Answer": {"Value": "a", "Aliases": ["b"], "Type": "WikipediaEntity"}}, ["a", "b"]),
    ({"answer": {"aliases": ["b"]}}, ["b"]),
    ({"answers": {"text": ["a", "a", "b"], "answer_start": [1, 1, 5]}}, ["a", "b"]),
    ({"answers": {"text": [], "answer_start": []}}, []),
    ({"answers": [{"text": "a", "answer_start": 3}, {"text": "b", "answer_start": 9}]}, ["a", "b"]),
    ({"answers": []}, []),
]


@pytest.mark.parametrize(("fields", "expected"), ANSWERS)
def test_i16_answers_in_every_published_form(
    tmp_path: Path, fields: dict[str, object], expected: list[str]
) -> None:
    record = {"id": "1", "question": "q", **fields}
    for text in (json.dumps(record), json.dumps([record], indent=1), json.dumps({"1": record})):
        path = write(tmp_path / "t.json", text)
        assert read_answers(path) == {"1": expected}
        assert read_topics(path) == [Query("1", "q")]


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"gold": ["a"]}, "no \"answers\" (its keys: 'id, question, gold')"),
        ({"answers": "a"}, "\"answers\" is 'a'; it must be a list of strings"),
        ({"golden_answers": "['a', 'b']"}, "\"golden_answers\" is \"['a', 'b']\"; it must be a list"),
        ({"answer": "['a', 'b']"}, "\"answer\" is \"['a', 'b']\"; it must be a list of strings"),
        ({"answer": None}, '"answer" is None; it must be a list of strings'),
        ({"answer": {"entity": "a"}}, "an answer has the keys 'entity'; its text is read under value, alias"),
        ({"answers": ["a", 3]}, "answer 3 is not a string; put it in quotes"),
        ({"answers": {"text": ["a", None]}}, "answer None is not a string"),
        ({"answers": {"text": [{"text": "a"}]}}, "holds objects in an object"),
        ({"answers": [["a"]]}, "answer ['a'] is not a string"),
    ],
)
def test_what_is_no_answer_names_its_keys(tmp_path: Path, fields: dict[str, object], part: str) -> None:
    path = write(tmp_path / "t.jsonl", json.dumps({"id": "1", "question": "q", **fields}))
    assert part in refusal(read_answers, path)
