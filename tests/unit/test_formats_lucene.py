"""Lucene indexes and Pyserini's names, as far as no Java is needed: what is asked for, and what is not."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import InputError, UsageError
from seal_ir.formats.collections import lucene
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.collections.stored import StoredField
from seal_ir.formats.io import named_elsewhere, pyserini_records
from seal_ir.formats.io.resolve import Places, resolve_qrels, resolve_topics

PLACES = Places(data=None, collections=Path("none"), cache_folder=Path("nowhere"))


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[list[Any]]:
    """Stored documents that every index holds."""
    rows: list[list[Any]] = []

    def records(kind: str, name: str) -> Iterator[list[Any]]:
        assert kind == "documents"
        yield from rows

    monkeypatch.setattr(lucene, "pyserini_records", records)
    return rows


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (["a", '{"id": 7, "contents": "tea", "title": "T"}', None, None], ("T", "tea")),  # Lucene's id
        (["a", '{"id": "a", "title": "T", "text": "tea"}', "T tea", None], ("T", "tea")),
        (["a", '{"pid": "a", "passage": "tea"}', None, None], ("", "tea")),
        (["a", '{"docid": "a", "title": "T", "body": "tea"}', None, None], ("T", "tea")),
        (["a", '{"docid": "a", "headings": "h"}', "tea", None], ("", "tea")),
        (["a", "tea {", None, None], ("", "tea {")),
        (["a", "{tea", "cake", "T"], ("T", "cake")),
        (["a", "[1]", None, None], ("", "[1]")),
        (["a", "<3 tea", None, None], ("", "<3 tea")),
        (["a", "<!-- x --><p>a&lt;b</p><br/>c", None, None], ("", "a<b c")),
        (["a", "", None, "T"], ("T", "")),
    ],
)
def test_what_is_stored_and_what_it_becomes(
    rows: list[list[Any]], tmp_path: Path, row: list[Any], expected: tuple[str, str]
) -> None:
    (tmp_path / "segments_2").touch()
    rows.append(row)
    (document,) = Collection("LuceneIndex", tmp_path, ReadOptions(keep_raw=True))
    assert (document.id, document.title, document.text) == ("a", *expected)
    assert document.raw == row[1]


def test_fields(rows: list[list[Any]], tmp_path: Path) -> None:
    (tmp_path / "segments_2").touch()
    rows.append(["a", '{"docid": "1-2", "contents": "tea", "year": 1984}', None, None])
    options = ReadOptions(fields=("docid",), stored=(StoredField("year", "int"),))
    (document,) = Collection("LuceneIndex", tmp_path, options)
    assert (document.id, document.further) == ("a", (("docid", "1-2"),))
    assert document.stored == (("year", 1984),)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([None, "tea", None, None], "no stored field id"),
        (["a", None, None, "T"], "document 'a' has neither raw nor contents stored"),
        (["a", '{"n": 1}', None, None], 'no "contents" (its keys: '),
        (["a b", "tea", None, None], '"id" has white space'),
        (["a", '{"contents": "\\ud800"}', None, None], "half a surrogate pair"),
    ],
)
def test_malformed(rows: list[list[Any]], tmp_path: Path, row: list[Any], reason: str) -> None:
    (tmp_path / "segments_2").touch()
    rows.append(row)
    with pytest.raises(InputError) as error:
        list(Collection("LuceneIndex", tmp_path))
    assert str(error.value).startswith(f"{tmp_path}:1: ")
    assert reason in str(error.value)
    skipping = Collection("LuceneIndex", tmp_path, ReadOptions(malformed="skip"))
    assert list(skipping) == []
    assert skipping.counts.malformed == 1


@pytest.mark.parametrize("name", ["../x", "a/b", "~/lucene", "/nowhere", ".", "a b"])
def test_no_index_and_no_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no Lucene index there; give the directory"):
        Collection("LuceneIndex", Path(name))


@pytest.mark.parametrize(
    ("program", "error", "told"),
    [
        ("print('[1]'); print('{\"end\": 1}')", None, ""),
        ("print('[1]'); print('{\"error\": \"so it is\"}')", InputError, "topics of x: so it is"),
        ('print(\'{"usage": "install it"}\')', UsageError, "install it"),
        ("print('[1]'); print('[2', end='')", InputError, "was killed"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", InputError, "was killed"),
    ],
)
def test_the_process_that_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, error: type[Exception] | None, told: str
) -> None:
    (tmp_path / "other_program.py").write_text(f"{program}\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pyserini_records, "_PROGRAM", "other_program")
    if error is None:
        assert list(pyserini_records.pyserini_records("topics", "x")) == [[1]]
    else:
        with pytest.raises(error, match=told):
            list(pyserini_records.pyserini_records("topics", "x"))


def test_the_process_ends_with_the_iteration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "other_program.py").write_text("while True: print('[1]')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(pyserini_records, "_PROGRAM", "other_program")
    rows = pyserini_records.pyserini_records("topics", "x")
    assert next(rows) == [1]
    rows.close()  # type: ignore[attr-defined]  # would wait for ever


def test_names_that_pyserini_is_not_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Names of ours, words that are in none of its tables, and all where it is not installed."""
    package = tmp_path / "pyserini" / "search"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    topics, judged = "{\n 'robust04': 'A',\n 'only-topics': 'B'}", "{\n 'robust04': 'C'}"
    table = f"topics_mapping = {topics}\nqrels_mapping = {judged}\n"
    (package / "_base.py").write_text(table)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pyserini", raising=False)
    asked = []

    def records(kind: str, name: str) -> Iterator[list[Any]]:
        asked.append((kind, name))
        yield ["1", "tea"]

    monkeypatch.setattr(named_elsewhere, "pyserini_records", records)
    places = PLACES.__class__(None, tmp_path / "none", tmp_path / "cache")
    for name in ("robust", "robust04x", "x y", "A"):
        with pytest.raises(InputError, match="no such name"):
            resolve_topics(name, places)
    assert resolve_qrels("nq-test", places) is None
    assert resolve_qrels("only-topics", places) is None
    assert asked == []
    for name in ("robust04", "msmarco-v1-passage.dev.splade"):
        assert resolve_topics(name, places).read_text() == '{"qid": "1", "question": "tea"}\n'
    assert resolve_qrels("robust04", places) == tmp_path / "cache/qrels/pyserini/robust04.trec"
    assert asked == [
        ("topics", "robust04"), ("topics", "msmarco-v1-passage.dev.splade"), ("qrels", "robust04")
    ]  # fmt: skip
    monkeypatch.setattr(named_elsewhere, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="no such name"):
        resolve_topics("only-topics", places)
