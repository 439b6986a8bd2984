"""`python -m seal_ir.index --split`: passages of long documents, built, changed, searched and refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from seal_ir.index.__main__ import main
from seal_ir.index.reader import Index
from seal_ir.search.__main__ import main as search
from tests.helpers import tiny
from tests.helpers.commands import Runner, assert_fault
from tests.helpers.indexes import content, ids

LONG = " ".join(tiny.SENTENCES)  # 52 words


def write(path: Path, records: Iterable[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny.save_tokenizer(tmp_path / "model")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    records: list[dict[str, object]] = [
        {"id": "long", "title": "Capitals", "text": LONG, "year": 1953},
        {"id": "short", "title": "Sea", "text": "A whale lives in the sea."},
        {"id": "titled", "title": "Paris", "text": ""},
        {"id": "empty", "title": "", "text": " "},
    ]
    return write(tmp_path / "corpus.jsonl", records)


@pytest.fixture
def directory(call: Runner, corpus: Path, model: Path, tmp_path: Path) -> Path:
    path = tmp_path / "index"
    words = [
        "--input",
        corpus,
        "--index",
        path,
        "--model",
        model,
        "--split",
        "words:20:5",
        "--store",
        "year:int",
    ]
    result = call(main, *words)
    assert result.code == 0, result.err
    assert "read 4 = indexed 3 + empty 1 " in result.out  # records, whatever they become
    assert f"{path}: 6 passages (words:20:5), " in result.out
    return path


def test_passages_of_an_index(call: Runner, directory: Path) -> None:
    assert ids(directory) == ["long#0", "long#1", "long#2", "long#3", "short#0", "titled#0"]
    index = Index(directory)
    for number, document in enumerate(index.documents(range(4))):
        stored = dict(index.stored_values([number])[0])
        assert (document.title, stored["year"]) == ("Capitals", 1953)
        assert document.text == LONG[int(stored["passage_start"]) : int(stored["passage_end"])]
    assert call(main, "--index", directory, "--verify", "--all").code == 0
    values = json.loads(call(main, "--index", directory, "--stats", "--json").out)
    assert values["collection"]["split"] == "words:20:5"
    assert values["stored"] == {"year": "int", "passage_start": "int", "passage_end": "int"}
    assert "split words:20:5" in call(main, "--index", directory, "--stats").out


def test_a_life_of_a_split_document(call: Runner, directory: Path, tmp_path: Path) -> None:
    more = write(tmp_path / "more.jsonl", [{"id": "more", "contents": LONG}])
    for split in ([], ["--split", "words:20:5"]):
        result = call(
            main, "--index", directory, "--append", "--input", more, "--duplicates", "first", *split
        )
        assert result.code == 0, result.err
        assert ": 10 passages (words:20:5), " in result.out
    assert_fault(call(main, "--index", directory, "--append", "--input", more), 1, "the id 'more' is there")

    newer = write(tmp_path / "newer.jsonl", [{"id": "long", "contents": "A few words."}])
    assert call(main, "--index", directory, "--update", "--input", newer).code == 0
    kept = ["short#0", "titled#0", "more#0", "more#1", "more#2", "more#3"]
    assert ids(directory) == [*kept, "long#0"]

    (tmp_path / "ids").write_text("more\nshort\nabsent\n", encoding="utf-8")
    before = content(directory)
    assert_fault(call(main, "--index", directory, "--delete", tmp_path / "ids"), 1, "with the id 'absent'")
    assert content(directory) == before
    words = ["--index", directory, "--delete", tmp_path / "ids", "--missing", "skip"]
    assert call(main, *words).code == 0
    assert ids(directory) == ["titled#0", "long#0"]
    (tmp_path / "ids").write_text("long#0\n", encoding="utf-8")
    assert_fault(call(main, *words), 1, "'long#0' is the id of a passage", "own id, as 'long'")
    assert call(main, "--index", directory, "--merge").code == 0
    assert ids(directory) == ["titled#0", "long#0"]


@pytest.mark.usefixtures("stubbed")
def test_a_search_folds_passages_back(call: Runner, directory: Path, tmp_path: Path) -> None:
    topics = tmp_path / "topics.tsv"
    topics.write_text("1\twhat is the capital of Japan\n", encoding="utf-8")
    words = ["--topics", topics, "--index", directory, "--output", tmp_path / "run", "--preset", "lm"]
    found = {}
    for options in ((), ("--max-passage",)):
        assert call(search, *words, *options).code == 0
        lines = (tmp_path / "run").read_text(encoding="utf-8").splitlines()
        found[options] = [line.split()[2] for line in lines]
    assert sum(docid.startswith("long#") for docid in found[()]) > 1
    assert found["--max-passage",] == list(dict.fromkeys(docid.split("#")[0] for docid in found[()]))


def test_ids_with_the_mark_of_passages(call: Runner, model: Path, tmp_path: Path) -> None:
    records = [{"id": "a", "contents": "sea"}, {"id": "a#0", "contents": "river"}]
    path = write(tmp_path / "marked.jsonl", records)
    words = ["--input", path, "--index", tmp_path / "index", "--model", model, "--split", "words:20"]
    assert_fault(call(main, *words), 1, f"{path}:2: the id 'a#0' holds '#'", "or leave out --split")
    assert not (tmp_path / "index").exists()
    result = call(main, *words, "--malformed", "skip")
    assert (result.code, ids(tmp_path / "index")) == (0, ["a#0"])
    assert "read 2 = indexed 1 + empty 0 + duplicate 0 + malformed 1 " in result.out
    assert_fault(
        call(main, "--index", tmp_path / "index", "--append", "--input", path), 1, f"{path}:2: the id 'a#0'"
    )


REFUSED: list[tuple[list[str], str]] = [
    (["--split", "words:0"], "split 'words:0': write words:N or words:N:OVERLAP"),
    (["--split", "words:5:5"], "the overlap of 5 words must be less than the 5 of a passage"),
    (["--split", ""], "split '': write words:N or words:N:OVERLAP"),
    (["--split", "words:5", "--store", "passage_end"], "stored field 'passage_end': --split keeps"),
    (["--append", "--split", "words:20"], "split by words:20:5, and an index keeps its own; leave out"),
    (["--update", "--split", "words:5:6"], "the overlap of 6 words must be less"),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=lambda value: "-".join(value)[:40])
def test_splits_that_are_refused(
    call: Runner, directory: Path, corpus: Path, options: list[str], told: str
) -> None:
    before = content(directory)
    assert_fault(call(main, "--index", directory, "--input", corpus, *options), 2, told)
    assert content(directory) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--merge"], "--split does not go with --merge, which reads no documents"),
        (["--delete", "x"], "--split does not go with --delete"),
        (["--import-seal", "x"], "--split does not go with --import-seal, which takes an index as a whole"),
    ],
)
def test_what_a_split_does_not_go_with(call: Runner, directory: Path, options: list[str], told: str) -> None:
    assert_fault(call(main, "--index", directory, *options, "--split", "words:20:5"), 2, told)


def test_an_index_of_whole_documents_is_not_split_later(call: Runner, tiny_index: Path, corpus: Path) -> None:
    words = ["--index", tiny_index, "--append", "--input", corpus, "--split", "words:20"]
    assert_fault(call(main, *words), 2, "its documents are not split, and an index keeps its own; leave out")
