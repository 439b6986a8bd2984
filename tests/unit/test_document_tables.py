"""The tables of a segment's documents, spoiled one by one: each is told with its file, in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from seal_ir.errors import IndexDirError
from seal_ir.formats.collections.stored import stored_fields
from seal_ir.index.document_writing import DocumentWriter
from seal_ir.index.documents import ID_SCHEMA, RAW_SCHEMA, TEXT_SCHEMA, DocumentTable, numbers_bytes
from seal_ir.records import Document

STORED = stored_fields(("year:int",))
IDS = ["b", "a", "c"]
REBUILD = "rebuild it with python -m seal_ir.index"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    writer = DocumentWriter(tmp_path, store_raw=True, stored=STORED)
    for number, docid in enumerate(IDS):
        document = Document(
            docid, "T", "x", f'{{"id": "{docid}"}}', stored=(("year", number),) if number else ()
        )
        writer.add(document, exact=number != 1)
    writer.close()
    return tmp_path


def opened(folder: Path) -> DocumentTable:
    return DocumentTable(folder, len(IDS), with_raw=True, stored=STORED)


def write(path: Path, schema: pa.Schema, *arrays: pa.Array) -> None:
    path.unlink()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
        writer.write_batch(pa.record_batch(list(arrays), schema=schema))


def told(folder: Path) -> str:
    """What opening the tables and asking each of them says."""
    with pytest.raises(IndexDirError) as error:
        table = opened(folder)
        for docid in IDS:
            table.number(docid)
        table.stored_text(0)
        table.raws([0, 2])
        _ = table.stored
    assert "\n" not in str(error.value)
    return str(error.value)


def test_tables_that_are_sound(folder: Path) -> None:
    table = opened(folder)
    assert [table.number(docid) for docid in [*IDS, "", "bb", "d"]] == [0, 1, 2, None, None, None]
    assert [table.id(number) for number in range(3)] == IDS
    assert table.raws([2, 0]) == ['{"id": "c"}', '{"id": "b"}']
    assert table.stored_values(np.array([0, 2])) == [(), (("year", 2),)]
    assert table.stored.to_pydict() == {"id": IDS, "year": [None, 1, 2]}
    assert [table.stored_text(number) for number in range(3)] == [None, ("T", "x"), None]
    assert table.having(pa.array(["c", "z", "b"], pa.large_string())).tolist() == [0, 2]
    for others in (0, 40):  # few are looked up one by one, many are compared with all
        asked = ["c", *map(str, range(others)), "b"]
        assert sorted(table.occurring(asked)) == [("b", 0), ("c", 2)]
    bare = DocumentTable(folder, len(IDS))
    assert bare.raws([0, 1]) == [None, None]
    assert bare.stored_values(np.array([1])) == [()]
    assert bare.stored.to_pydict() == {"id": IDS}


@pytest.mark.parametrize("name", ["ids.arrow", "texts.arrow", "raw.arrow", "stored.arrow"])
def test_a_file_that_is_none_or_has_other_columns(folder: Path, name: str) -> None:
    path = folder / name
    write(path, pa.schema([pa.field("other", pa.int8())]), pa.array([1, 2, 3], pa.int8()))
    assert told(folder) == f"{path}: damaged (its columns are others); {REBUILD}"
    path.write_bytes(b"x" * 1000)
    message = told(folder)
    assert message.startswith(f"{path}: damaged (")
    assert "(None)" not in message


@pytest.mark.parametrize("name", ["ids.arrow", "texts.arrow", "raw.arrow"])
def test_strings_that_end_beyond_their_file(folder: Path, name: str) -> None:
    offsets = pa.py_buffer(np.array([0, 9, 1, 3], dtype=np.int64).tobytes())
    broken = pa.LargeStringArray.from_buffers(3, offsets, pa.py_buffer(b"bac"))
    numbers = pa.array([0, 1, 2], pa.int64())
    schema = {"ids.arrow": ID_SCHEMA, "texts.arrow": TEXT_SCHEMA, "raw.arrow": RAW_SCHEMA}[name]
    columns = [numbers, broken, broken] if name == "texts.arrow" else [broken]
    write(folder / name, schema, *columns)
    message = told(folder)
    assert message.startswith(f"{folder / name}: damaged (")
    assert message.endswith(f"); {REBUILD}")
    assert "(None)" not in message


def test_rows_too_few(folder: Path) -> None:
    two = pa.array(["x", "y"], pa.large_string())
    write(folder / "raw.arrow", RAW_SCHEMA, two)
    assert told(folder) == f"{folder / 'raw.arrow'}: damaged (batch 0 has 2 records, not 3); {REBUILD}"
    write(folder / "ids.arrow", ID_SCHEMA, two)
    assert told(folder) == f"{folder / 'ids.arrow'}: damaged (2 ids of 3 documents); {REBUILD}"


@pytest.mark.parametrize("number", [-1, 3, 1 << 40])
def test_numbers_that_no_document_has(folder: Path, number: int) -> None:
    (folder / "by_id.npy").write_bytes(numbers_bytes(np.array([number] * 3)))
    assert told(folder) == f"{folder / 'by_id.npy'}: damaged (document {number} of 3); {REBUILD}"


def test_numbers_of_another_length(folder: Path) -> None:
    path = folder / "by_id.npy"
    whole = path.read_bytes()
    for content in (whole[:-8], whole + b"x" * 8, b"x" + whole[1:], numbers_bytes(np.arange(2))):
        path.write_bytes(content)
        assert told(folder) == f"{path}: damaged (not int64 [3]); {REBUILD}"
    path.unlink()
    assert told(folder) == f"{path}: damaged (No such file or directory); {REBUILD}"
