"""Runs of other systems: DPR's, Pyserini's, FlashRAG's and the like, read for what they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.runs.others import has_texts, read_ranked

ASKED = {"0": "who is it", "1": "Where is it", "2": "who is it"}


def written(path: Path, value: Any) -> Path:
    """A JSON file: of one value, or of a list of them as lines where it is a tuple."""
    values = value if isinstance(value, tuple) else (value,)
    path.write_text("".join(json.dumps(item) + "\n" for item in values), encoding="utf-8")
    return path


ASKS = {"question": "where is it"}
PAIR = (("d1", 2.5), ("d2", 1.0))


def each(**values: Any) -> list[dict[str, Any]]:
    """Two passages, d1 and d2, of these values; ID and SCORE stand for theirs."""

    def filled(value: Any, docid: str, score: float) -> Any:
        if isinstance(value, dict):
            return {name: filled(part, docid, score) for name, part in value.items()}
        return {"ID": docid, "SCORE": score, "STRING": str(score)}.get(value, value)

    return [filled(values, docid, score) for docid, score in PAIR]


DPR = each(id="ID", title="T", text="x", score="STRING", has_answer=True)
PYSERINI = each(docid="ID", score="STRING", text='"T"\nx', has_answer=False)
NODE = {"id_": "ID", "text": "x", "metadata": {"title": "T", "score": 9}}
FILES: dict[str, Any] = {
    "DPR": [{"question": "Where is it?", "answers": ["a"], "ctxs": DPR}],
    "FiD": ({"id": "x9", **ASKS, "target": "a", "answers": ["a"], "ctxs": DPR},),
    "Pyserini": {"1": {**ASKS, "answers": ["a"], "contexts": PYSERINI}},
    "FlashRAG's cache": {"where is it": each(id="ID", contents="T\nx", score="SCORE")},
    "FlashRAG": (
        {
            "id": "test_0",
            **ASKS,
            "golden_answers": ["a"],
            "output": {"retrieval_result": each(id="ID", contents='"T"\nx', score="SCORE")},
        },
    ),
    "RAGatouille": (
        {
            "query": "where is it",
            "results": each(
                content="T\nx",
                score="SCORE",
                rank=1,
                document_id="ID",
                passage_id=3,
                document_metadata={"title": "T", "id": "another"},
            ),
        },
    ),
    "LlamaIndex": ({"query": "where is it", "nodes": each(node=NODE, score="SCORE")},),
    "LangChain": (
        {
            "query": "where is it",
            "documents": each(id="ID", page_content="x", metadata={"title": "T", "score": "SCORE"}),
        },
    ),
}


@pytest.mark.parametrize("whose", FILES)
def test_files_of_others(tmp_path: Path, whose: str) -> None:
    path = written(tmp_path / "run", FILES[whose])
    run = read_ranked(path, ASKED)
    assert run.rankings == {"1": [("d1", 2.5), ("d2", 1.0)]}
    assert run.texts == {"d1": ("T", "x"), "d2": ("T", "x")}
    assert has_texts(path)


def test_runs_of_our_own_formats_come_without_texts(tmp_path: Path) -> None:
    trec = tmp_path / "run.trec"
    trec.write_text("1 Q0 a 1 1.0 t\n1 Q0 b 2 2.0 t\n", encoding="utf-8")
    assert read_ranked(trec, ASKED) == ({"1": [("b", 2.0), ("a", 1.0)]}, {})
    output = [{"answer": "x", "provenance": [{"wikipedia_id": "7"}, {"wikipedia_id": "8"}]}]
    kilt = written(tmp_path / "kilt", ({"id": "k", "input": "q", "output": output},))
    assert read_ranked(kilt) == ({"k": [("7", 0.0), ("8", -1.0)]}, {})
    assert not has_texts(trec)
    assert not has_texts(kilt)


def test_passages_without_ids_are_called_by_their_texts(tmp_path: Path) -> None:
    """Fusion-in-Decoder's files have titles and texts only."""
    contexts = [{"title": "T", "text": "x"}, {"title": "T", "text": "y"}, {"title": "T", "text": "x"}]
    path = written(tmp_path / "run", [{"question": "q", "ctxs": contexts}])
    run = read_ranked(path)
    (first, _), (second, _) = run.rankings["0"]
    assert first != second
    assert run.texts == {first: ("T", "x"), second: ("T", "y")}
    assert has_texts(path)


