"""The sdsl engine: building its file and opening it. Its answers are tested beside every other engine's."""

from __future__ import annotations

import re
import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.engines import BOUNDARY, flatten, integers, symbols, ticks_during

_sdsl = pytest.importorskip("seal_ir._sdsl")

DOCUMENTS = [[1, 5, 9, 5], [1], [1, 9, 5], [1, 70_000]]
N_ROWS = sum(map(len, DOCUMENTS)) + 1


def build(folder: Path, documents: list[list[int]] = DOCUMENTS, name: str = "index") -> Path:
    symbols, starts = flatten(documents)
    _sdsl.build(str(folder / name), symbols, starts, BOUNDARY, str(folder))
    return folder / name


@pytest.fixture
def index_path(tmp_path: Path) -> Path:
    return build(tmp_path)


@pytest.fixture
def engine(index_path: Path) -> _sdsl.Engine:
    return _sdsl.Engine.open(str(index_path))


# --- building


@pytest.mark.parametrize(
    ("values", "starts", "boundary", "message"),
    [
        ([1, 5], [0], 0, "boundary is 0, which is kept for the end of the text"),
        ([1, 5], [], 1, "there are no documents to index"),
        ([], [], 1, "there are no documents to index"),
        ([1, 5], [1], 1, "starts[0] is 1, not 0"),
        ([1, 5], [0, 2], 1, "starts[1] is 2, but there are 2 symbols"),
        ([1, 5], [0, -1], 1, "starts[1] is -1, but there are 2 symbols"),
        ([1, 5, 1], [0, 2, 2], 1, "starts[2] is 2, not above the one before it, 2"),
        (
            [1, 5, 1, 7, 0],
            [0, 2],
            1,
            "symbol 0 at position 4 (document 1, offset 2); 0 is kept for the end of the text",
        ),
        (
            [1, 5, 7, 8],
            [0, 2],
            1,
            "symbol 7 at position 2 (document 1, offset 0), where the boundary 1 must be",
        ),
        (
            [1, 5, 1, 8, 1],
            [0, 2],
            1,
            "symbol 1 at position 4 (document 1, offset 2), but the boundary belongs at offset 0 only",
        ),
    ],
)
def test_malformed_streams_are_refused(tmp_path, values, starts, boundary, message) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        _sdsl.build(str(tmp_path / "index"), symbols(*values), integers(*starts), boundary, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_build_needs_a_directory_for_temporary_files(tmp_path) -> None:
    absent = str(tmp_path / "absent")
    message = f"{absent} cannot hold temporary files: No such file or directory"
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        _sdsl.build(str(tmp_path / "index"), symbols(1, 5), integers(0), 1, absent)


def test_build_needs_a_writable_path_and_removes_its_temporary_files(tmp_path) -> None:
    path = str(tmp_path / "absent" / "index")
    message = f"{path} cannot be written; is the directory there, and room on its disk?"
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        _sdsl.build(path, symbols(1, 5), integers(0), 1, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_noticed(tmp_path) -> None:
    with pytest.raises(RuntimeError, match=r"^/dev/full cannot be written"):
        _sdsl.build("/dev/full", symbols(1, 5), integers(0), 1, str(tmp_path))


def test_build_leaves_the_index_alone_and_nothing_else(index_path) -> None:
    assert list(index_path.parent.iterdir()) == [index_path]


def test_building_twice_gives_the_same_bytes(tmp_path) -> None:
    words = np.random.default_rng(0).integers(2, 3000, 20_000).reshape(200, 100).tolist()
    documents = [[BOUNDARY, *part] for part in words]
    first = build(tmp_path, documents, "first").read_bytes()
    with ThreadPoolExecutor(2) as pool:  # builds beside each other do not meet in their temporary files
        others = list(pool.map(lambda name: build(tmp_path, documents, name).read_bytes(), ["a", "b"]))
    assert others == [first, first]


@pytest.mark.parametrize(
    "arguments",
    [
        (np.zeros(2, dtype=np.int32), integers(0)),
        (np.zeros((2, 1), dtype=np.uint32), integers(0)),
        (np.zeros(4, dtype=np.uint32)[::2], integers(0)),
        (symbols(1, 5), np.zeros(1, dtype=np.int32)),
    ],
)
def test_arrays_of_another_type_are_refused(tmp_path, arguments) -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _sdsl.build(str(tmp_path / "index"), *arguments, 1, str(tmp_path))


# --- opening


def test_an_absent_file_is_named(tmp_path) -> None:
    path = str(tmp_path / "absent")
    message = f"{path} cannot be opened: No such file or directory"
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        _sdsl.Engine.open(path)


@pytest.mark.parametrize(
    ("offset", "field", "message"),
    [
        (0, b"PK", "is not an index of the sdsl engine: it has another magic number"),
        (8, struct.pack("<I", 2), "has format version 2, this engine reads version 1; rebuild the index"),
        (
            24,
            struct.pack("<Q", 5),
            "which its header does not account for; it is truncated or damaged",
        ),
        (32, struct.pack("<Q", 2**60), "which its header does not account for"),
        (40, struct.pack("<Q", 2**64 - 1), "which its header does not account for"),
        (12, struct.pack("<I", 77), "is damaged: its parts do not fit together"),  # boundary
        (16, struct.pack("<Q", 99), "is damaged: its parts do not fit together"),  # n_symbols
        (48 + 4 * 4 + 8, struct.pack("<Q", 0), "is damaged: its parts do not fit together"),  # starts[1]
        (48 + 4 * 4 + 8 * 4, struct.pack("<Q", 9), "is damaged: its parts do not fit together"),  # rows[0]
    ],
)
def test_a_damaged_file_is_refused(index_path, offset, field, message) -> None:
    content = bytearray(index_path.read_bytes())
    content[offset : offset + len(field)] = field
    index_path.write_bytes(content)
    with pytest.raises(RuntimeError, match=re.escape(message)) as raised:
        _sdsl.Engine.open(str(index_path))
    assert str(raised.value).startswith(str(index_path))


def test_every_truncation_is_refused(index_path) -> None:
    content = index_path.read_bytes()
    for size in [*range(0, 120), *range(120, len(content), 97), len(content) - 1]:
        index_path.write_bytes(content[:size])
        with pytest.raises(RuntimeError, match="too short|truncated or damaged"):
            _sdsl.Engine.open(str(index_path))


def test_the_header_is_as_documented(index_path) -> None:
    content = index_path.read_bytes()
    magic, version, boundary, *counts, csa_bytes = struct.unpack("<8sIIQQQQ", content[:48])
    assert (magic, version, boundary, counts) == (b"SEALSDSL", 1, BOUNDARY, [10, 4, 4])
    assert struct.unpack("<4I", content[48:64]) == (1, 5, 9, 70_000)
    assert struct.unpack("<4Q", content[64:96]) == (0, 4, 5, 8)
    assert len(content) == 48 + 4 * 4 + 16 * 4 + csa_bytes


def test_properties_and_sizes(engine, index_path) -> None:
    assert (engine.n_rows, engine.n_documents, engine.boundary, engine.n_symbols) == (N_ROWS, 4, 1, 4)
    sizes = engine.size_in_bytes()
    assert list(sizes) == ["wavelet_tree", "samples", "alphabet", "documents"]
    assert all(size > 0 for size in sizes.values())
    assert sum(sizes.values()) + 48 == index_path.stat().st_size


def test_other_threads_run_while_an_index_is_built(tmp_path) -> None:
    words = np.random.default_rng(0).integers(2, 3000, (2000, 100)).tolist()
    streams, starts = flatten([[BOUNDARY, *part] for part in words])
    path = str(tmp_path / "index")
    assert ticks_during(lambda: _sdsl.build(path, streams, starts, BOUNDARY, str(tmp_path))) >= 5
