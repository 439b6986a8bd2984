"""KILT's gold files with passages, and its files of a system's output, out of small ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.convert.__main__ import main
from seal_ir.convert.kilt_passages import holding
from seal_ir.errors import InputError
from seal_ir.eval.rankings import read_rankings
from seal_ir.formats.collections.collection import Collection
from seal_ir.formats.collections.splitting import Split, passages
from seal_ir.formats.io.resolve import (
    Places,
    known_topics,
    resolve_answers,
    resolve_qrels,
    resolve_topics,
)
from seal_ir.formats.kilt import read_provenance
from seal_ir.formats.topics.predictions import read_predictions
from seal_ir.formats.topics.reading import read_topics
from tests.helpers.commands import Runner, assert_fault

PARAGRAPHS = [
    "Mont Blanc\n",
    "Mont Blanc is the highest mountain of the Alps, and stands between France and Italy.\n",
    "Section::::Climbing.\n",
    "BULLET::::- It was first climbed on 8 August 1786 by two men of Chamonix.\n",
    "A race had been promised for it.\n",
]
PAGES = [
    {"wikipedia_id": "12", "wikipedia_title": "Mont Blanc", "text": PARAGRAPHS},
    {"wikipedia_id": "34", "wikipedia_title": "Etna", "text": ["Etna\n", "Etna is a volcano of Sicily."]},
    {"wikipedia_id": "99", "wikipedia_title": "Never asked for", "text": "no list"},
]


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def place(page: object, first: int, start: int, end: int, last: int | None = None) -> dict[str, Any]:
    return {
        "wikipedia_id": page,
        "title": "T",
        "start_paragraph_id": first,
        "start_character": start,
        "end_paragraph_id": first if last is None else last,
        "end_character": end,
    }


def quoted(paragraph: int, text: str) -> dict[str, Any]:
    """The place of these words of Mont Blanc."""
    start = PARAGRAPHS[paragraph].index(text)
    return place("12", paragraph, start, start + len(text))


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    return lines(tmp_path / "source.json", *PAGES)


def test_evidence_is_in_the_passage_that_an_index_would_have(
    call: Runner, tmp_path: Path, knowledge: Path
) -> None:
    """Every quotation of one passage is in the passage that the gold file names; the rest stays."""
    pages = Collection("KiltCollection", lines(tmp_path / "pages.json", *PAGES[:2]))
    texts = {p.id: p.text for page in pages for p in passages(page, Split(5))}
    words = {"1786": 3, "highest": 1, "climbed": 3, "race": 4, "Mont": 1, "it": 4}
    records = [
        {"id": word, "input": "?", "output": [{"answer": word, "provenance": [quoted(number, word)]}]}
        for word, number in words.items()
    ]
    gold = lines(tmp_path / "gold.jsonl", *records)
    out = tmp_path / "gold.passages.jsonl"
    told = ["--gold", gold, "--knowledge-source", knowledge, "--split", "words:5", "--output", out]
    result = call(main, "kilt-passages", *told)
    assert result.code == 0, result
    assert "6 places of evidence = in passages 6 + pages not" in result.err
    found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    for before, after in zip(records, found, strict=True):
        (entry,) = after["output"][0]["provenance"]
        assert before["id"] in texts[entry["wikipedia_id"]]
        was = before["output"][0]["provenance"][0]
        entry["wikipedia_id"] = "12"
        assert entry == was
    assert read_provenance(out)["1786"] == [["12#4"]]


def test_what_has_no_passage_keeps_its_page(call: Runner, tmp_path: Path, knowledge: Path) -> None:
    """Pages that are not there, and those that provenance names whole; topics without output stay."""
    outputs = [
        {"provenance": [quoted(3, "1786"), place("77", 1, 0, 3), {"wikipedia_id": 34, "title": "Etna"}]},
        {"answer": "x"},
        {"provenance": [place(34, 1, 0, 99), place(" 34 ", 9, 0, 5), {"title": "no id"}]},
    ]
    gold = lines(
        tmp_path / "gold.jsonl", {"id": "1", "input": "?", "output": outputs}, {"id": "2", "input": "?"}
    )
    out = tmp_path / "out.jsonl"
    result = call(main, "kilt-passages", "--gold", gold, "--knowledge-source", knowledge, "--output", out)
    assert result.code == 0, result
    assert (
        "5 places of evidence = in passages 3 + pages not in the knowledge source 1 + pages wit" in result.err
    )
    assert read_provenance(out) == {"1": [["12#0", "77", "34"], ["34#0"]], "2": []}
    assert json.loads(out.read_text(encoding="utf-8").splitlines()[1]) == {"id": "2", "input": "?"}


@given(
    st.text(alphabet="ab ", max_size=60),
    st.integers(1, 4),
    st.integers(0, 3),
    st.integers(0, 70),
    st.integers(0, 70),
)
def test_the_passage_holds_most_of_the_place(
    text: str, n_words: int, n_overlap: int, start: int, end: int
) -> None:
    bounds = list(Split(n_words, min(n_overlap, n_words - 1)).bounds(text))
    number = holding(start, end, bounds)
    held = [sum(lo <= i < hi for i in range(start, max(end, start + 1))) for lo, hi in bounds]
    assert held[number] == max(held)
    if max(held):
        assert number == held.index(max(held))


@pytest.mark.parametrize(
    ("gold", "source", "split", "code", "told"),
    [
        ('{"input": "?"}', "{}", "words:100", 1, 'gold.jsonl:1: no "id"'),
        (
            '{"id": "1", "output": [{"provenance": "x"}]}',
            "{}",
            "words:100",
            1,
            "gold.jsonl:1: topic '1': \"provenance\" is 'x'",
        ),
        ('{"id": "1"}', '{"text": []}', "words:100", 1, 'source.json:1: no "wikipedia_id"'),
        (
            '{"id": "1", "output": [{"provenance": [{"wikipedia_id": "5", "start_paragraph_id": 0}]}]}',
            '{"wikipedia_id": "5", "wikipedia_title": "t", "text": "x"}',
            "words:100",
            1,
            "source.json:1: page '5'",
        ),
        ('{"id": "1"}', "{", "words:100", 1, "source.json:1: not JSON"),
        ('{"id": "1"}', "{}", "words:0", 2, "write words:N"),
    ],
)
def test_passages_that_are_refused(
    call: Runner, tmp_path: Path, gold: str, source: str, split: str, code: int, told: str
) -> None:
    """Nothing is written."""
    (tmp_path / "gold.jsonl").write_text(gold, encoding="utf-8")
    (tmp_path / "source.json").write_text(source, encoding="utf-8")
    out = tmp_path / "out.jsonl"
    named = ["--gold", tmp_path / "gold.jsonl", "--knowledge-source", tmp_path / "source.json"]
    assert_fault(call(main, "kilt-passages", *named, "--split", split, "--output", out), code, told)
    assert not out.exists()


# Passages for other systems


@pytest.mark.parametrize("name", ["passages.jsonl", "passages.jsonl.gz"])
def test_passages_are_those_of_an_index(call: Runner, tmp_path: Path, knowledge: Path, name: str) -> None:
    """Ids, titles and texts; a JsonCollection reads them back, and the same input makes the same bytes."""
    told = [
        "--collection",
        "KiltCollection",
        "--input",
        knowledge,
        "--malformed",
        "skip",
        "--split",
        "words:5",
    ]
    found = []
    for folder in ("one", "two"):
        result = call(main, "passages", *told, "--output", tmp_path / folder / name)
        assert result.code == 0, result
        assert (
            "read 3 = indexed 2 + empty 0 + duplicate 0 + malformed 1 + excluded 0; 9 passages" in result.err
        )
        found.append((tmp_path / folder / name).read_bytes())
    assert found[0] == found[1]
    pages = Collection("KiltCollection", lines(tmp_path / "pages.json", *PAGES[:2]))
    expected = [p._replace(stored=()) for page in pages for p in passages(page, Split(5))]
    assert list(Collection("JsonCollection", tmp_path / "one" / name)) == expected


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (["--output", "p.jsonl.zst"], 2, "this is written plain or as gzip"),
        (["--output", "p.jsonl", "--split", "5"], 2, "write words:N"),
        (["--output", "p.jsonl"], 1, "source.json:3: page '99'"),
        (["--output", "p.jsonl", "--collection", "x"], 2, "unknown collection"),
        (["--output", "p.jsonl", "--input", "split.json"], 1, "split.json:1: the id '1#2' holds '#'"),
    ],
)
def test_passages_of_other_systems_that_are_refused(
    call: Runner,
    tmp_path: Path,
    knowledge: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    code: int,
    told: str,
) -> None:
    """Nothing is written."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "split.json", {**PAGES[0], "wikipedia_id": "1#2"})
    named = ["--collection", "KiltCollection", "--input", knowledge]
    assert_fault(call(main, "passages", *named, *options), code, told)
    assert not list(tmp_path.glob("p.jsonl*"))


