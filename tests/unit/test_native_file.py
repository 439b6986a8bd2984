"""The native engine's file, built by hand from docs/format.md, and files that opening refuses."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from seal_ir.errors import IndexDirError
from seal_ir.index import native
from seal_ir.index.engine import EngineSpec, build_engine
from seal_ir.index.engines import open_engine
from tests.helpers.engines import BOUNDARY, Probe, flatten

_native = pytest.importorskip("seal_ir._native")

DOCUMENTS = [[1, 5, 2, 6, 7], [1, 7, 2, 5, 6, 7, 9], [1, 2], [1, 9, 2, 5, 6, 5, 6, 7]]
N_SECTIONS = 11


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def code_of(lengths: list[int]) -> list[list[int]]:
    """The digits of each symbol's code, straight from the definition."""
    codes: list[list[int]] = [[] for _ in lengths]
    slots: list[list[int]] = [[]]  # the digits that lead to each slot of the level
    for level in range(max(lengths) + 1):
        leaves = [k for k, length in enumerate(lengths) if length == level]
        for symbol, path in zip(leaves, slots, strict=False):
            codes[symbol] = path
        slots = [[*path, digit] for path in slots[len(leaves) :] for digit in range(4)]
    return codes


def nodes_of(codes: list[list[int]], transform: list[int]) -> list[list[int]]:
    """The digits of each inner node, level by level from the left."""
    nodes = []
    for level in range(max(map(len, codes))):
        inside: dict[tuple[int, ...], list[int]] = {}
        for code in codes:
            if len(code) > level:
                inside.setdefault(tuple(code[:level]), [])
        for symbol in transform:
            code = codes[symbol]
            if len(code) > level:
                inside[tuple(code[:level])].append(code[level])
        nodes += [inside[path] for path in sorted(inside)]
    return nodes


def pack(values: list[int], width: int, n_bytes: int) -> bytes:
    number = sum(value << (k * width) for k, value in enumerate(values))
    return number.to_bytes(n_bytes, "little")


