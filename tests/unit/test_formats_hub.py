"""Hugging Face datasets as collections."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.collections import Collection, ReadOptions
from seal_ir.records import Document

datasets = pytest.importorskip("datasets")
ROWS = {"_id": ["d1", "d2", "d3"], "title": ["Alpha", "", "Gamma"], "text": ["one\ntwo", "three", "  "]}
WANTED = [Document("d1", "Alpha", "one\ntwo"), Document("d2", "", "three"), Document("d3", "Gamma", "  ")]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved"
    datasets.Dataset.from_dict(ROWS).save_to_disk(path)
    return path


def test_a_dataset_saved_to_disk_is_read(saved: Path) -> None:
    collection = Collection("HFDataset", saved)
    assert list(collection) == WANTED
    assert collection.counts.read == 3
    assert list(collection) == WANTED  # a second pass reads again


def test_a_parquet_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    datasets.Dataset.from_dict(ROWS).to_parquet(path)
    assert list(Collection("HFDataset", path)) == WANTED


def test_rows_follow_the_rules_of_json_documents(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    rows = {"id": ["a b", "c"], "contents": ["x", "Title\nbody"], "title": [None, "Title"]}
    datasets.Dataset.from_dict(rows).save_to_disk(path)
    collection = Collection("HFDataset", path, ReadOptions(malformed="skip"))
    assert list(collection) == [Document("c", "Title", "body")]
    assert collection.counts.malformed == 1


def test_several_splits_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    split = datasets.Dataset.from_dict(ROWS)
    datasets.DatasetDict({"train": split, "test": split}).save_to_disk(path)
    with pytest.raises(InputError, match=r"several splits \(train, test\)"):
        list(Collection("HFDataset", path))


def test_what_is_no_dataset_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="folder"):
        list(Collection("HFDataset", tmp_path / "folder"))
    (tmp_path / "rows.xyz").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match=r"rows\.xyz: not a data file"):
        list(Collection("HFDataset", tmp_path / "rows.xyz"))


def test_without_datasets_one_line_says_what_to_install(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match="pip install datasets"):
        list(Collection("HFDataset", saved))
