"""`index.json` alone: what it says comes back, and what makes no sense is told in one line."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from seal_ir.errors import IndexDirError
from seal_ir.formats.collections.stored import stored_fields
from seal_ir.index.manifest import (
    MANIFEST,
    Deletions,
    Manifest,
    SegmentInfo,
    manifest_checksum,
    read_manifest,
    tokenizer_name,
)
from seal_ir.text.symbols import MAX_FURTHER
from tests.helpers.indexes import edit

FILES = {
    name: {"size": size, "sha256": "0" * 64} for size, name in enumerate(("s/fm.bin", "t/fm.bin", "d.npy"), 1)
}
FIRST = SegmentInfo("s", "native", "default", 3, 30, Deletions("d.npy", 1, 10))
KNOWN = Manifest(
    model="tiny \u00e9",
    tokenizer="0123456789abcdef",
    fields=("title", "body", "tag"),
    library="",
    segments=(FIRST, SegmentInfo("t", "native", "small", 1, 5)),
    files=FILES,
    collection={"kind": "test", "split": "words:3"},
    stored={"year": "int", "passage_start": "int", "passage_end": "int"},
)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / MANIFEST).write_text(KNOWN.to_json(), encoding="utf-8")
    return tmp_path


def test_what_is_written_comes_back(directory: Path) -> None:
    read = read_manifest(directory)
    assert read == KNOWN
    assert (read.version, read.unknown) == (5, ())
    assert (read.n_documents, read.n_tokens, read.n_bytes) == (3, 25, 6)
    assert [(part.n_live, part.n_live_tokens) for part in read.segments] == [(2, 20), (1, 5)]
    assert (read.further_fields, read.split) == (("tag",), "words:3")
    assert [field.name for field in read.stored_fields] == ["year", "passage_start", "passage_end"]
    assert read.record_fields == stored_fields(["year:int"])  # places of passages are the index's own
    values = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    assert (values["format"], values["n_documents"], values["n_tokens"]) == (5, 3, 25)
    assert "deleted" not in values["segments"][1]
    bare = Manifest("tiny", "0" * 64, ("title", "body"), "", (FIRST,), FILES, {})
    assert "stored" not in json.loads(bare.to_json())
    assert (bare.split, bare.record_fields, bare.further_fields) == (None, (), ())


def test_files_that_every_segment_has() -> None:
    def having(*names: str) -> Manifest:
        files = {name: {"size": 1, "sha256": ""} for name in names}
        return Manifest("", KNOWN.tokenizer, ("title", "body"), "", KNOWN.segments, files, {})

    assert tokenizer_name(KNOWN.tokenizer) == "tokenizer.01234567.json"
    assert having("tokenizer.01234567.json").tokenizer_file == "tokenizer.01234567.json"
    assert having().tokenizer_file == "tokenizer.json"
    for name, attribute in (("raw.arrow", "has_raw"), ("tokens.bin", "has_stores")):
        assert getattr(having(f"s/{name}", f"t/{name}"), attribute)
        assert not getattr(having(f"s/{name}"), attribute)


def test_the_checksum_is_that_of_the_page_about_the_format() -> None:
    values = {"b": "\u00e9", "a": [1, {"d": None, "c": 0.5}]}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    assert manifest_checksum(values) == hashlib.sha256(text.encode()).hexdigest()


SEGMENTS = json.loads(KNOWN.to_json())["segments"]
SENSELESS = "what it says of the deletions of s makes no sense"


def deleted(**values: Any) -> list[dict[str, Any]]:
    return [SEGMENTS[0] | {"deleted": SEGMENTS[0]["deleted"] | values}, SEGMENTS[1]]


def files_and(name: str) -> dict[str, Any]:
    return {**FILES, name: {"size": 1, "sha256": ""}}


BAD: list[tuple[dict[str, Any], str]] = [
    ({"n_documents": 4}, "totals are not the sum of the segments"),
    ({"n_tokens": 26}, "totals are not the sum of the segments"),
    ({"fields": ["body", "title"]}, "its fields are ('body', 'title')"),
    ({"fields": ["title"]}, "its fields are ('title',)"),
    ({"stored": {"year": "date"}}, "it stores a field as 'date'"),
    ({"segments": deleted(n_documents=0), "n_documents": 4}, SENSELESS),
    ({"segments": deleted(n_documents=4), "n_documents": 0}, SENSELESS),
    ({"segments": deleted(n_tokens=0), "n_tokens": 35}, SENSELESS),
    ({"segments": deleted(n_tokens=31), "n_tokens": 4}, SENSELESS),
    ({"segments": deleted(file="e.npy")}, SENSELESS),
    ({"files": files_and("../x")}, "it names '../x', which is not below the directory"),
    ({"files": files_and("a/../../x")}, "it names 'a/../../x', which is not below the directory"),
    ({"files": files_and("/x")}, "it names '/x', which is not below the directory"),
    ({"files": files_and("x\0")}, "it names 'x\\x00', which is not below the directory"),
    ({"files": {**FILES, "x": {"size": 1}}}, "no 'sha256'"),
    ({"files": {**FILES, "x": {"sha256": ""}}}, "no 'size'"),
]


@pytest.mark.parametrize(("values", "told"), BAD, ids=lambda value: str(value)[:40])
def test_what_makes_no_sense_is_told(directory: Path, values: dict[str, Any], told: str) -> None:
    edit(directory, **values)
    with pytest.raises(IndexDirError) as error:
        read_manifest(directory)
    assert (
        str(error.value)
        == f"{directory / MANIFEST}: damaged ({told}); rebuild it with python -m seal_ir.index"
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "it is no JSON object"),
        ("{}", "it names no format"),
        ('{"format": 5}', "no 'checksum'"),
        ('{"format": 5, "checksum": ""}', "its checksum differs"),
    ],
)
def test_a_file_that_says_something_else(directory: Path, text: str, told: str) -> None:
    (directory / MANIFEST).write_text(text, encoding="utf-8")
    with pytest.raises(IndexDirError) as error:
        read_manifest(directory)
    assert (
        str(error.value)
        == f"{directory / MANIFEST}: damaged ({told}); rebuild it with python -m seal_ir.index"
    )


def test_a_manifest_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).mkdir()
    with pytest.raises(IndexDirError) as error:
        read_manifest(tmp_path)
    assert str(error.value) == (
        f"{tmp_path / MANIFEST}: cannot be read (Is a directory); check its permissions"
    )


def test_further_fields_came_with_format_3_and_are_so_many_at_most(directory: Path) -> None:
    fields = ["title", "body", *(f"f{number}" for number in range(MAX_FURTHER))]
    edit(directory, fields=fields, format=3)
    assert read_manifest(directory).further_fields == tuple(fields[2:])
    for values in ({"fields": [*fields, "more"]}, {"fields": fields[:3], "format": 2}):
        edit(directory, **values)
        with pytest.raises(IndexDirError, match=r"index.json: damaged \(its fields are \("):
            read_manifest(directory)
    edit(directory, fields=fields[:2], format=2)
    assert read_manifest(directory).version == 2


def test_keys_of_newer_versions_are_named_once(directory: Path) -> None:
    known = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    segments = [part | {"x": 1} for part in known["segments"]]
    segments[0]["deleted"] |= {"y": 2}
    files = {name: entry | {"z": 3} for name, entry in known["files"].items()}
    edit(directory, segments=segments, files=files, unknown=[], new=4)
    read = read_manifest(directory)
    assert read == KNOWN
    assert set(read.unknown) == {"new", "unknown", "segments.x", "segments.deleted.y", "files.z"}
    assert len(read.unknown) == 5