# A system's output

TOPICS = [
    {"id": "b", "input": "[START_ENT] it [END_ENT]\n"},
    {"id": "a", "input": "x [SEP] y"},
    {"id": "c", "input": ""},
]
RUN = "a Q0 12#3 1 3 t\na Q0 34#0 2 2 t\na Q0 12#1 3 1 t\nz Q0 12#1 1 1 t\n"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "run.trec").write_text(RUN, encoding="utf-8")
    return {
        "topics": lines(tmp_path / "topics.jsonl", *TOPICS),
        "run": tmp_path / "run.trec",
        "predictions": lines(
            tmp_path / "p.jsonl", {"qid": "a", "answer": "yes"}, {"qid": "b", "answer": " "}
        ),
        "output": tmp_path / "out.jsonl",
    }


def options(files: dict[str, Path], *names: str) -> list[object]:
    return [part for name in (*names, "topics", "output") for part in (f"--{name}", files[name])]


def test_a_datapoint_for_every_topic(call: Runner, files: dict[str, Path]) -> None:
    """In the topics' order, inputs with their marks; what reads KILT's files reads it back."""
    result = call(main, "kilt-predictions", *options(files, "run", "predictions"), "--max-passage")
    assert result.code == 0, result
    assert "3 topics, 1 with pages, 1 with an answer; 1 other topics left out" in result.err
    found = [json.loads(line) for line in files["output"].read_text(encoding="utf-8").splitlines()]
    assert [(record["id"], record["input"]) for record in found] == [(t["id"], t["input"]) for t in TOPICS]
    assert found[1]["output"] == [
        {"answer": "yes", "provenance": [{"wikipedia_id": "12"}, {"wikipedia_id": "34"}]}
    ]
    assert found[2]["output"] == [{"answer": "", "provenance": []}]
    assert read_rankings(files["output"]) == {"a": ["12", "34"]}
    assert read_predictions(files["output"]) == {"b": " ", "a": "yes", "c": ""}