def test_order_counts_not_scores_and_the_first_of_two(tmp_path: Path) -> None:
    contexts = [{"id": 1, "score": 1}, {"id": 2, "score": 5}, {"id": 1, "score": 9}, {"id": 3}]
    path = written(tmp_path / "run", [{"question": "q", "ctxs": contexts}])
    assert read_ranked(path).rankings == {"0": [("1", 1.0), ("2", 5.0), ("3", -3.0)]}
    assert not has_texts(path)


@pytest.mark.parametrize(
    ("records", "topics"),
    [
        ([("who is it", None), ("who is it", None)], ["0", "2"]),  # in the order of the topics
        ([("who is it", "2"), ("who is it?", None)], ["2", "0"]),
        ([("WHERE  is it ?", "0")], ["1"]),  # the question says whose it is, whatever the id
        ([("something rewritten", "1")], ["1"]),
        ([("unknown", None), ("unknown", "77")], ["record 0", "77"]),
        ([("who is it", "0"), ("who is it", "0"), ("who is it", "5")], ["0", "2", "5"]),
    ],
)
def test_a_record_is_of_the_topic_that_asks_its_question(
    tmp_path: Path, records: list[tuple[str, str | None]], topics: list[str]
) -> None:
    value = [
        {"question": question, "ctxs": [], **({} if qid is None else {"id": qid})}
        for question, qid in records
    ]
    assert list(read_ranked(written(tmp_path / "run", value), ASKED).rankings) == topics


def test_without_topics_a_record_is_called_by_its_id_or_its_position(tmp_path: Path) -> None:
    value = [{"id": "a", "question": "q", "ctxs": []}, {"question": "r", "ctxs": []}]
    assert list(read_ranked(written(tmp_path / "run", value)).rankings) == ["a", "1"]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ([{"question": "q", "answers": []}], ":1: no list of passages (its keys: 'question, answers')"),
        (
            [{"question": "q", "ctxs": [{"title": "T"}]}],
            ":1: a passage has neither id nor text (its keys: 'title')",
        ),
        ([{"question": "q", "ctxs": [{"id": "a b"}]}], ':1: "id" has white space'),
        ([{"question": "q", "ctxs": [{"id": True}]}], ':1: "id" is True; it must be a string'),
        ([{"question": "q", "ctxs": ["d1"]}], ":1: a JSON object is needed, seen 'd1'"),
        (
            [{"question": "q", "ctxs": [{"id": "a", "score": "high"}]}],
            "\"score\" is 'high'; it must be a finite",
        ),
        ([{"question": "q", "ctxs": [{"id": "a", "score": "nan"}]}], "\"score\" is 'nan'"),
        ([{"question": "q", "ctxs": [{"id": "a", "score": 10**400}]}], '"score" is 1000'),
        ([{"question": "q", "ctxs": [{"id": "a", "text": "\ud800"}]}], "half a surrogate pair"),
        ([{"id": "1", "ctxs": []}, {"id": "1", "ctxs": []}], ":1: topic '1' comes twice"),
        ([[1]], ":1: a JSON object is needed, seen [1]"),
        ({"x": 1, "y": 2}, ":1: no list of passages (its keys: 'x, y')"),
        (({"id": "1", "ctxs": []}, {"id": "2"}), ":2: no list of passages"),
    ],
)
def test_faults_are_one_line_with_file_and_place(tmp_path: Path, value: Any, told: str) -> None:
    path = written(tmp_path / "run", value)
    with pytest.raises(InputError) as error:
        read_ranked(path)
    assert str(error.value).startswith(str(path))
    assert told in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["{", "[{]", '[{"ctxs": []}] x', "{\x00}"])
def test_what_is_no_json_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "run"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="not JSON"):
        read_ranked(path)
