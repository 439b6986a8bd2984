"""`SealIndexer`: what it takes, refuses and leaves; answers are those of property/test_changing_index.py."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import seal_ir
from seal_ir.errors import ArgumentError, InputError, ModelError, SealError, UsageError
from seal_ir.index import parts
from seal_ir.index.builder import BuildOptions
from seal_ir.index.directory import LOCK
from seal_ir.index.indexer import SealIndexer
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.keys.provenance import text_fingerprint
from seal_ir.records import Document
from tests.helpers import tiny
from tests.helpers.indexes import content, ids

NEW = Document("new", "New", "Another text of the sea.")
FROZEN = sorted(Path(__file__).parents[1].glob("data/index_v*"))


@pytest.fixture
def directory(tiny_index: Path, tmp_path: Path) -> Path:
    """A copy of an index, that is to be changed."""
    return Path(shutil.copytree(tiny_index, tmp_path / "index"))


OLD = [document.id for document in tiny.DOCUMENTS]


def test_documents_come_in_every_form(tmp_path: Path) -> None:
    records: list[Any] = [
        Document("a", "Paris", "The capital."),
        {"id": "b", "contents": '"Tokyo"\nThe largest city.'},
        {"id": 7, "title": "Sea", "text": "Deep.", "tag": ["x", "y"], "unknown": 1},
        '{"id": "d", "contents": "Only text."}',
    ]
    options = BuildOptions(store_raw=True, fields=("tag",))
    with seal_ir.SealIndexer(tmp_path / "i", tiny.tokenizer(), options=options) as writer:
        writer.add(record for record in records)
        assert writer.n_documents == 4
        assert not (tmp_path / "i" / MANIFEST).exists()
    index = Index(tmp_path / "i")
    assert index.documents(range(4)) == [
        Document("a", "Paris", "The capital."),
        Document("b", "Tokyo", "The largest city."),
        Document("7", "Sea", "Deep.", further=(("tag", "x"), ("tag", "y"))),
        Document("d", "", "Only text."),
    ]
    assert index.raws(range(4)) == [None, json.dumps(records[1]), json.dumps(records[2]), records[3]]
    assert index.manifest.collection == {"kind": "SealIndexer", "added": 4, "deleted": 0}


@pytest.mark.parametrize(
    ("docs", "told"),
    [
        ("text", "docs is 'text' (str), a single one"),
        ({"id": "a"}, "docs is a mapping"),
        ([7], "docs[0] is 7 (int); it must be a Document, a dict or JSON text"),
        ([NEW, {"contents": "x"}], 'docs[1]: no "id"'),
        ([NEW, {"id": "x"}], 'docs[1]: no "contents"'),
        ([NEW, {"id": "a b", "contents": "x"}], "docs[1]: "),
        ([NEW, {"id": "x", "contents": 3}], 'docs[1]: "contents" is 3'),
        ([NEW, "no json"], "docs[1]: not JSON"),
        ([NEW, {"id": "x", "contents": "x", "n": object()}], "docs[1] cannot be written as JSON"),
        ([NEW, Document("x", "", "", further=(("tag", "x"),))], "docs[1] has a field 'tag'"),
        ([NEW, Document("d1", "", "x")], "the id 'd1' is there already"),
        ([NEW, NEW], "the id 'new' is there already"),
    ],
)
def test_what_is_no_document_is_refused_and_nothing_of_the_call_stays(
    directory: Path, docs: Any, told: str
) -> None:
    with SealIndexer(directory) as writer:
        for call in (writer.add, writer.update):
            if call == writer.update and "already" in told:
                continue
            with pytest.raises(SealError) as error:
                call(docs)
            assert "\n" not in str(error.value)
            if call == writer.add:
                assert told in str(error.value)
        assert writer.n_documents == len(OLD)
    assert ids(directory) == OLD


def test_a_call_that_fails_late_is_taken_back_as_a_whole(directory: Path) -> None:
    def documents_with_a_fault() -> Any:
        yield from (Document(f"n{i}", "", "text") for i in range(1500))
        yield Document("d2", "", "in the place of another")
        raise KeyError("theirs")

    with SealIndexer(directory) as writer:
        writer.add([NEW])
        writer.delete(["d1"])
        for _ in range(2):
            with pytest.raises(KeyError):
                writer.add(documents_with_a_fault(), "last")
        assert writer.n_documents == len(OLD)
        writer.add([Document("n3", "", "now it is mine")])
    assert ids(directory) == [*OLD[1:], "new", "n3"]
    assert Index(directory).documents([len(OLD)])[0].text == "now it is mine"


def test_a_document_that_is_too_long_leaves_the_others(directory: Path) -> None:
    with SealIndexer(directory, options=BuildOptions(max_segment_tokens=30)) as writer:
        writer.add([Document("short", "", "the sea")])
        with pytest.raises(InputError, match="a segment holds at most 30"):
            writer.add([Document("long", "", "the sea " * 50)])
        writer.add([Document("shorter", "", "sea " * 20)])
    assert ids(directory) == [*OLD, "short", "shorter"]


def test_what_is_not_there_is_refused_or_skipped(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        with pytest.raises(InputError, match=re.escape(f"{directory}: there is no document with the id 'x'")):
            writer.delete(["d1", "x"])
        with pytest.raises(InputError, match="no document with the id 'new'"):
            writer.update([Document("d1", "", ""), NEW])
        with pytest.raises(ArgumentError, match="a single one"):
            writer.delete("d1")
        writer.delete({"x", "d2"}, missing="skip")
        with pytest.raises(UsageError, match="missing is 'no'"):
            writer.delete([], missing="no")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="duplicates is 'no'"):
            writer.add([], duplicates="no")  # type: ignore[arg-type]
    assert ids(directory) == [docid for docid in OLD if docid != "d2"]


def test_an_index_holds_at_least_one_document(directory: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="an index holds at least one"), SealIndexer(directory) as writer:
        writer.delete(OLD)
    assert ids(directory) == OLD
    with SealIndexer(directory) as writer:
        writer.delete(OLD)
        with pytest.raises(InputError, match="an index holds at least one"):
            writer.commit()
        writer.add([NEW])
    assert ids(directory) == ["new"]
    with SealIndexer(tmp_path / "none", tiny.tokenizer()):
        pass
    assert not (tmp_path / "none").exists()


def test_one_writer_at_a_time_and_a_closed_one_says_so(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        with pytest.raises(UsageError, match="another process is building this index"):
            SealIndexer(directory)
        with pytest.raises(UsageError, match="another process is building this index"):
            tiny.build(directory)
    writer.close()
    for call in (lambda: writer.add([NEW]), lambda: writer.delete(["d1"]), writer.commit, writer.merge):
        with pytest.raises(UsageError, match="this writer is closed; open another one"):
            call()
    assert not (directory / LOCK).exists()


def test_the_model_is_that_of_the_index(directory: Path, tmp_path: Path) -> None:
    same = tiny.save_tokenizer(tmp_path / "same")
    with SealIndexer(directory, same) as writer:
        writer.add([NEW])
    other = tmp_path / "other"
    other.mkdir()
    shutil.copy(FROZEN[0] / "tokenizer.json", other / "tokenizer.json")
    before = content(directory)
    with pytest.raises(
        ModelError, match=r"built with the tokenizer of 'tiny', which is not that of '.*other'"
    ):
        SealIndexer(directory, other)
    assert content(directory) == before
    with pytest.raises(UsageError, match="holds files that are not an index"):
        SealIndexer(tmp_path, tiny.tokenizer())


@pytest.mark.slow
@pytest.mark.parametrize("frozen", FROZEN, ids=lambda path: path.name)
def test_indexes_of_every_format_are_changed(frozen: Path, tmp_path: Path) -> None:
    directory = Path(shutil.copytree(frozen, tmp_path / "index"))
    before = Index(directory).documents(range(4))
    for merges in (False, True):
        with SealIndexer(directory) as writer:
            writer.add([Document(f"new{merges}", "calm", "the  sea")])
            writer.delete([before.pop(0).id])
            if merges:
                writer.merge()
        index = Index(directory)
        assert index.documents(range(len(before))) == before
        assert index.raws([0]) == [Index(frozen).raws([1])[0] if not merges else Index(frozen).raws([2])[0]]
        before = index.documents(range(index.n_documents))
    assert set(content(directory)) == {*read_manifest(directory).files, MANIFEST}


def test_only_what_is_new_is_written(directory: Path) -> None:
    stamps = {path: path.stat().st_ino for path in directory.glob("segment-*/*")}
    with SealIndexer(directory, options=BuildOptions(max_segment_tokens=150)) as writer:
        writer.add([NEW])
        writer.delete(["d1"])
    assert {path: path.stat().st_ino for path in stamps} == stamps
    index = Index(directory)
    assert [segment.n_live for segment in index.manifest.segments] == [6, 1]
    fingerprint = text_fingerprint(index.manifest)
    with SealIndexer(directory, options=BuildOptions(max_segment_tokens=150)) as writer:
        writer.delete(["d2"])
    assert text_fingerprint(Index(directory).manifest) != fingerprint  # keys of before mean nothing now


def test_merging_small_segments_leaves_the_others_where_they_are(directory: Path) -> None:
    with SealIndexer(directory, options=BuildOptions(max_segment_tokens=400)) as writer:
        writer.add(Document(f"n{i}", "", "sea " * 30) for i in range(10))
        writer.delete(["d2"])
        writer.commit()
        first = writer.manifest.segments[0]
        assert first.deleted is not None
        for i in range(4):
            writer.add([Document(f"m{i}", "", "sea")])
            writer.commit()
    segments = Index(directory).manifest.segments
    assert segments[0] == first
    assert segments[-1].n_documents == 4


def test_a_reader_keeps_what_it_has_opened(directory: Path) -> None:
    index = Index(directory)
    with SealIndexer(directory) as writer:
        writer.delete(["d1"])
        writer.add([NEW])
        writer.merge()
    assert index.documents(range(7)) == tiny.DOCUMENTS
    assert ids(directory) == [*OLD[1:], "new"]


def test_many_documents_are_looked_up_like_few(directory: Path) -> None:
    with SealIndexer(directory) as writer:
        writer.add(Document(f"n{i}", "", "sea") for i in range(200))
        writer.delete(f"n{i}" for i in range(0, 200, 2))
        writer.commit()
        writer.add((Document(f"n{i}", "", "land") for i in range(200)), "first")
    index = Index(directory)
    assert sorted(ids(directory)) == sorted([*OLD, *(f"n{i}" for i in range(200))])
    texts = {d.id: d.text for d in index.documents(range(index.n_documents))}
    assert all(texts[f"n{i}"] == ("sea" if i % 2 else "land") for i in range(200))


def test_closed_parts_are_opened_once(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    known = parts.DocumentTable

    def counted(folder: Path, *args: Any, **options: Any) -> Any:
        opened.append(folder)
        return known(folder, *args, **options)

    monkeypatch.setattr(parts, "DocumentTable", counted)
    with SealIndexer(directory) as writer:
        for i in range(3):
            writer.add([Document(f"n{i}", "", "sea")])
            writer.commit()
    assert len(opened) == len(set(opened)) == 4 + 1  # and the fourth segment makes a merged one