def test_a_run_alone_and_answers_alone(call: Runner, files: dict[str, Path]) -> None:
    assert call(main, "kilt-predictions", *options(files, "run"), "--hits", 2).code == 0
    assert read_rankings(files["output"]) == {"a": ["12#3", "34#0"]}
    assert read_predictions(files["output"]) == {}
    assert call(main, "kilt-predictions", *options(files, "predictions")).code == 0
    assert read_rankings(files["output"]) == {}
    assert read_predictions(files["output"])["a"] == "yes"


def test_kilts_own_run_gets_other_answers(call: Runner, files: dict[str, Path]) -> None:
    assert call(main, "kilt-predictions", *options(files, "run")).code == 0
    files["run"] = files["output"].rename(files["output"].with_name("run.jsonl"))
    assert call(main, "kilt-predictions", *options(files, "run", "predictions"), "--max-passage").code == 0
    assert read_rankings(files["output"]) == {"a": ["12", "34"]}


@pytest.mark.parametrize(
    ("names", "more", "code", "told"),
    [
        ([], [], 2, "nothing to write; name a run with --run"),
        (["run"], ["--hits", "0"], 2, "--hits is 0; it must be at least 1"),
        (["run"], ["--max-passage", "--max-passage-delimiter", ""], 2, "--max-passage-delimiter is empty"),
        (["other"], [], 1, "other.trec: 0 of 3 topics are here (they are like 'b', those here like 'q')"),
        (["none"], [], 1, "none.jsonl: 0 of 3 topics are here"),
        (["broken"], [], 1, "broken.jsonl:1: topic 'a': \"answer\" is 5; it must be a string"),
    ],
)
def test_output_that_is_refused(
    call: Runner,
    tmp_path: Path,
    files: dict[str, Path],
    names: list[str],
    more: list[str],
    code: int,
    told: str,
) -> None:
    """Nothing is written."""
    (tmp_path / "other.trec").write_text("q Q0 d 1 1 t\n", encoding="utf-8")
    lines(tmp_path / "none.jsonl", {"qid": "q", "answer": "x"})
    lines(tmp_path / "broken.jsonl", {"qid": "a", "answer": 5})
    given = {
        "other": ["--run", tmp_path / "other.trec"],
        "none": ["--predictions", tmp_path / "none.jsonl"],
        "broken": ["--predictions", tmp_path / "broken.jsonl"],
        "run": ["--run", files["run"]],
    }
    chosen = [part for name in names for part in given[name]]
    assert_fault(call(main, "kilt-predictions", *options(files), *chosen, *more), code, told)
    assert not files["output"].exists()


