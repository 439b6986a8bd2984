"""`python -m seal_ir.search --output-format`: passages with texts and keys, in the shapes of others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seal_ir.eval.__main__ import main as evaluate
from seal_ir.formats.runs.others import read_ranked
from seal_ir.formats.runs.shapes import PASSAGE_FORMATS
from seal_ir.search.__main__ import main
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.passages import found, loaded
from tests.helpers.stubbed import Stubbed

QUESTIONS = {"0": "the highest mountain", "1": "which river flows through London", "2": " "}
ANSWERS = {"0": ["Earth"], "1": ["Thames"], "2": ["nobody"]}
pytestmark = pytest.mark.usefixtures("stubbed")


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """Topics with answers."""
    path = tmp_path / "topics.jsonl"
    records = [{"id": qid, "question": text, "answers": ANSWERS[qid]} for qid, text in QUESTIONS.items()]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def searched(call: Runner, index: Path, topics: Path, output: Path, *more: object) -> Path:
    arguments = ["--topics", topics, "--index", index, "--preset", "paper", "--output", output, *more]
    result = call(main, *arguments)
    assert result.code == 0, result.err
    return output


@pytest.mark.parametrize("name", PASSAGE_FORMATS)
def test_passages_are_the_runs_hits_with_their_texts(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, name: str
) -> None:
    trec = read_ranked(searched(call, tiny_index, topics, tmp_path / "run.trec", "--hits", 3))
    run = read_ranked(
        searched(call, tiny_index, topics, tmp_path / "out", "--hits", 3, "--output-format", name), QUESTIONS
    )
    assert {qid: [docid for docid, _ in entries] for qid, entries in run.rankings.items()} == {
        **{qid: [docid for docid, _ in entries] for qid, entries in trec.rankings.items()},
        "2": [],
    }
    assert len(run.rankings["0"]) == 3
    texts = {document.id: (document.title, document.text) for document in tiny.DOCUMENTS}
    assert run.texts == {docid: texts[docid] for docid in run.texts}


def test_keys_are_those_of_the_searchers_hits(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    path = searched(call, tiny_index, topics, tmp_path / "out", "--output-format", "passages")
    searcher = SealSearcher(tiny_index, tiny.generator(), preset="paper")
    for topic in loaded(path, "passages"):
        hits = searcher.search(topic["question"], 100)
        assert topic["answers"] == ANSWERS[topic["id"]]
        assert [
            (passage["rank"], passage["docid"], passage["score"], passage["contents"], passage["keys"])
            for passage in topic["passages"]
        ] == [
            (rank, hit.docid, hit.score, hit.contents, [key.to_dict() for key in hit.keys])
            for rank, hit in enumerate(hits, start=1)
        ]


def test_answers_in_passages_and_measures_without_an_index(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    path = searched(call, tiny_index, topics, tmp_path / "out.json", "--output-format", "dpr")
    first, second, third = loaded(path, "dpr")
    assert [first["answers"], second["answers"], third["answers"]] == list(ANSWERS.values())
    for topic in (first, second):
        holding = [context["id"] for context in topic["ctxs"] if context["has_answer"]]
        assert holding == [{"0": "d3#0", "1": "d2"}[topic["id"]]]
    for more in ([], ["--index", tiny_index]):
        result = call(evaluate, "--run", path, "--answers", topics, *more, "--format", "json")
        assert result.code == 0, result.err
        rows = {row["measure"]: row["value"] for row in json.loads(result.out)["rows"]}
        assert rows["AnswerAccuracy@100"] == pytest.approx(2 / 3)


def test_measures_need_the_index_where_a_run_has_no_texts(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    bare = tmp_path / "bare.json"
    contexts: list[dict[str, Any]] = [{"id": "d3#0", "score": "1"}]
    bare.write_text(json.dumps([{"question": QUESTIONS["0"], "ctxs": contexts}]), encoding="utf-8")
    asked = ["--run", bare, "--topics", topics, "--answers", topics, "--measures", "AnswerAccuracy@2"]
    assert_fault(call(evaluate, *asked), 2, "AnswerAccuracy@k needs the passages")
    result = call(evaluate, *asked, "--index", tiny_index, "--format", "json")
    assert json.loads(result.out)["rows"][0]["value"] == pytest.approx(1 / 3)
    contexts.insert(0, {"id": "elsewhere", "text": "Mars"})  # one with, one without
    bare.write_text(json.dumps([{"question": QUESTIONS["0"], "ctxs": contexts}]), encoding="utf-8")
    assert_fault(call(evaluate, *asked), 1, "1 passages in the runs, such as 'd3#0', have no text there")
    result = call(evaluate, *asked, "--index", tiny_index, "--format", "json")
    assert json.loads(result.out)["rows"][0]["value"] == pytest.approx(1 / 3)


def test_pages_have_the_text_of_their_first_passage(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    more = ["--output-format", "passages", "--max-passage"]
    path = searched(call, tiny_index, topics, tmp_path / "out", *more)
    pages = [passage for passage in loaded(path, "passages")[0]["passages"] if passage["docid"] == "d3"]
    assert [page["contents"] for page in pages] == [tiny.SENTENCES[2]]
    assert pages[0]["keys"]


@pytest.mark.parametrize("name", ["other.trec", "other.json"])
def test_fused_passages_have_keys_where_seal_found_them(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, name: str
) -> None:
    """Whatever format the other run is of."""
    other = tmp_path / name
    contexts = [{"id": "d5", "score": "9"}, {"id": "d3#0", "score": "8"}]
    value = [{"question": QUESTIONS["0"], "ctxs": contexts}]
    lines = "".join(f"0 Q0 {c['id']} {n} {c['score']} t\n" for n, c in enumerate(contexts))
    other.write_text(json.dumps(value) if name.endswith("json") else lines, encoding="utf-8")
    more = ["--output-format", "passages", "--fuse", other, "--hits", 2]
    output = searched(call, tiny_index, topics, tmp_path / "out.jsonl", *more)
    fused, seal = (loaded(path, "passages")[0] for path in (output, tmp_path / "out.seal.jsonl"))
    by_id = {passage["docid"]: passage for passage in fused["passages"]}
    seals = {passage["docid"]: passage for passage in seal["passages"]}
    assert set(by_id) == {"d3#0", "d5"}
    assert by_id["d3#0"]["keys"] == seals["d3#0"]["keys"] != []
    assert by_id["d5"]["text"] == tiny.SENTENCES[4]
    assert ("d5" in seals) == bool(by_id["d5"]["keys"])


def test_several_presets_and_a_stream(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, stubbed: Stubbed
) -> None:
    more = ["--output-format", "langchain", "--hits", 2]
    arguments = ["--topics", topics, "--index", tiny_index, *more]
    result = call(main, *arguments, "--output", tmp_path / "all.jsonl", "--preset", "lm", "paper")
    assert result.code == 0, result.err
    for preset in ("lm", "paper"):
        result = call(main, *arguments, "--output", "-", "--preset", preset)
        assert result.out == (tmp_path / f"all.{preset}.jsonl").read_text(encoding="utf-8")
    assert len(found(tmp_path / "all.lm.jsonl", "langchain")[0]) == 2


def test_the_slow_path_has_the_same_keys(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path
) -> None:
    """`published` is `intersective` as a baseline for benchmarks."""
    more = ["--output-format", "passages", "--preset"]
    slow, fast = (
        loaded(searched(call, tiny_index, topics, tmp_path / name, *more, name), "passages")
        for name in ("published", "intersective")
    )
    for one, other in zip(slow, fast, strict=True):
        for a, b in zip(one["passages"], other["passages"], strict=True):
            assert (a["docid"], a["text"]) == (b["docid"], b["text"])
            assert a["score"] == pytest.approx(b["score"])
            texts = ({(key["kind"], key["text"]) for key in passage["keys"]} for passage in (a, b))
            assert len(set(map(frozenset, texts))) == 1


def test_a_search_that_fails_leaves_no_passages(
    call: Runner, tiny_index: Path, topics: Path, tmp_path: Path, stubbed: Stubbed
) -> None:
    def interrupt(n: int) -> None:
        raise KeyboardInterrupt

    stubbed.before_batch = interrupt
    for name in PASSAGE_FORMATS:
        arguments = ["--topics", topics, "--index", tiny_index, "--output", tmp_path / "out"]
        assert_fault(call(main, *arguments, "--output-format", name), 130, "interrupted")
    assert [path.name for path in tmp_path.iterdir()] == ["topics.jsonl"]
