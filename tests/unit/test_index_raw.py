"""`--storeRaw`: records come back as they were read, byte for byte."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from seal_ir.errors import IndexDirError
from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.index.documents import RAW_ROWS
from seal_ir.index.manifest import read_manifest
from seal_ir.index.reader import Index
from seal_ir.records import Document, Ranked
from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.indexes import part

KEEP = ReadOptions(keep_raw=True)
LINES = [
    '{"id": "a", "title": "One", "contents": "One\\nalpha  beta", "source": "x", "n": 1.50}',
    '{ "contents":"gamma \\u00e9 \\ud83d\\ude00 \u6771\u4eac", "id" : 7 ,\t"meta": [1, null, 1e400] }',
    '  {"_id": "c", "text": "delta", "half": "\\ud83d", "id2": "\u2028"}  ',
]


def many() -> list[Document]:
    return [
        Document(
            f"d{i}", "", f"text {i}", None if i % 7 == 3 else json.dumps({"id": f"d{i}", "x": "y" * (i % 50)})
        )
        for i in range(3 * RAW_ROWS + 5)
    ]


@pytest.fixture(scope="module", params=[1 << 30, 900])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Index:
    directory = tmp_path_factory.mktemp("raw") / "index"
    tiny.build(directory, many(), request.param, store_raw=True)
    return Index(directory)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_kept_as_they_are(tmp_path: Path, end: str) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(("\ufeff" + end.join(LINES) + end).encode())
    collection = Collection("JsonCollection", path, KEEP)
    tiny.build(tmp_path / "index", collection, store_raw=True)
    searcher = SealSearcher(tmp_path / "index", tiny.generator())
    for docid, line in zip(("a", "7", "c"), LINES, strict=True):
        document = searcher.doc(docid)
        assert document is not None
        assert document.raw() == document.get("raw") == line
        assert searcher.batch_doc([docid])[docid].raw() == line
    hits = searcher.hits([Ranked(number, 1.0, ()) for number in (2, 0, 1)])
    assert [hit.raw for hit in hits] == [LINES[2], LINES[0], LINES[1]]
    assert [document.raw for document in Collection("JsonCollection", path)] == [None] * 3


def test_elements_of_an_array(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    spread = LINES[0].replace(", ", ",\n  ")
    path.write_text(f"[\n {spread} ,\n{LINES[1]},{LINES[2].strip()}]", encoding="utf-8")
    found = [document.raw for document in Collection("JsonCollection", path, KEEP)]
    assert found == [spread, LINES[1], LINES[2].strip()]


def test_rows_of_a_dataset(tmp_path: Path) -> None:
    table = pa.table({"id": ["a", "b"], "text": ["x", "y"], "year": [1, None], "tags": [["p"], []]})
    parquet.write_table(table, tmp_path / "d.parquet")
    found = list(Collection("HFDataset", tmp_path / "d.parquet", KEEP))
    assert [json.loads(document.raw or "") for document in found] == table.to_pylist()
    assert [document.raw for document in Collection("HFDataset", tmp_path / "d.parquet")] == [None, None]


def test_formats_without_records_have_a_json_of_their_fields(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tTitle\tsome text\n", encoding="utf-8")
    tiny.build(tmp_path / "index", Collection("TsvCollection", tmp_path / "c.tsv", KEEP), store_raw=True)
    document = SealSearcher(tmp_path / "index", tiny.generator()).doc("a")
    assert document is not None
    assert json.loads(document.raw()) == {"id": "a", "title": "Title", "contents": "Title\nsome text"}


@pytest.mark.slow
def test_records_by_number_in_any_order(index: Index) -> None:
    expected = [document.raw for document in many()]
    numbers = [*range(len(expected)), 5, 5, 2 * RAW_ROWS, 0]
    assert index.raws(numbers) == [expected[number] for number in numbers]
    for number in (0, RAW_ROWS - 1, RAW_ROWS, len(expected) - 1):
        assert index.raws([number]) == [expected[number]]
    assert index.raws([]) == []
    with pytest.raises(IndexError):
        index.raws([len(expected)])
    assert index.documents(numbers) == [many()[number]._replace(raw=None) for number in numbers]


def test_threads_share_the_records(index: Index) -> None:
    expected = [document.raw for document in many()]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: index.raws([number])[0], list(range(len(expected))) * 5))
    assert found == expected * 5


def test_without_the_option_nothing_is_kept(tmp_path: Path) -> None:
    tiny.build(tmp_path / "index", many()[:3])
    index = Index(tmp_path / "index")
    assert index.raws([0, 1]) == [None, None]
    assert not index.manifest.has_raw
    assert not list((tmp_path / "index").rglob("raw.arrow"))


def test_a_look_up_reads_one_batch_of_a_compressed_file(tmp_path: Path) -> None:
    documents = [
        Document(f"d{i}", "", "t", json.dumps({"id": f"d{i}", "x": "abc" * 500})) for i in range(300)
    ]
    tiny.build(tmp_path / "index", documents, store_raw=True)
    path = part(tmp_path / "index", "segment-000000/raw.arrow")
    assert path.stat().st_size < 300 * 1500 / 10
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    assert [reader.get_batch(i).num_rows for i in range(3)] == [128, 128, 44]
    assert read_manifest(tmp_path / "index").has_raw


def test_a_damaged_batch_that_nobody_has_checked(tmp_path: Path) -> None:
    """Batches of zeros, of noise, and cut ones: each is an error in one line, or another text."""
    tiny.build(tmp_path / "index", many(), store_raw=True)
    path = part(tmp_path / "index", "segment-000000/raw.arrow")
    whole = path.read_bytes()
    n_told = 0
    for at in range(0, len(whole) - 64, 61):
        path.write_bytes(whole[:at] + b"\xff\0\x7f\x80" * 16 + whole[at + 64 :])
        try:
            index = Index(tmp_path / "index", check="sizes")
            index.raws(range(0, index.n_documents, 50))
        except IndexDirError as error:
            assert f"{path}: damaged" in str(error)
            n_told += 1
    assert n_told > 10