def by_hand(documents: list[list[int]], lengths: list[int], rate: int) -> bytes:
    stream = [symbol for document in documents for symbol in document]
    n, distinct = len(stream), sorted(set(stream))
    text = [distinct.index(symbol) for symbol in reversed(stream)]
    suffixes = sorted(range(n), key=lambda at: text[at:])
    boundary = distinct.index(BOUNDARY)
    transform = [text[-1]] + [text[at - 1] if at else boundary for at in suffixes]

    digits, bases = [], []
    for node in nodes_of(code_of(lengths), transform):
        bases.append([digits.count(digit) for digit in range(4)])
        digits += node
    assert len(digits) < 224, "one block, so that all counts before it are 0"
    marked = [row for row, at in enumerate(suffixes, start=1) if at % rate == 0]
    samples = [suffixes[row - 1] // rate for row in marked]
    width = max(1, ((n - 1) // rate).bit_length())
    starts = list(np.cumsum([0, *map(len, documents)]))
    boundaries = [row for row, at in enumerate(suffixes) if text[at] == boundary]
    sections = [
        struct.pack(f"<{len(distinct)}I", *distinct),
        struct.pack(f"<{len(distinct)}I", *(stream.count(symbol) for symbol in distinct)),
        bytes(lengths),
        b"".join(struct.pack("<4I", *base) for base in bases),
        bytes(16),
        bytes(8) + pack(digits, 2, 56),
        b"" if rate == 1 else bytes(4) + pack([int(row in marked) for row in range(n + 1)], 1, 60),
        pack(samples, width, -(-len(samples) * width // 64) * 8),
        struct.pack(f"<{len(starts)}I", *starts),
        struct.pack("<2I", 0, len(documents) - 1),
        struct.pack(
            f"<{len(documents)}I",
            *([suffixes[row] for row in boundaries].index(n - 1 - start) for start in starts[:-1]),
        ),
    ]
    assert len(sections) == N_SECTIONS
    table, body, at = b"", b"", 320
    for section in sections:
        table += struct.pack("<2Q", at, len(section))
        padded = section + bytes(-len(section) % 64)
        body += padded
        at += len(padded)
    end_row = 1 + suffixes.index(0)
    head = b"SEALNATV" + struct.pack(
        "<2I5Q2I", 1, rate, n, len(documents), len(distinct), end_row, at, BOUNDARY, 0
    )
    head += table + bytes(72)
    return head + struct.pack("<Q", fnv(head)) + body


def built(path: Path, documents: list[list[int]], layout: str = "default") -> Path:
    build_engine(EngineSpec("native", layout), path, *flatten(documents), path.parent)
    return path


@pytest.mark.parametrize(("layout", "rate"), [("default", 8), ("small", 32), ("fast", 1)])
def test_bytes_by_hand_are_those_that_are_built(layout: str, rate: int, tmp_path: Path) -> None:
    path = built(tmp_path / "fm.bin", DOCUMENTS, layout)
    data = path.read_bytes()
    offset, size = struct.unpack_from("<2Q", data, 64 + 2 * 16)
    assert data == by_hand(DOCUMENTS, list(data[offset : offset + size]), rate)


@pytest.mark.parametrize("lengths", [[1, 1, 2, 2, 1, 2], [2, 2, 1, 1, 1, 2], [2, 1, 2, 1, 2, 1]])
def test_any_code_will_do(lengths: list[int], tmp_path: Path) -> None:
    """The lengths are the file's to choose; these are not those of a Huffman code."""
    path = tmp_path / "fm.bin"
    path.write_bytes(by_hand(DOCUMENTS, lengths, 8))
    probe = Probe(_native.Engine.open(str(path)))
    assert probe.extract([0, 1, 2, 3]) == DOCUMENTS
    assert probe.occurrences([5, 6]) == [(1, 5), (3, 5), (3, 7)]
    assert sorted(probe.successors([6])) == [5, 7]


def opened(path: Path) -> str:
    with pytest.raises(IndexDirError) as refusal:
        open_engine("native", path)
    message = str(refusal.value)
    assert "\n" not in message and str(path) in message
    return message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be opened" in opened(tmp_path / "fm.bin")


def test_a_file_that_is_too_short(tmp_path: Path) -> None:
    path = tmp_path / "fm.bin"
    path.write_bytes(b"SEALNATV")
    assert "too short" in opened(path)


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "fm.bin"
    path.write_bytes(b"X" * 400)
    assert "magic number" in opened(path)


def test_a_file_of_another_version(tmp_path: Path) -> None:
    path = built(tmp_path / "fm.bin", DOCUMENTS)
    data = bytearray(path.read_bytes())
    data[8] = 9
    path.write_bytes(data)
    assert "format version 9, this engine reads version 1; rebuild" in opened(path)


def test_a_damaged_header(tmp_path: Path) -> None:
    path = built(tmp_path / "fm.bin", DOCUMENTS)
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)
    assert "checksum of its header" in opened(path)


def test_a_truncated_file(tmp_path: Path) -> None:
    path = built(tmp_path / "fm.bin", DOCUMENTS)
    data = path.read_bytes()
    path.write_bytes(data[:-64])
    assert f"has {len(data) - 64} bytes instead of {len(data)}" in opened(path)


@pytest.mark.parametrize("section", range(3))
def test_tables_that_make_no_sense(section: int, tmp_path: Path) -> None:
    path = built(tmp_path / "fm.bin", DOCUMENTS)
    data = bytearray(path.read_bytes())
    (offset,) = struct.unpack_from("<Q", data, 64 + 16 * section)
    data[offset] ^= 0x1F
    path.write_bytes(data)
    assert "is damaged" in opened(path)


def test_a_sample_rate_of_nothing_is_refused() -> None:
    streams, starts = flatten(DOCUMENTS)
    alphabet, text = _native.densify(streams, starts, BOUNDARY)
    with pytest.raises(ValueError, match="fit together"):
        _native.Builder.make(alphabet, text, np.arange(len(streams), dtype=np.int32), starts, BOUNDARY, 0)


def test_a_suffix_array_of_another_text_is_refused() -> None:
    streams, starts = flatten(DOCUMENTS)
    alphabet, text = _native.densify(streams, starts, BOUNDARY)
    with pytest.raises(ValueError, match="suffix array"):
        _native.Builder.make(alphabet, text, np.full(len(streams), 99, dtype=np.int32), starts, BOUNDARY, 8)


def test_a_builder_saves_once(tmp_path: Path) -> None:
    streams, starts = flatten(DOCUMENTS)
    alphabet, text = _native.densify(streams, starts, BOUNDARY)
    from seal_ir.index.native import suffix_array

    builder = _native.Builder.make(alphabet, text, suffix_array(text, 2), starts, BOUNDARY, 8)
    builder.save(str(tmp_path / "fm.bin"))
    with pytest.raises(ValueError, match="saved already"):
        builder.save(str(tmp_path / "again.bin"))
    assert not (tmp_path / "again.bin").exists()


def test_a_build_tells_its_phases(tmp_path: Path) -> None:
    told: list[str] = []
    symbols, starts = flatten(DOCUMENTS)
    native.build_native(tmp_path / "fm.bin", symbols, starts, 32, told.append)
    assert told == ["sorting suffixes", "transforming", "building the wavelet tree"]


def test_a_segment_that_32_bits_do_not_hold_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    symbols, starts = flatten(DOCUMENTS)
    for most in (len(symbols) * 2 - 1, len(symbols) * 2 - 2):
        monkeypatch.setattr(native, "MAX_SUFFIXES", most)
        with pytest.raises(ValueError, match=f"at most {most // 2} tokens, not {len(symbols)}$"):
            native.build_native(tmp_path / "fm.bin", symbols, starts, 32, str)
    assert not (tmp_path / "fm.bin").exists()
    monkeypatch.setattr(native, "MAX_SUFFIXES", len(symbols) * 2)
    native.build_native(tmp_path / "fm.bin", symbols, starts, 32, str)
    assert (tmp_path / "fm.bin").is_file()


def test_a_sort_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_divsufsort", lambda: lambda *arguments: -2)
    with pytest.raises(MemoryError, match="^libdivsufsort ran out of memory$"):
        native.suffix_array(np.zeros(8, dtype=np.uint8), 2)
