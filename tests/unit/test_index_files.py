"""An index directory is checked when it is opened."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import seal_ir
from seal_ir.errors import IndexDirError, ModelError, UsageError
from seal_ir.index import manifest as manifests
from seal_ir.index.engine import ENGINES, EngineSpec
from seal_ir.index.manifest import MANIFEST, read_manifest
from seal_ir.index.reader import Index
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import tiny
from tests.helpers.indexes import content, edit, part, plain, refused

FILES = [
    "segment-000000/fm.bin",
    "segment-000000/ids.arrow",
    "segment-000000/by_id.npy",
    "segment-000000/texts.arrow",
    "segment-000000/raw.arrow",
    "segment-000000/tokens.bin",
    "segment-000001/fm.bin",
    "segment-000001/ids.arrow",
    "segment-000001/by_id.npy",
    "segment-000001/texts.arrow",
    "segment-000001/raw.arrow",
    "segment-000001/tokens.bin",
    "tokenizer.json",
]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("original") / "index"
    documents = [document._replace(raw=f'{{"id": "{document.id}"}}') for document in tiny.DOCUMENTS]
    tiny.build(directory, documents, max_segment_tokens=100, store_raw=True)
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    return Path(shutil.copytree(original, tmp_path / "index"))


def test_the_files_are_those_of_the_manifest(original: Path) -> None:
    manifest = read_manifest(original)
    assert len(manifest.segments) == 2
    assert set(content(original)) == {*manifest.files, MANIFEST}
    assert set(FILES) == {plain(name) for name in manifest.files}
    assert Index(original).manifest.n_bytes == sum(map(len, content(original).values())) - len(
        (original / MANIFEST).read_bytes()
    )


def test_d6_the_untouched_copy_opens(directory: Path) -> None:
    assert Index(directory).documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS


def test_d6_sizes_are_always_checked(directory: Path) -> None:
    for path in (part(directory, name) for name in FILES):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with pytest.raises(IndexDirError, match=f"{path}: damaged, {len(whole) - 1} bytes"):
            Index(directory, check="sizes")
        path.unlink()
        with pytest.raises(IndexDirError, match=f"{path}: missing"):
            Index(directory, check="sizes")
        path.write_bytes(whole)
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)


@pytest.mark.parametrize("name", FILES)
def test_d6_damaged_files_are_named(directory: Path, name: str) -> None:
    path = part(directory, name)
    whole = path.read_bytes()
    for at in (0, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        assert f"{path}: damaged, its checksum differs" in refused(directory)
    for cut in (whole[:-1], whole[: len(whole) // 2], b"", whole + b"\0"):
        path.write_bytes(cut)
        assert f"{path}: damaged, {len(cut)} bytes instead of {len(whole)}" in refused(directory)
    path.unlink()
    assert f"{path}: missing" in refused(directory)


@pytest.mark.parametrize(
    "name", ["segment-000000/ids.arrow", "segment-000000/by_id.npy", "segment-000001/texts.arrow"]
)
def test_d6_damage_where_only_sizes_are_checked(directory: Path, name: str) -> None:
    path = part(directory, name)
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(IndexDirError, match=f"{path}: damaged"):
        Index(directory, check="sizes")


def test_a_check_that_there_is_not(original: Path) -> None:
    with pytest.raises(UsageError, match="check is 'all'; choose one of bytes, sizes"):
        Index(original, check="all")  # type: ignore[arg-type]


def test_files_of_a_large_index_are_checked_side_by_side(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "_PARALLEL_BYTES", 0)
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)
    for name in FILES:
        path = part(directory, name)
        whole = path.read_bytes()
        path.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
        assert f"{path}: damaged, its checksum differs" in refused(directory)
        path.write_bytes(whole)


@pytest.mark.slow
def test_d6_every_byte_of_the_manifest_counts(directory: Path) -> None:
    path = directory / MANIFEST
    whole = path.read_bytes()
    for at in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x01]) + whole[at + 1 :])
        with pytest.raises(IndexDirError, match="index.json"):
            read_manifest(directory)
    for at in range(0, len(whole) - 2, 50):
        path.write_bytes(whole[:at])
        with pytest.raises(IndexDirError, match="index.json: damaged"):
            read_manifest(directory)


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "3", "null", '"index"', "\ufeff{}", "[" * 100_000, '{"format": 1}'],
    ids=str.__len__,
)
def test_d6_a_manifest_that_is_none(directory: Path, text: str) -> None:
    (directory / MANIFEST).write_text(text, encoding="utf-8")
    assert f"{directory / MANIFEST}: damaged" in refused(directory)
    (directory / MANIFEST).write_bytes(b"\xff\xfe")
    assert "damaged" in refused(directory)


@pytest.mark.parametrize(
    "values",
    [
        {"segments": 3},
        {"segments": [3]},
        {"segments": []},
        {"segments": [{"name": "segment-000000"}]},
        {"segments": [{"name": "s", "engine": "sdsl", "n_documents": 7, "n_tokens": 160}]},
        {
            "segments": [
                {"name": "s", "engine": "sdsl", "layout": "default", "n_documents": "7", "n_tokens": "1"}
            ]
        },
        {"library": None, "format": 1, "n_documents": 3},
        {"n_tokens": 1},
        {"fields": None},
        {"files": None},
        {"files": {"tokenizer.json": 3}},
        {"files": {"tokenizer.json": {"sha256": "0"}}},
        {"files": {"../tokenizer.json": {"sha256": "0", "size": 1}}},
        {"segments": {"name": "segment-000000"}},
    ],
    ids=str,
)
def test_d6_a_manifest_edited_by_hand(directory: Path, values: dict[str, Any]) -> None:
    edit(directory, **values)
    assert f"{directory / MANIFEST}: damaged" in refused(directory)


FORMATS = {
    "0": "0, this program reads 1 to 5; rebuild it",
    "-1": "-1, this program reads 1 to 5; rebuild it",
    "6": "6, this program reads 1 to 5; update this program, or rebuild it",
    "1" + "0" * 5000: "1" + "0" * 56 + "..., this program reads 1 to 5; update this program, or rebuild it",
    '"2"': "'2' is no whole number, this program reads 1 to 5; rebuild it",
    "2.0": "2.0 is no whole number, this program reads 1 to 5; rebuild it",
    "1e999": "inf is no whole number, this program reads 1 to 5; rebuild it",
    "NaN": "nan is no whole number, this program reads 1 to 5; rebuild it",
    "true": "True is no whole number, this program reads 1 to 5; rebuild it",
    "null": "None is no whole number, this program reads 1 to 5; rebuild it",
    "[1]": "[1] is no whole number, this program reads 1 to 5; rebuild it",
}


@pytest.mark.parametrize("text", FORMATS, ids=lambda text: text[:9])
def test_d5_other_formats_are_told_from_damage(directory: Path, text: str) -> None:
    """What a newer manifest says beside its format need not be understood."""
    path = directory / MANIFEST
    for rest in ("", ', "shards": {}'):
        path.write_text(f'{{"format": {text}{rest}}}', encoding="utf-8")
        assert f"{path}: index format {FORMATS[text]}" in refused(directory)


def test_d5_no_format_at_all(directory: Path) -> None:
    (directory / MANIFEST).write_text('{"segments": []}', encoding="utf-8")
    assert f"{directory / MANIFEST}: damaged (it names no format)" in refused(directory)


def test_d5_j3_keys_of_a_newer_minor_version_are_passed_over_with_a_warning(directory: Path) -> None:
    known = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    first, *others = known["segments"]
    files = {name: entry | {"crc32": 7} for name, entry in known["files"].items()}
    segments = [first | {"frozen": "x"}, *others]
    edit(directory, segments=segments, files=files, longest={"title": 9}, version=5)
    told = "what it says of longest, version, segments.frozen, files.crc32 is passed over"
    with pytest.warns(UserWarning, match=told) as warned:
        index = Index(directory)
    assert len(warned) == 1
    assert index.documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS
    tiny.build(directory)  # and a build over it does not even mention them
    assert Index(directory).n_documents == len(tiny.DOCUMENTS)


def test_d5_an_older_format_opens(tmp_path: Path) -> None:
    """Format 1 said nothing of layouts and libraries, had one engine and no raw records."""
    directory = tmp_path / "index"
    tiny.build(directory, max_segment_tokens=100, engine=EngineSpec("sdsl"))
    values = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    del values["library"]
    for segment in values["segments"]:
        del segment["layout"]
    values |= {"format": 1, "files": manifests.describe_files(directory)}
    (directory / MANIFEST).write_text(json.dumps(values), encoding="utf-8")
    edit(directory)
    index = Index(directory, check="bytes")
    assert index.documents(range(len(tiny.DOCUMENTS))) == tiny.DOCUMENTS
    assert index.raws([0, 6]) == [None, None]
    assert (index.manifest.version, index.manifest.segments[0].layout) == (1, "default")
    edit(directory, segments=3)
    assert "index.json: damaged" in refused(directory)


def test_paths_that_are_no_index(tmp_path: Path) -> None:
    assert "no such index directory" in refused(tmp_path / "none")
    assert "not an index, it has no index.json" in refused(tmp_path)
    (tmp_path / "file").touch()
    assert "no such index directory" in refused(tmp_path / "file")


def test_another_tokenizer(directory: Path) -> None:
    """By checksum, and, where the manifest was made to agree, by fingerprint."""
    pieces = json.loads(tiny.tokenizer().definition)
    pieces["model"]["merges"].pop()
    path = part(directory, "tokenizer.json")
    path.write_text(json.dumps(pieces), encoding="utf-8")
    files = dict(read_manifest(directory).files)
    assert str(path) in refused(directory)
    fresh = manifests.describe_files(directory)
    edit(directory, files=files | {path.name: fresh[path.name]})
    assert f"{path.name} is not the index's own; rebuild" in refused(directory)


def test_another_tokenizer_that_nobody_has_checked(directory: Path) -> None:
    """Where only sizes were compared, it is found when it is used."""
    path = part(directory, "tokenizer.json")
    whole = path.read_text(encoding="utf-8")
    pieces = json.loads(whole)
    pieces["model"]["merges"].pop()
    changed = json.dumps(pieces, ensure_ascii=False).encode()
    path.write_bytes(changed.ljust(len(whole.encode())))
    with pytest.raises(IndexDirError, match=f"{path.name} is not the index's own; rebuild"):
        Index(directory, check="sizes").documents([0])
    path.write_text("x" * len(whole.encode()), encoding="utf-8")
    with pytest.raises(ModelError, match=r"not a tokenizer.json"):
        Index(directory, check="sizes").documents([0])


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    tiny.build(tmp_path / "index", engine=EngineSpec(name))
    monkeypatch.setitem(sys.modules, f"seal_ir._{name}", None)
    monkeypatch.delattr(seal_ir, f"_{name}", raising=False)
    build = lambda: tiny.build(tmp_path / "other", engine=EngineSpec(name))  # noqa: E731
    for call in (lambda: Index(tmp_path / "index"), build):
        with pytest.raises(IndexDirError, match=r"engine was not built here: .*make install"):
            call()
    assert not (tmp_path / "other").exists()


def test_an_engine_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown index engine 'bwt'; this version has: native, sdsl"):
        EngineSpec("bwt")
    tiny.build(tmp_path / "i")
    (segment,) = json.loads((tmp_path / "i" / MANIFEST).read_text(encoding="utf-8"))["segments"]
    edit(tmp_path / "i", segments=[segment | {"engine": "bwt"}])
    with pytest.raises(IndexDirError, match="unknown index engine 'bwt'; this version has: native, sdsl"):
        Index(tmp_path / "i")


def test_d10_nothing_is_pickled(original: Path) -> None:
    for name, data in content(original).items():
        assert not data.startswith(b"\x80"), name
        assert b"'descr': '|O'" not in data, name


def test_manifest_of_a_lossless_round_trip(original: Path) -> None:
    manifest = read_manifest(original)
    assert json.loads((original / MANIFEST).read_text(encoding="utf-8")) == json.loads(manifest.to_json())
    assert manifest.tokenizer == TextTokenizer.from_file(part(original, "tokenizer.json")).fingerprint
    assert (manifest.model, manifest.fields) == ("tiny", ("title", "body"))
