"""Indexes by name."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from seal_ir.errors import UsageError
from seal_ir.formats.io.resolve import Places
from seal_ir.index.registry import index_for, named_index, registered
from seal_ir.search.searcher import SealSearcher

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
