"""Where the texts of passages come from: which index a name means, what a collection and an index give."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.eval.texts import (
    bodies_of,
    collection_texts,
    index_passages,
    searched_directory,
    searched_passages,
    searched_texts,
)
from seal_ir.formats.io.resolve import Places
from tests.helpers import tiny

BODIES = {"d1": tiny.SENTENCES[0], "d3#0": tiny.SENTENCES[2], "d6": tiny.LITERAL}


@pytest.fixture
def built(tiny_index: Path, tmp_path: Path) -> Places:
    """The tiny index under the name `tiny`, and a folder without an index beside it."""
    places = Places(None, tmp_path / "collections", tmp_path / "cache")
    folder = places.cache / "indexes"
    (folder / "empty").mkdir(parents=True)
    (folder / "tiny").symlink_to(tiny_index)
    return places


def test_a_directory_goes_before_a_name(
    built: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert searched_directory("tiny", built) == built.cache / "indexes" / "tiny"
    assert searched_directory("empty", built) == Path("empty")  # nothing was built there
    assert searched_directory("other", built) == Path("other")
    Path("tiny").mkdir()
    assert searched_directory("tiny", built) == Path("tiny")


@pytest.mark.parametrize("batch", [1, 2, 2048])
def test_bodies_by_name_of_the_index(built: Places, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seal_ir.eval.texts._BATCH", batch)
    passages = searched_passages("tiny", built)
    assert passages.texts(["d6", "nowhere", "d3#0", "d1", "d6"]) == BODIES
    assert passages.known(["d6", "nowhere", "d1"]) == {"d6", "d1"}
    assert searched_texts("tiny", built)(["d1"]) == {"d1": BODIES["d1"]}
    with pytest.raises(IndexDirError, match="other"):
        searched_texts("other", built)


def test_a_damaged_index_is_found_before_anything_is_measured(tiny_index: Path, tmp_path: Path) -> None:
    copy = tmp_path / "index"
    shutil.copytree(tiny_index, copy)
    (ids,) = copy.glob("segment-*/ids.arrow")
    found = bytearray(ids.read_bytes())
    found[-10] ^= 1
    ids.write_bytes(found)
    with pytest.raises(IndexDirError, match=r"ids\.arrow"):
        index_passages(copy)


def test_of_a_lucene_index_too_ids_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the name means is opened, and has what it gives a text for."""
    (tmp_path / "segments_1").touch()
    opened: list[Path] = []

    def texts(directory: Path) -> object:
        opened.append(directory)
        return lambda docids: {docid: BODIES[docid] for docid in docids if docid in BODIES}

    monkeypatch.setattr("seal_ir.eval.texts.lucene_texts", texts)
    passages = searched_passages(str(tmp_path), Places(None, tmp_path, tmp_path))
    assert opened == [tmp_path]
    assert passages.texts(["d1", "x"]) == {"d1": BODIES["d1"]}
    assert passages.known(["d1", "x", "d6"]) == {"d1", "d6"}


def test_of_a_collection_only_what_is_asked_for_is_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Malformed lines are passed over, as where it was indexed; files that are left out are told."""
    lines = [json.dumps({"id": docid, "contents": f"body of {docid}"}) for docid in "abc"]
    (tmp_path / "corpus.jsonl").write_text("\n".join([*lines, "{", '{"id": "d"}']), encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "?"}), encoding="utf-8")
    texts = collection_texts("JsonCollection", tmp_path)
    note = f"{tmp_path}: laid out as BEIR's, only the corpus is read; left out: queries.jsonl\n"
    assert capsys.readouterr().err == note
    assert texts(["a", "c", "x", "d"]) == {"a": "body of a", "c": "body of c"}
    assert texts(iter(["b"])) == {"b": "body of b"}
    assert capsys.readouterr().err == ""
    collection_texts("JsonCollection", tmp_path / "corpus.jsonl")
    assert capsys.readouterr().err == ""
    with pytest.raises(UsageError, match="unknown collection 'Foo'"):
        collection_texts("Foo", tmp_path)
    with pytest.raises(InputError, match=r"none\.jsonl: no such file"):
        collection_texts("JsonCollection", tmp_path / "none.jsonl")


def test_passages_that_the_source_lacks_are_counted_once() -> None:
    asked: list[list[str]] = []

    def texts(docids: Iterable[str]) -> dict[str, str]:
        asked.append(list(docids))
        return {"a": "A", "e": "E"}

    assert bodies_of(["a", "a"], texts, ["e", "f", "a", "e"]) == {"a": "A", "e": "E"}  # f may be lacking
    assert asked.pop() == ["a", "e", "f"]
    with pytest.raises(InputError) as told:
        bodies_of(["a", "b", "c", "b"], texts)
    assert str(told.value) == (
        "2 of 3 passages in the runs, such as 'b', are not in the index or collection given; name the one"
        " that was searched"
    )
