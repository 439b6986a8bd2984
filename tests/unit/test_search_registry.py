"""Indexes by name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from seal_ir.errors import ArgumentError, IndexDirError, InputError, UsageError
from seal_ir.formats.io.downloads import Download
from seal_ir.formats.io.resolve import Places
from seal_ir.index.registry import (
    IndexEntry,
    find_index,
    how_to_make,
    index_for,
    is_directory,
    named_index,
    opened,
    registered,
)
from seal_ir.search.searcher import SealSearcher
from tests.helpers.damage import flip

TOML = """
[[index]]
name = "large"
description = "all"
topics = ["nq-test", "squad"]
build = "make large"

[[index]]
name = "small"
description = "some"
topics = ["nq-test"]
build = "python -m seal_ir.index --input $SEAL_IR_DATA/x --index {index}"
"""

PUBLISHED = """
[[index]]
name = "of-here"
description = "what comes along"
topics = []
build = "python -m seal_ir.index --input {collections}/x --index {index}"
n_bytes = 70
[index.download]
url = "https://example.org/x.tar"
sha256 = "%s"
n_bytes = 50_000_000
""" % ("ab" * 32)


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "collections").mkdir()
    (tmp_path / "collections" / "indexes.toml").write_text(TOML)
    return Places(data=None, collections=tmp_path / "collections", cache_folder=tmp_path / "my cache")


def put(places: Places, name: str, index: Path) -> Path:
    return Path(shutil.copytree(index, places.cache / "indexes" / name))


def test_the_registry_of_this_repository() -> None:
    entries = registered(Places.from_environment())
    assert [entry.name for entry in entries] == ["wikipedia-sample", "wikipedia-sample-10k", "demo"]
    assert all(entry.topics and entry.description and entry.build for entry in entries)
    assert SealSearcher.list_prebuilt_indexes() == [entry.name for entry in entries]


def test_all_that_an_entry_says(places: Places) -> None:
    path = places.collections / "indexes.toml"
    path.write_text(PUBLISHED)
    directory = places.cache / "indexes" / "of-here"
    build = f"python -m seal_ir.index --input {places.collections}/x --index '{directory}'"
    download = Download("https://example.org/x.tar", "ab" * 32, 50_000_000)
    entry = IndexEntry("of-here", "what comes along", (), build, directory, download, 70, bundled=True)
    assert registered(places) == [entry]
    assert how_to_make(entry) == "python -m seal_ir.index.download of-here"
    path.write_text(TOML)
    large, small = registered(places)
    assert (large.topics, large.n_bytes, large.bundled, large.download) == (
        ("nq-test", "squad"),
        0,
        False,
        None,
    )
    assert how_to_make(large) == "make large"
    assert not small.bundled


@pytest.mark.parametrize("topics", ["'nq-test'", "[1]", "{}"])
def test_topics_that_are_no_list_of_names(places: Places, topics: str) -> None:
    path = places.collections / "indexes.toml"
    path.write_text(f"[[index]]\nname = 'a'\ndescription = 'b'\nbuild = 'c'\ntopics = {topics}")
    with pytest.raises(InputError) as error:
        registered(places)
    assert str(error.value).startswith(f"{path}: topics of 'a' are ")
    assert str(error.value).endswith("; they must be a list of names")


def test_a_directory_or_a_name(places: Places, tiny_index: Path, tmp_path: Path) -> None:
    assert find_index(str(tmp_path / "not-there"), places) == tmp_path / "not-there"
    assert find_index(str(tiny_index), places) == tiny_index
    with pytest.raises(UsageError, match="index 'small' is not built"):
        find_index("small", places)
    put(places, "small", tiny_index)
    assert find_index("small", places) == places.cache / "indexes" / "small"
    assert [is_directory(name) for name in ("a/b", "a", str(tmp_path))] == [True, False, True]


def test_an_index_is_opened_where_it_is_sound(places: Places, tiny_index: Path, tmp_path: Path) -> None:
    assert opened(str(tiny_index)).n_documents == 7
    with pytest.raises(IndexDirError) as error:
        opened("demo")
    assert str(error.value) == (
        "demo: no such directory, but the name of a registered index; open it with "
        "SealSearcher.from_prebuilt_index('demo'), whose index_dir is its directory"
    )
    with pytest.raises(IndexDirError) as error:
        opened(tmp_path / "none")
    assert "registered" not in str(error.value)
    with pytest.raises(ArgumentError, match="index directory"):
        opened(7)  # type: ignore[arg-type]
    spoiled = put(places, "small", tiny_index)
    file = next(spoiled.glob("segment-*/fm.bin"))
    flip(file)
    with pytest.raises(IndexDirError, match=re.escape(str(file))):
        opened(spoiled)


def test_an_index_by_name(places: Places, tiny_index: Path) -> None:
    with pytest.raises(UsageError) as error:
        named_index("small", places)
    directory = places.cache / "indexes" / "small"
    assert str(error.value) == (
        "index 'small' is not built; build it with: "
        f"python -m seal_ir.index --input $SEAL_IR_DATA/x --index '{directory}'"
    )
    put(places, "small", tiny_index)
    assert named_index("small", places).directory == directory
    with pytest.raises(
        UsageError, match="medium: neither an index directory .* registered are: large, small"
    ):
        named_index("medium", places)


def test_the_best_index_for_topics(places: Places, tiny_index: Path) -> None:
    with pytest.raises(
        UsageError, match=r"no index for topics 'nq-test' is built; .*: make large; or python -m"
    ):
        index_for("nq-test", places)
    put(places, "small", tiny_index)
    assert index_for("nq-test", places).name == "small"
    put(places, "large", tiny_index)
    assert index_for("nq-test", places).name == "large"
    with pytest.raises(
        UsageError, match="no registered index serves topics './mine.tsv'; name one with --index"
    ):
        index_for("./mine.tsv", places)


def test_an_installation_without_a_registry(tmp_path: Path) -> None:
    places = Places(data=None, collections=tmp_path / "none", cache_folder=tmp_path)
    assert registered(places) == []
    with pytest.raises(UsageError, match="registered are: none"):
        named_index("demo", places)


def test_a_prebuilt_index(tiny_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEAL_IR_CACHE", str(tmp_path))
    with pytest.raises(UsageError, match="index 'wikipedia-sample' is not built; build it with: python -m"):
        SealSearcher.from_prebuilt_index("wikipedia-sample")
    with pytest.raises(UsageError, match="registered are: wikipedia-sample"):
        SealSearcher.from_prebuilt_index("msmarco-v1-passage")
    shutil.copytree(tiny_index, tmp_path / "indexes" / "demo")
    searcher = SealSearcher.from_prebuilt_index("demo", verbose=True, preset="lm", batch_size=3)
    assert (searcher.num_docs, searcher.config.preset, searcher.batch_size) == (7, "lm", 3)