# TriviaQA's questions

NAMELESS = [{"id": "qw_1", "output": [{"answer": "x"}]}, {"id": "qw_2", "input": "own", "output": []}]


@pytest.mark.parametrize(
    "questions",
    [
        '{\n "Data": [\n  {"QuestionId": "qw_1", "Question": "who?", "Answer": {}}],\n "Domain": "web"\n}',
        "qw_1\twho?\n",
        '{"qid": "qw_1", "question": "who?"}\n',
    ],
)
def test_questions_are_put_in(call: Runner, tmp_path: Path, questions: str) -> None:
    """The rest stays, and so do inputs that are there."""
    (tmp_path / "questions").write_text(questions, encoding="utf-8")
    gold, out = lines(tmp_path / "gold.jsonl", *NAMELESS), tmp_path / "out.jsonl"
    result = call(
        main, "kilt-questions", "--gold", gold, "--questions", tmp_path / "questions", "--output", out
    )
    assert (result.code, result.err) == (0, "1 questions\n")
    assert [query.text for query in read_topics(out)] == ["who?", "own"]
    assert json.loads(out.read_text(encoding="utf-8").splitlines()[0]) == {**NAMELESS[0], "input": "who?"}


@pytest.mark.parametrize(
    ("questions", "told"),
    [
        ("other\twho?\n", "gold.jsonl:1: topic 'qw_1' has no input, "),
        ('{"Data": []}', "gold.jsonl:1: topic 'qw_1' has no input, "),
        ('{"Data": [{"QuestionId": "qw_1", "Question": 5}]}', '"Data" holds {'),
        ('{"Data": 5}', '"Data" holds 5'),
        ('{"Data": [', "questions:1: not JSON"),
    ],
)
def test_questions_that_are_refused(call: Runner, tmp_path: Path, questions: str, told: str) -> None:
    """Nothing is written."""
    (tmp_path / "questions").write_text(questions, encoding="utf-8")
    gold, out = lines(tmp_path / "gold.jsonl", *NAMELESS), tmp_path / "out.jsonl"
    result = call(
        main, "kilt-questions", "--gold", gold, "--questions", tmp_path / "questions", "--output", out
    )
    assert_fault(result, 1, told)
    assert not out.exists()


def test_kilts_files_by_name(tmp_path: Path) -> None:
    """Topics, answers and judgements are one file, packed or not; of the data only."""
    (tmp_path / "kilt").mkdir()
    path = lines(tmp_path / "kilt" / "fever-dev-kilt.jsonl", *TOPICS)
    (tmp_path / "kilt" / "wow-dev-kilt.jsonl.gz").write_bytes(b"")
    lines(tmp_path / "kilt" / "notes.jsonl", *TOPICS)
    places = Places(tmp_path, tmp_path / "none", None)
    assert resolve_topics("fever-dev-kilt", places) == path
    assert resolve_answers("fever-dev-kilt", places) == resolve_qrels("fever-dev-kilt", places) == path
    assert {"fever-dev-kilt", "wow-dev-kilt"} <= set(known_topics(places))
    assert "notes" not in known_topics(places)
    with pytest.raises(InputError, match="topics 'nq-dev-kilt': no such file and no such name"):
        resolve_topics("nq-dev-kilt", places)
