"""What a writer begins with: manifest, tokenizer and cutter of a new index, or of the one that is there."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from seal_ir.errors import IndexDirError, ModelError, UsageError
from seal_ir.formats.collections.splitting import Split
from seal_ir.index import home
from seal_ir.index.builder import BuildOptions
from seal_ir.index.engine import EngineSpec
from seal_ir.index.home import begun, check_split, cutter_for, split_of
from seal_ir.index.manifest import Manifest, read_manifest
from seal_ir.text.pretrained import DEFAULT_MODEL
from tests.helpers import tiny

OPTIONS = BuildOptions(
    max_segment_tokens=500,
    engine=EngineSpec("sdsl"),
    store_raw=True,
    fields=("tag",),
    store=("year:int",),
    split="words:3",
    memory=1 << 40,
)


@pytest.fixture
def base(tmp_path: Path) -> Manifest:
    """A new index's manifest, without segments."""
    return begun(tmp_path / "new", tiny.tokenizer(), OPTIONS)[0]


def test_a_new_index_is_what_the_options_say(base: Manifest, tmp_path: Path) -> None:
    assert base == Manifest(
        model="",
        tokenizer=tiny.tokenizer().fingerprint,
        fields=("title", "body", "tag"),
        library="sdsl-lite 2.1.1, GPL-3.0-or-later",
        segments=(),
        files={},
        collection={"kind": "SealIndexer", "split": "words:3"},
        stored={"year": "int", "passage_start": "int", "passage_end": "int"},
    )
    plain, _ = begun(tmp_path / "new", tiny.tokenizer(), BuildOptions())
    assert (plain.fields, plain.library, plain.stored) == (("title", "body"), "", {})
    assert plain.collection == {"kind": "SealIndexer"}


def test_models_are_known_by_name_or_by_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[str] = []
    monkeypatch.setattr(home, "find_model", lambda name: found.append(name) or name)
    monkeypatch.setattr(home, "load_tokenizer", lambda name: tiny.tokenizer())
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    named = {None: DEFAULT_MODEL, "some/model": "some/model", Path("folder"): str(tmp_path / "folder")}
    for model, name in named.items():
        manifest, tokenizer = begun(tmp_path / "new", model, BuildOptions())
        assert (manifest.model, tokenizer) == (name, tiny.tokenizer())
    assert found == [DEFAULT_MODEL, "some/model", "folder"]


def test_an_index_that_is_there_knows_its_own(tiny_index: Path, tmp_path: Path) -> None:
    manifest, tokenizer = begun(tiny_index, None, BuildOptions(fields=("other",)))
    assert manifest == read_manifest(tiny_index)
    assert tokenizer.fingerprint == tiny.tokenizer().fingerprint
    assert begun(tiny_index, tiny.tokenizer(), BuildOptions())[0] == manifest
    lower = tiny.TextTokenizer(tiny.definition().replace('"normalizer":null', '"normalizer":{"type":"NFC"}'))
    assert lower.fingerprint != tokenizer.fingerprint
    with pytest.raises(ModelError) as error:
        begun(tiny_index, lower, BuildOptions())
    assert str(error.value) == (
        f"{tiny_index}: built with the tokenizer of 'tiny', which is not that of ''; leave the model out, or"
        " index the collection again"
    )
    with pytest.raises(UsageError, match=f"^{tiny_index}: its documents are not split, and an index keeps"):
        begun(tiny_index, None, BuildOptions(split="words:3"))
    directory = Path(shutil.copytree(tiny_index, tmp_path / "index"))
    path = directory / manifest.tokenizer_file
    path.write_bytes(b"x" * path.stat().st_size)
    with pytest.raises(IndexDirError, match=f"^{path}: damaged, its checksum differs"):
        begun(directory, None, BuildOptions())


@pytest.mark.parametrize(
    ("split", "kept", "told"),
    [
        ("words:3", None, "not split"),
        ("words:3", "words:4", "split by words:4"),
        ("words:3:1", "words:3", ""),
    ],
)
def test_an_index_keeps_its_split(base: Manifest, split: str, kept: str | None, told: str) -> None:
    has = replace(base, collection={"kind": "test"} | ({} if kept is None else {"split": kept}))
    with pytest.raises(UsageError) as error:
        check_split(Path("i"), has, BuildOptions(split=split))
    assert str(error.value) == (
        f"i: its documents are {told or 'split by words:3'}, and an index keeps its own; leave out --split"
        f" {split}, or index the collection anew"
    )
    check_split(Path("i"), has, BuildOptions())
    if kept is not None:
        check_split(Path("i"), has, BuildOptions(split=kept))


def test_how_an_index_splits(base: Manifest) -> None:
    assert split_of(Path("i"), base) == Split(3)
    assert split_of(Path("i"), replace(base, collection={})) is None
    for unknown in ("pages:2", 7):
        with pytest.raises(IndexDirError) as error:
            split_of(Path("i"), replace(base, collection={"split": unknown}))
        assert str(error.value) == (
            f"i: its documents are split by {unknown!r}, which this program does not know; update it, or"
            " index the collection anew"
        )


def test_new_segments_are_like_those_that_are_there(base: Manifest, tiny_index: Path) -> None:
    cutter = cutter_for(base, tiny.tokenizer(), OPTIONS)
    assert (cutter.max_tokens, cutter.store_raw, cutter.stored) == (500, True, base.stored_fields)
    assert (cutter.budget.spec, cutter.budget.n_bytes) == (OPTIONS.engine, 1 << 40)
    assert cutter.budget.n_symbols == tiny.tokenizer().n_symbols
    there = read_manifest(tiny_index)
    segments = (*there.segments, replace(there.segments[0], name="last", layout="small"))
    changed = cutter_for(replace(there, segments=segments), tiny.tokenizer(), OPTIONS)
    assert (changed.budget.spec, changed.store_raw) == (EngineSpec("native", "small"), False)
    assert (changed.max_tokens, changed.stored) == (500, ())
    with pytest.raises(UsageError, match="--memory 1 MiB is too little"):
        cutter_for(base, tiny.tokenizer(), replace(OPTIONS, memory=1 << 20))
