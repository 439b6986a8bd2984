"""Hugging Face datasets as collections; no test asks the hub."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from seal_ir.errors import InputError
from seal_ir.formats.collections.collection import Collection, Counts, ReadOptions
from seal_ir.records import Document

datasets = pytest.importorskip("datasets")
ROWS = {"_id": ["d1", "d2", "d3"], "title": ["Alpha", "", "Gamma"], "text": ["one\ntwo", "three", "  "]}
WANTED = [Document("d1", "Alpha", "one\ntwo"), Document("d2", "", "three"), Document("d3", "Gamma", "  ")]


@pytest.fixture(autouse=True)
def _answering(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub can be asked; what is asked there is a stub."""
    monkeypatch.setattr("seal_ir.formats.collections.hub.unreachable", str)


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

    assert list(Collection("HFDataset", Path(f"{path}:test"))) == WANTED
    with pytest.raises(InputError, match=r"no split 'dev' among its own \(train, test\)"):
        list(Collection("HFDataset", Path(f"{path}:dev")))


def test_a_single_split_is_taken(tmp_path: Path) -> None:
    datasets.DatasetDict({"corpus": datasets.Dataset.from_dict(ROWS)}).save_to_disk(tmp_path / "saved")
    assert list(Collection("HFDataset", tmp_path / "saved")) == WANTED


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


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as error:
        list(Collection("HFDataset", path))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_files_need_no_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    datasets.Dataset.from_dict(ROWS).to_parquet(folder / "b.parquet")
    record = {"docid": "d0", "title": "Zero", "text": "none"}
    (folder / "a.jsonl").write_text(json.dumps(record), encoding="utf-8")
    monkeypatch.setitem(sys.modules, "datasets", None)
    zero = Document("d0", "Zero", "none")
    assert list(Collection("HFDataset", folder / "a.jsonl")) == [zero]
    assert list(Collection("HFDataset", folder)) == [zero, *WANTED]
    assert "leave out :train" in refusal(Path(f"{folder}:train"))


def test_other_columns_stay_unread_and_texts_may_be_long(tmp_path: Path) -> None:
    rows = {"docid": [7, 8], "text": ["word " * 40_000, "x"], "embeddings": [[0.5] * 8] * 2}
    datasets.Dataset.from_dict(rows).save_to_disk(tmp_path / "saved")
    assert [(doc.id, len(doc.text)) for doc in Collection("HFDataset", tmp_path / "saved")] == [
        ("7", 200_000),
        ("8", 1),
    ]


def test_a6_a7_a8_rows_are_accounted_for(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = {"id": ["d1", "d2", "d1", None, "d3"], "contents": ["one", " ", "two", "x", None]}
    datasets.Dataset.from_dict(rows).to_parquet(path)
    assert f"{path}:3: duplicate id 'd1', first at {path}:1" in refusal(path)
    collection = Collection("HFDataset", path, ReadOptions(duplicates="last", malformed="skip"))
    assert list(collection) == [Document("d1", "", "two")]
    assert collection.counts == Counts(5, 1, empty=1, duplicate=1, malformed=2)
    assert f"{path}:4:" in collection.faults[0]


@pytest.mark.parametrize("column", ["id", "text"])
def test_a_column_that_is_missing_is_named(tmp_path: Path, column: str) -> None:
    rows = {name: ["x"] for name in ("id", "text", "url") if name != column}
    for path in (tmp_path / "rows.parquet", tmp_path / "saved"):
        dataset = datasets.Dataset.from_dict(rows)
        dataset.to_parquet(path) if path.suffix else dataset.save_to_disk(path)
        text = refusal(path)
        assert "no column" in text
        assert column in text
        assert "url" in text


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 and no more")
    assert f"{path}: damaged after row 0" in refusal(path)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "dataset_info.json").write_text("{", encoding="utf-8")
    assert "cannot be loaded" in refusal(tmp_path / "saved")


@pytest.mark.parametrize(
    "name", ["../none", "/none/such", "none.parquet", "none.jsonl.gz", "a/b/c", "a b", "x" * 300]
)
def test_paths_that_do_not_exist_are_no_names(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "x" * 300:
        monkeypatch.setitem(sys.modules, "datasets", None)  # it could be a name; it only must not crash
    assert name in refusal(Path(name))


class Hub(ModuleType):
    """What `datasets` offers to this package, without a network; remembers what was asked for."""

    def __init__(self, answer: Any) -> None:
        super().__init__("datasets")
        self.exceptions = SimpleNamespace(DatasetsError=datasets.exceptions.DatasetsError)
        self.answer, self.asked = answer, list[tuple[str, str | None, str | None]]()

    def load_dataset(self, name: str, config: str | None, *, split: str | None) -> Any:
        self.asked.append((name, config, split))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("squad", ("squad", None, None)),
        ("BeIR/nq:corpus", ("BeIR/nq", "corpus", None)),
        ("BeIR/nq:corpus:corpus", ("BeIR/nq", "corpus", "corpus")),
        ("BeIR/nq::train[:10%]", ("BeIR/nq", None, "train[:10%]")),
    ],
)
def test_names_with_configuration_and_split(
    monkeypatch: pytest.MonkeyPatch, name: str, asked: tuple[str, str | None, str | None]
) -> None:
    hub = Hub(datasets.Dataset.from_dict(ROWS))
    monkeypatch.setitem(sys.modules, "datasets", hub)
    collection = Collection("HFDataset", Path(name))
    assert not hub.asked
    assert list(collection) == WANTED
    assert hub.asked == [asked]


@pytest.mark.parametrize(
    "error",
    [
        datasets.exceptions.DatasetNotFoundError("not\nthere"),
        datasets.exceptions.DatasetGenerationError("not\nthere"),
        ValueError("not\nthere"),
        ConnectionError("not\nthere"),
        RuntimeError("not\nthere"),
    ],
)
def test_a_name_that_cannot_be_loaded(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setitem(sys.modules, "datasets", Hub(error))
    assert "owner/none: the dataset cannot be loaded (not there)" in refusal(Path("owner/none"))


def test_several_splits_of_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", Hub({"train": None, "test": None}))
    assert "several splits (train, test); choose one, as NAME:CONFIG:SPLIT" in refusal(Path("owner/name"))
