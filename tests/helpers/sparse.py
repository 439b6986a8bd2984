"""Files of engines at the limit of what they may hold: mostly holes, which take no room on the disk."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

WORD, BOUNDARY = 5, 9
_DIGITS, _PER_SUPER, _MARKS, _RATE = 224, 256, 480, 1 << 16
# Symbols of the first document after its boundary, so that the text has as many as a file may have.
LONG = (1 << 31) - 8
N = LONG + 6
STREAMS = [[BOUNDARY, WORD, WORD], [BOUNDARY, WORD]]  # of documents 1 and 2


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def has_holes(folder: Path) -> bool:
    """Whether files there take no room for what was never written."""
    path = folder / "holes"
    with path.open("wb") as file:
        file.truncate(1 << 24)
    taken = path.stat().st_blocks * 512
    path.unlink()
    return taken < 1 << 20


def pack(values: Sequence[int], width: int) -> bytes:
    number = sum(value << (k * width) for k, value in enumerate(values))
    return number.to_bytes(-(-len(values) * width // 64) * 8, "little")


Section = tuple[int, Mapping[int, bytes]]  # its size, and what is in it at some places


def _padded(size: int) -> int:
    return -(-size // 64) * 64


def _write(path: Path, at: int, sections: Sequence[Section]) -> None:
    with path.open("r+b") as file:
        for size, parts in sections:
            for offset, data in parts.items():
                file.seek(at + offset)
                file.write(data)
            at += _padded(size)
        file.truncate(at)


def write_native(path: Path) -> None:
    """The native engine's file for three documents, a boundary each and words that are all the same.

    The first one has `LONG` words, the others two and one. In the reversed text, word boundary word word
    boundary LONG-words boundary, suffixes with more words in front come first, so that row r below LONG - 1
    is suffix r + 4, and the last rows are known one by one.
    """
    m, n = LONG, N
    last = [m + 3, 2, m + 4, 3, 0, m + 5, 4, 1]  # suffixes of the rows from m - 1 on
    end_row = m + 3
    ones = [0, 1, m, end_row]  # rows that a boundary precedes, and the one that nothing does
    n_blocks = (n + 1) // _DIGITS + 1
    n_supers = -(-n_blocks // _PER_SUPER)
    # The first block, and those that walks from the last rows lead through, down to the last marked row.
    numbers = [0, *range((_RATE * (n // _RATE) - 16) // _DIGITS, n_blocks)]
    blocks = {number: _block(number, ones) for number in numbers}
    supers = np.zeros((n_supers, 4), dtype="<u4")
    supers[1:, 0] = np.arange(1, n_supers) * (_DIGITS * _PER_SUPER) - 2
    supers[1:, 1] = 2
    n_marked = (n - 1) // _RATE
    marked = [*(_RATE * k - 4 for k in range(1, n_marked + 1)), end_row]  # rows of multiples, ascending
    assert last[end_row - m + 1] == 0
    starts = [0, m + 1, m + 4, n]
    width = max(1, ((n - 1) // _RATE).bit_length())
    samples = pack([*range(1, n_marked + 1), 0], width)
    n_entries = -(-n // 128) + 1
    directory = {
        4 * k: struct.pack("<I", sum(start <= 128 * k for start in starts[1:3]))
        for k in range(m // 128, n_entries - 1)
    }
    sections: list[Section] = [
        (8, {0: struct.pack("<2I", WORD, BOUNDARY)}),
        (8, {0: struct.pack("<2I", m + 3, 3)}),
        (2, {0: bytes([1, 1])}),
        (16, {}),
        (16 * n_supers, {0: supers.tobytes()}),
        (64 * n_blocks, {64 * at: data for at, data in blocks.items()}),
        (64 * ((n + 1) // _MARKS + 1), {64 * (r // _MARKS): _mark(r, marked) for r in (marked[-2], end_row)}),
        (len(samples), {0: samples}),
        (16, {0: struct.pack("<4I", *starts)}),
        (4 * n_entries, directory | {4 * (n_entries - 1): struct.pack("<I", 2)}),
        (12, {0: struct.pack("<3I", 0, 1, 2)}),
    ]
    table, at = b"", 320
    for size, _ in sections:
        table += struct.pack("<2Q", at, size)
        at += _padded(size)
    head = b"SEALNATV" + struct.pack("<2I5Q2I", 1, _RATE, n, 3, 2, end_row, at, BOUNDARY, 0)
    head += table + bytes(72)
    path.write_bytes(head + struct.pack("<Q", fnv(head)))
    _write(path, 320, sections)


def _block(at: int, ones: Sequence[int]) -> bytes:
    """A block of the tree's digits: 1 where a row is one of `ones`, else 0."""
    first = at * _DIGITS
    since = at // _PER_SUPER * _PER_SUPER * _DIGITS
    before = sum(since <= row < first for row in ones)
    digits = sum(1 << (2 * (row - first)) for row in ones if first <= row < first + _DIGITS)
    return struct.pack("<4H", first - since - before, before, 0, 0) + digits.to_bytes(56, "little")


def _mark(row: int, marked: Sequence[int]) -> bytes:
    """The block of marks around a row."""
    first = row // _MARKS * _MARKS
    before = sum(other < first for other in marked)
    bits = sum(1 << (other - first) for other in marked if first <= other < first + _MARKS)
    return struct.pack("<I", before) + bits.to_bytes(60, "little")


def write_tokens(path: Path, n_before: int, bit: int, streams: Sequence[Sequence[int]]) -> None:
    """A token store of `n_before` documents that are holes, then these, whose codes begin at a bit.

    Args:
        path: file to write.
        n_before: documents that cannot be read.
        bit: where the codes of the others begin.
        streams: each a boundary, which is the first symbol of the first one, and other symbols.
    """
    by_rank = sorted({symbol for stream in streams for symbol in stream})
    assert len(by_rank) <= 1 << 16
    ends = np.cumsum([0, *(19 * len(stream) for stream in streams)])  # 3 bits of class 0, and 16 of the rank
    offsets, n_bits = [bit + int(end) for end in ends], bit + int(ends[-1])
    width, n_documents = n_bits.bit_length(), n_before + len(streams)
    codes = sum(
        by_rank.index(symbol) << 3 << (19 * k)
        for k, symbol in enumerate(symbol for stream in streams for symbol in stream)
    )
    shift, place = n_before * width % 8, n_before * width // 8
    packed = sum(offset << (shift + k * width) for k, offset in enumerate(offsets))
    n_bytes = 8 * (-(-(n_documents + 1) * width // 64))
    sections: list[Section] = [
        (4 * len(by_rank), {0: np.array(by_rank, dtype="<u4").tobytes()}),
        (n_bytes, {place: packed.to_bytes(-(-packed.bit_length() // 8), "little")}),
        (
            8 * (-(-n_bits // 64) + 1),
            {bit // 8: (codes << bit % 8).to_bytes(-(-(codes.bit_length() + 8) // 8), "little")},
        ),
    ]
    n_tokens = n_documents + sum(map(len, streams))  # as many as the header may claim
    size = 128 + sum(_padded(size) for size, _ in sections)
    head = b"SEALTOKN" + struct.pack("<2I4Q", 1, width, n_tokens, n_documents, len(by_rank), n_bits)
    head += bytes([16, *[0] * 7]) + struct.pack("<Q2I", size, streams[0][0], 0) + bytes(48)
    path.write_bytes(head + struct.pack("<Q", fnv(head)))
    _write(path, 128, sections)
