"""`python -m seal_ir.train data`: every source, the same set for a seed, stopping and going on, faults."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seal_ir.records import Document
from seal_ir.train.__main__ import main
from seal_ir.train.data import dataset
from seal_ir.train.data.dataset import load_dataset
from seal_ir.train.data.examples import Example
from tests.helpers.commands import Runner, assert_fault

PASSAGES = [
    {
        "id": "1#0",
        "title": "Etna",
        "contents": "Etna\nMount Etna is a volcano on the east coast of Sicily in Italy.",
    },
    {
        "id": "2#0",
        "title": "",
        "contents": "The river Thames flows through London and on to the North Sea slowly.",
    },
    {
        "id": "3#0",
        "title": "Whale",
        "contents": "Whale\nA whale is a mammal that lives in the sea and breathes air.",
    },
]
ETNA = "On which island is the volcano Etna?"
THAMES = "Which river flows through London?"
KILT_RECORD = {
    "id": "k1",
    "input": "where do whales live",
    "output": [
        {"provenance": [{"wikipedia_id": "9", "title": "W", "start_paragraph_id": 2, "end_paragraph_id": 3}]},
        {"answer": "sea", "provenance": [{"wikipedia_id": "77", "start_paragraph_id": 1}]},
    ],
}
KILT_PAGE = {
    "wikipedia_id": "9",
    "wikipedia_title": "Whale",
    "text": ["Whale", "One.", "Whales live", "in the sea."],
}
DPR = [
    {
        "question": "what does a whale breathe",
        "answers": ["air"],
        "positive_ctxs": [{"title": "Whale", "text": "A whale breathes air.", "score": 1}],
        "negative_ctxs": [],
        "hard_negative_ctxs": [],
    }
]


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def text(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return lines(tmp_path / "corpus.jsonl", *PASSAGES)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    return lines(
        tmp_path / "pairs.jsonl",
        {"qid": "a", "question": ETNA, "positive_ids": ["1#0"]},
        {"qid": "b", "question": THAMES, "positive_ids": ["2#0", "gone#0"]},
        {"qid": "c", "question": ETNA.upper(), "positive_ids": ["1#0"]},
    )


def rows(directory: Path) -> list[dict[str, Any]]:
    return [dict(row) for row in load_dataset(directory)]


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_pairs_with_a_collection(call: Runner, corpus: Path, pairs: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    result = call(main, "data", "--pairs", pairs, "--input", corpus, "--output", out)
    assert (result.code, result.out) == (0, f"{out}\n")
    for part in ("pairs: 2", "repeated: 1", "not_in_collection: 1", "examples, supervised body: 20"):
        assert part in result.err.splitlines()
    found = rows(out)
    assert [(row["group"], row["field"]) for row in found] == (
        [(0, "body")] * 10 + [(0, "title")] * 3 + [(1, "body")] * 10
    )
    assert {row["source"] for row in found} == {ETNA, THAMES}
    assert {row["target"] for row in found if row["field"] == "title"} == {"Etna"}
    for row in found[:10]:
        assert row["target"] in PASSAGES[0]["contents"].partition("\n")[2]


def test_judged_and_distant_topics(call: Runner, corpus: Path, tmp_path: Path) -> None:
    topics = text(tmp_path / "t.tsv", f"q1\t{ETNA}\nq2\t{THAMES}\n")
    gold = text(tmp_path / "gold.trec", "q1 0 1#0 1\nq1 0 3#0 0\n")
    guessed = text(tmp_path / "guessed.trec", "q2 0 2#0 1\nother 0 3#0 1\n")
    out = tmp_path / "set"
    result = call(
        main,
        "data",
        "--judged",
        topics,
        gold,
        "--distant",
        topics,
        guessed,
        "--input",
        corpus,
        "--output",
        out,
    )
    assert result.code == 0, result
    kinds = {(row["source"], row["kind"]) for row in rows(out)}
    assert kinds == {(ETNA, "supervised"), (THAMES, "distant")}


def test_f2_dpr_and_kilt_files(call: Runner, tmp_path: Path) -> None:
    dpr = text(tmp_path / "dpr.json", json.dumps(DPR, indent=1))
    kilt, pages = lines(tmp_path / "kilt.jsonl", KILT_RECORD), lines(tmp_path / "pages.jsonl", KILT_PAGE)
    out = tmp_path / "set"
    result = call(main, "data", "--pairs", dpr, kilt, "--knowledge-source", pages, "--output", out)
    assert result.code == 0, result
    assert "not_in_collection: 1" in result.err.splitlines()
    found = {(row["source"], row["target"]) for row in rows(out)}
    assert found == {
        ("what does a whale breathe", "A whale breathes air."),
        ("what does a whale breathe", "Whale"),
        ("where do whales live", "Whales live in the sea."),
        ("where do whales live", "Whale"),
    }


def test_a_bare_collection_is_unsupervised(call: Runner, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "set"
    assert call(main, "data", "--input", corpus, "--documents", 2, "--output", out).code == 0
    found = rows(out)
    assert {row["kind"] for row in found} == {"unsupervised"}
    assert [(row["group"], row["field"]) for row in found] == (
        [(0, "body")] * 3 + [(0, "title")] * 2 + [(1, "body")] * 3
    )


def test_excluded_questions_are_left_out_and_counted(
    call: Runner, corpus: Path, pairs: Path, tmp_path: Path
) -> None:
    topics = text(tmp_path / "test.tsv", "t1\ton which Island is the volcano  etna\n")
    out = tmp_path / "set"
    result = call(main, "data", "--pairs", pairs, "--input", corpus, "--exclude", topics, "--output", out)
    assert "excluded_questions: 1" in result.err.splitlines()
    assert {row["source"] for row in rows(out)} == {THAMES}


def test_the_same_seed_gives_the_same_bytes(call: Runner, corpus: Path, pairs: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = ("--pairs", pairs, "--input", corpus, "--unsupervised", "--seed", seed)
        assert call(main, "data", *options, "--output", tmp_path / name).code == 0
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert rows(tmp_path / "a") != rows(tmp_path / "c")
    assert json.loads((tmp_path / "a" / "settings.json").read_text())["seed"] == 1


def test_an_interrupted_set_is_gone_on_with(
    call: Runner, corpus: Path, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "PART_ITEMS", 2)
    out = tmp_path / "set"
    arguments = ("data", "--pairs", pairs, "--input", corpus, "--unsupervised", "--output", out)
    assert call(main, *arguments).code == 0
    whole = files(out)
    assert [name for name in whole if name.startswith("part")] == [f"part-0000{i}.arrow" for i in range(3)]
    for name in ("prepared.json", "part-00001.arrow"):
        (out / name).unlink()
    (out / "part-00001.tmp").write_bytes(b"half")
    kept = (out / "part-00000.arrow").stat().st_mtime_ns
    assert call(main, *arguments).code == 0
    assert files(out) == whole
    assert (out / "part-00000.arrow").stat().st_mtime_ns == kept
    again = call(main, *arguments)
    assert (again.code, again.err.splitlines()) == (0, ["complete already"])
    assert_fault(call(main, *arguments, "--seed", 5), 2, "other settings", str(out))


def test_an_interruption_leaves_no_complete_set(tmp_path: Path) -> None:
    def items() -> Any:
        yield Document("a", "", "one two")
        raise KeyboardInterrupt

    out = tmp_path / "set"
    dataset.open_directory(out, {})
    with pytest.raises(KeyboardInterrupt):
        dataset.write_parts(out, items(), one_example, 0)
    assert [path.name for path in out.iterdir()] == ["settings.json"]


def one_example(document: Document, rng: np.random.Generator) -> list[Example]:
    return [Example(document.text, document.text, "body", "unsupervised")]


def test_a_folder_of_something_else_is_not_touched(call: Runner, corpus: Path, tmp_path: Path) -> None:
    result = call(main, "data", "--input", corpus, "--output", tmp_path)
    assert_fault(result, 2, "holds no training set")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.jsonl"]


def test_a_failed_attempt_is_not_in_the_way(call: Runner, corpus: Path, pairs: Path, tmp_path: Path) -> None:
    broken = text(tmp_path / "broken.jsonl", "no json\n")
    out = tmp_path / "set"
    assert call(main, "data", "--pairs", broken, "--input", corpus, "--output", out).code == 1
    assert call(main, "data", "--pairs", pairs, "--input", corpus, "--output", out).code == 0
    assert len(rows(out)) == 23


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (
            '{"question": "a", "positive_ids": ["1#0"]}\n{"question": "b"}\n',
            ("pairs.jsonl:2", "positive_ids"),
        ),
        ('{"question": "a", "positive_ids": ["1#0", 3]}\n', ("pairs.jsonl:1", "list of passage ids")),
        ('{"positive_ids": ["1#0"]}\n', ("pairs.jsonl:1", "no question")),
        ("no json\n", ("pairs.jsonl:1", "not JSON")),
        ('{"question": "a", "positive_ids": ["x"]}\n', ("none of the 1 positive passages", "'x'")),
        (
            '[{"question": "a", "positive_ctxs": [{"title": "t"}]}]\n',
            ("pairs.jsonl:1", '"title" and "text" strings'),
        ),
        ('[{"question": "a"}]\n', ("pairs.jsonl:1", "positive_ctxs")),
        ('{"id": "k", "input": "a", "output": []}\n', ("KILT", "--knowledge-source")),
        ("", ("no example",)),
    ],
)
def test_malformed_pairs(
    call: Runner, corpus: Path, tmp_path: Path, content: str, parts: tuple[str, ...]
) -> None:
    pairs = text(tmp_path / "pairs.jsonl", content)
    result = call(main, "data", "--pairs", pairs, "--input", corpus, "--output", tmp_path / "set")
    assert_fault(result, 2 if "KILT" in parts else 1, *parts)
    assert not (tmp_path / "set" / "prepared.json").exists()


@pytest.mark.parametrize(
    ("page", "part"),
    [
        ({"wikipedia_title": "x", "text": []}, "wikipedia_id"),
        ({"wikipedia_id": "9", "text": "x"}, "list of strings"),
        ([], "JSON object"),
    ],
)
def test_malformed_knowledge_sources(call: Runner, tmp_path: Path, page: object, part: str) -> None:
    kilt, pages = lines(tmp_path / "kilt.jsonl", KILT_RECORD), lines(tmp_path / "pages.jsonl", page)
    out = tmp_path / "set"
    result = call(main, "data", "--pairs", kilt, "--knowledge-source", pages, "--output", out)
    assert_fault(result, 1, "pages.jsonl:1", part)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ((), "no source"),
        (("--unsupervised", "--pairs", "{pairs}"), "give --input"),
        (("--pairs", "{pairs}"), "--input"),
        (("--input", "{corpus}", "--documents", "0"), "--documents"),
        (("--input", "{corpus}", "--seed", "-1"), "--seed"),
        (("--input", "{corpus}", "--temperature", "0"), "temperature"),
        (("--input", "{corpus}", "--judged", "{topics}", "unheard-of"), "unheard-of"),
    ],
)
def test_usage(
    call: Runner, corpus: Path, pairs: Path, tmp_path: Path, arguments: tuple[str, ...], part: str
) -> None:
    topics = text(tmp_path / "topics.tsv", f"q1\t{ETNA}\n")
    filled = [argument.format(corpus=corpus, pairs=pairs, topics=topics) for argument in arguments]
    assert_fault(call(main, "data", *filled, "--output", tmp_path / "set"), 2, part)


def test_judgements_of_other_topics(call: Runner, corpus: Path, tmp_path: Path) -> None:
    topics, qrels = text(tmp_path / "t.tsv", f"q1\t{ETNA}\n"), text(tmp_path / "q.trec", "x 0 1#0 1\n")
    result = call(main, "data", "--judged", topics, qrels, "--input", corpus, "--output", tmp_path / "set")
    assert_fault(result, 1, "q.trec", "ids must be equal")


def test_subcommands(call: Runner) -> None:
    assert "usage" in call(main, "--help").out
    assert_fault(call(main), 2, "unknown subcommand")
    assert_fault(call(main, "train"), 2, "'train'")
