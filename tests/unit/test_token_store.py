"""The file of a token store, made by hand from docs/format.md; refused files; indexes with and without it."""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from seal_ir._rank import TokenStores, write_tokens
from seal_ir.config import RankConfig
from seal_ir.errors import IndexDirError
from seal_ir.index.engine import ENGINES, EngineSpec
from seal_ir.index.manifest import MANIFEST
from seal_ir.index.reader import Index
from seal_ir.index.verify import verify_index
from seal_ir.rank.ranker import Streams, rank
from seal_ir.records import BODY, Key, QueryKeys, Unigrams
from tests.helpers import tiny
from tests.helpers.engines import BOUNDARY, Documents, flatten, integers
from tests.helpers.indexes import edit, part, refused

DOCUMENTS = [[1, 5, 2, 6, 7], [1, 7, 2, 5, 6, 7, 9], [1, 2], [1], [1, 9, 2, 5, 6, 5, 6, 4_294_967_295]]
HEADER = 128


def fnv(data: bytes) -> int:
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & (2**64 - 1)
    return value


def shortest(streams: Documents, n_classes: int = 8) -> tuple[int, tuple[int, ...]]:
    """Bits of all codes and the widths of their classes: of all ascending ones, tried one by one."""
    counts = sorted(Counter(symbol for stream in streams for symbol in stream).values(), reverse=True)
    found = []
    for n in range(1, n_classes + 1):
        for widths in combinations(range(len(counts).bit_length() + 1), n):
            firsts = np.cumsum([0, *(1 << width for width in widths)]).tolist()
            if firsts[-2] >= len(counts) or firsts[-1] < len(counts):
                continue
            bits = sum(
                sum(counts[lo:hi]) * (3 + width)
                for width, lo, hi in zip(widths, firsts[:-1], firsts[1:], strict=True)
            )
            found.append((bits, widths))
    return min(found)


def sealed(head: bytes) -> bytes:
    """A header with its checksum."""
    return head[:120] + struct.pack("<Q", fnv(head[:120]))


def header(widths: tuple[int, ...], width: int, n: int, d: int, s: int, bits: int, size: int) -> bytes:
    head = b"SEALTOKN" + struct.pack("<2I4Q", 1, width, n, d, s, bits)
    head += bytes(widths).ljust(8, b"\0") + struct.pack("<Q2I", size, BOUNDARY, 0)
    return sealed(head.ljust(128, b"\0"))


def by_hand(documents: Documents) -> bytes:
    counts = Counter(symbol for document in documents for symbol in document)
    by_rank = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))
    n_bits, widths = shortest(documents)
    codes: dict[int, tuple[int, int]] = {}
    for at, width in enumerate(widths):
        for payload in range(1 << width):
            if len(codes) < len(by_rank):
                codes[by_rank[len(codes)]] = (payload << 3 | at, 3 + width)
    number, at, bounds = 0, 0, [0]
    for document in documents:
        for symbol in document:
            code, length = codes[symbol]
            number |= code << at
            at += length
        bounds.append(at)
    assert at == n_bits
    width = max(1, n_bits.bit_length())
    offsets = sum(bound << (i * width) for i, bound in enumerate(bounds))
    sections = [
        struct.pack(f"<{len(by_rank)}I", *by_rank),
        offsets.to_bytes(-(-len(bounds) * width // 64) * 8, "little"),
        number.to_bytes((-(-n_bits // 64) + 1) * 8, "little"),
    ]
    body = b"".join(section + bytes(-len(section) % 64) for section in sections)
    n = sum(map(len, documents))
    return header(widths, width, n, len(documents), len(by_rank), n_bits, HEADER + len(body)) + body


def written(path: Path, documents: Documents) -> Path:
    write_tokens(str(path), *flatten(documents), BOUNDARY)
    return path


def read(path: Path) -> list[list[int]]:
    stores = TokenStores.open([str(path)], [None])
    offsets, symbols = stores.extract(np.arange(stores.n_documents))
    return [symbols[lo:hi].tolist() for lo, hi in zip(offsets[:-1], offsets[1:], strict=True)]


MANY = [[1, *(10 + (i * k) % (3 + i) for k in range(i))] for i in range(90)]


@pytest.mark.parametrize("documents", [[[1]], [[1], [1], [1]], DOCUMENTS, MANY], ids=lambda d: str(len(d)))
def test_bytes_by_hand_are_those_that_are_written(documents: Documents, tmp_path: Path) -> None:
    path = written(tmp_path / "tokens.bin", documents)
    assert path.read_bytes() == by_hand(documents)
    assert read(path) == documents


def test_every_word_of_a_huge_vocabulary_comes_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    body = np.concatenate([rng.permutation(1 << 18), rng.integers(0, 300, 100_000)]).astype(np.uint32) + 2
    cuts = np.sort(rng.choice(np.arange(1, len(body)), 999, replace=False))
    documents = [[BOUNDARY, *some.tolist()] for some in np.split(body, cuts)]
    assert read(written(tmp_path / "tokens.bin", documents)) == documents


def test_documents_beyond_4_gib_are_found(tmp_path: Path) -> None:
    """A file of which nearly all is a hole: the second document begins at bit 2^36, 8 GiB from the start."""
    path, far = tmp_path / "tokens.bin", 1 << 36
    codes = [3 << 3, 0]  # rank 3, then rank 0, in a class of 2^2 symbols
    n_bits = far + 10
    bounds = [0, far, n_bits]
    offsets = sum(bound << (i * 40) for i, bound in enumerate(bounds)).to_bytes(64, "little")
    at = HEADER + 64 + 64
    size = at + -(-(far // 8 + 16) // 64) * 64
    with path.open("wb") as file:
        file.write(header((2,), 40, 20, 2, 4, n_bits, size))
        file.write(struct.pack("<4I", 7, 8, 9, BOUNDARY) + bytes(48) + offsets)
        file.seek(at + far // 8)
        file.write((codes[0] | codes[1] << 5).to_bytes(2, "little"))
        file.truncate(size)
    stores = TokenStores.open([str(path)], [None])
    offsets_found, symbols = stores.extract(integers(1))
    assert (offsets_found.tolist(), symbols.tolist()) == ([0, 2], [BOUNDARY, 7])


@pytest.mark.parametrize(
    ("streams", "starts", "told"),
    [
        ([1, 5, 1, 6], [0, 1], "boundary 1 must be"),
        ([1, 5, 1, 6], [0], "belongs at offset 0 only"),
        ([1, 5], [0, 2], "there are 2 symbols"),
        ([1, 0], [0], "0 is kept"),
        ([], [], "no documents"),
    ],
)
def test_malformed_streams_are_not_written(
    streams: list[int], starts: list[int], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=told):
        write_tokens(str(tmp_path / "x"), np.array(streams, np.uint32), integers(*starts), BOUNDARY)
    assert not (tmp_path / "x").exists()


def changed(data: bytes, at: int, form: str, value: int) -> bytes:
    """A file with another value in its header, whose checksum agrees."""
    head = bytearray(data[:HEADER])
    struct.pack_into(form, head, at, value)
    return sealed(bytes(head)) + data[HEADER:]


SPOILED = {
    "too short to be a token store": lambda data: data[:100],
    "another magic number": lambda data: changed(data, 0, "<B", 0),
    "format version 2, this program reads version 1": lambda data: changed(data, 8, "<I", 2),
    "checksum of its header differs": lambda data: data[:60] + b"\1" + data[61:],
    "bytes instead of": lambda data: data + b"\0",
    "its header makes no sense": lambda data: changed(data, 12, "<I", 60),
    "header makes no sense": lambda data: changed(data, 24, "<Q", 0),
    "makes no sense": lambda data: changed(data, 48, "<B", 33),
    "parts do not fill it": lambda data: changed(data, 40, "<Q", 8 * len(data)),
    "its parts do not fill": lambda data: changed(data, 32, "<Q", 1 << 6),
    "documents do not fill it": lambda data: data[: HEADER + 64] + b"\xff" + data[HEADER + 65 :],
}


@pytest.mark.parametrize("told", SPOILED)
def test_spoiled_files_are_refused(told: str, tmp_path: Path) -> None:
    path = written(tmp_path / "tokens.bin", DOCUMENTS)
    path.write_bytes(SPOILED[told](path.read_bytes()))
    with pytest.raises(RuntimeError, match=told):
        TokenStores.open([str(path)], [None])


def test_flipped_bits_give_errors_or_other_symbols_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path / "tokens.bin", DOCUMENTS)
    data, outcomes = path.read_bytes(), Counter[str]()
    for at in range(8 * HEADER, 8 * len(data)):
        flipped = bytearray(data)
        flipped[at // 8] ^= 1 << at % 8
        path.unlink()
        path.write_bytes(flipped)
        try:
            outcomes["right" if read(path) == DOCUMENTS else "wrong"] += 1
        except RuntimeError as error:
            assert str(path) in str(error)
            outcomes["told"] += 1
    assert outcomes["told"] > 100
    assert outcomes["wrong"] > 50


def test_documents_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    stores = TokenStores.open([str(written(tmp_path / "tokens.bin", DOCUMENTS))] * 2, [None] * 2)
    assert stores.n_documents == 10
    for number in (-1, 10, 1 << 40):
        with pytest.raises(IndexError, match=f"documents.1. is {number}"):
            stores.extract(integers(0, number))


@pytest.fixture(scope="module", params=ENGINES)
def original(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip(f"seal_ir._{request.param}")
    directory = tmp_path_factory.mktemp("original") / "index"
    tiny.build(directory, max_segment_tokens=100, engine=EngineSpec(request.param))
    return directory


@pytest.fixture
def directory(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "index"))


def without_stores(directory: Path) -> Path:
    """The same index as format 4 had it."""
    values = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    files = {name: entry for name, entry in values["files"].items() if not name.endswith("/tokens.bin")}
    for path in directory.rglob("tokens.bin"):
        path.unlink()
    edit(directory, format=4, files=files)
    return directory


def asked(index: Index) -> QueryKeys:
    """Keys of a few words of the tiny collection, one of them rare."""
    keys = []
    for words in ("capital", "river", "largest city", "the", "climbed in"):
        ngram = tuple(tiny.stream_of(words))
        ranges = index.find(ngram)
        keys.append(Key(ngram, -1.5, sum(hi - lo for lo, hi in ranges), ranges, BODY))
    symbols = np.array(sorted({s for key in keys for s in key.symbols}), dtype=np.uint32)
    counts = np.array([sum(hi - lo for lo, hi in index.find([int(s)])) for s in symbols], dtype=np.int64)
    return QueryKeys(
        tuple(key for key in keys if key.count), Unigrams(symbols, np.full(len(symbols), -3.0), counts)
    )


def test_old_and_new_format_answer_alike(directory: Path, tmp_path: Path) -> None:
    new, old = Index(directory), Index(without_stores(Path(shutil.copytree(directory, tmp_path / "old"))))
    assert (new.manifest.version, old.manifest.version) == (5, 4)
    assert new.stores is not None
    assert old.stores is None
    everyone = np.arange(new.n_documents)
    for ours, theirs in zip(new.extract(everyone), old.extract(everyone), strict=True):
        assert ours.tolist() == theirs.tolist()
    assert new.documents(everyone) == old.documents(everyone) == tiny.DOCUMENTS
    assert new.value_lengths("title").tolist() == old.value_lengths("title").tolist()
    for config in (RankConfig(smoothing=0.0), RankConfig(max_count=1, smoothing=0.0)):
        ranked = rank(new, asked(new), config, 5)
        assert ranked
        assert ranked == rank(old, asked(old), config, 5) == rank(new, asked(new), config, 5)


def test_texts_are_kept_in_memory_only_where_there_is_no_store(original: Path, tmp_path: Path) -> None:
    old = Index(without_stores(Path(shutil.copytree(original, tmp_path / "old"))))
    assert Streams(Index(original))._cache.get() is None
    assert Streams(old)._cache.get() is not None
    with patch.object(Index, "extract_indexed", side_effect=AssertionError("walked the FM-index")):
        index = Index(original)
        assert index.documents([0, 3]) == [tiny.DOCUMENTS[0], tiny.DOCUMENTS[3]]
        assert rank(index, asked(index), RankConfig(smoothing=0.0), 5, streams=Streams(index))


def test_the_small_layout_has_no_store(tmp_path: Path) -> None:
    tiny.build(tmp_path / "small", engine=EngineSpec("native", "small"))
    assert not list((tmp_path / "small").rglob("tokens.bin"))
    index = Index(tmp_path / "small")
    assert index.stores is None
    assert index.documents(range(7)) == tiny.DOCUMENTS
    verify_index(tmp_path / "small", print, None)


def test_where_one_segment_has_no_store_none_is_used(directory: Path) -> None:
    values = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    first, *_ = [name for name in values["files"] if name.endswith("/tokens.bin")]
    edit(directory, files={name: entry for name, entry in values["files"].items() if name != first})
    index = Index(directory)
    assert index.stores is None
    assert index.documents(range(7)) == tiny.DOCUMENTS


def replace(directory: Path, documents: Documents, segment: int = 0) -> None:
    """Another store in the place of a segment's, and a manifest that says so."""
    path = written(part(directory, f"segment-{segment:06d}/tokens.bin"), documents)
    values: dict[str, Any] = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    name, data = path.relative_to(directory).as_posix(), path.read_bytes()
    entry = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    edit(directory, files={**values["files"], name: entry})


def streams_of(directory: Path, segment: int = 0) -> list[list[int]]:
    index = Index(directory)
    sizes = [part.n_documents for part in index.manifest.segments]
    first = sum(sizes[:segment])
    return [stream.tolist() for stream in index.streams(range(first, first + sizes[segment]))]


@pytest.mark.parametrize("segment", [0, 1])
def test_verify_tells_of_a_store_that_differs_from_the_fm_index(directory: Path, segment: int) -> None:
    streams = streams_of(directory, segment)
    streams[0][-1] ^= 1
    replace(directory, streams, segment)
    number = segment * len(streams_of(directory))
    told = f"document {number}: its stored tokens are not those of its FM-index"
    with pytest.raises(IndexDirError, match=told):
        verify_index(directory, print, None)


def test_a_store_of_other_documents_is_refused(directory: Path) -> None:
    streams = streams_of(directory)
    replace(directory, streams[:-1])
    n = sum(map(len, streams[:-1]))
    assert f"it holds {len(streams) - 1} documents of {n} tokens" in refused(directory)


def test_damage_is_told_of_when_it_opens_or_when_it_is_read(directory: Path) -> None:
    path = part(directory, "segment-000000/tokens.bin")
    data = path.read_bytes()
    path.unlink()  # the old one may be mapped
    path.write_bytes(data[:-128] + b"\xff" * 128)
    assert "tokens.bin: damaged, its checksum differs" in refused(directory)
    index = Index(directory, check="sizes")
    for call in (
        lambda: index.documents(range(7)),
        lambda: index.value_lengths("title"),
        lambda: rank(index, asked(index), RankConfig(smoothing=0.0), 5),
    ):
        with pytest.raises(
            IndexDirError, match=r"tokens.bin is damaged: document \d+ makes no sense; rebuild"
        ):
            call()


def test_a_store_that_lacks_located_keys_gives_an_error_of_the_index(directory: Path) -> None:
    """Its own checks pass and so do checksums, but texts are short, and keys were located beyond."""
    streams = streams_of(directory)
    n = sum(map(len, streams))
    short = [stream[:2] for stream in streams]
    short[-1] += streams[-1][2:] * n
    short[-1] = short[-1][: n - sum(map(len, short[:-1]))]
    replace(directory, short)
    index = Index(directory)
    with pytest.raises(IndexDirError, match="damaged .*(a key was located beyond|holds no key)"):
        rank(index, asked(index), RankConfig(smoothing=0.0), 5)


def test_only_live_documents_are_numbered(tmp_path: Path) -> None:
    streams = [np.array([BOUNDARY, *range(100, 100 + n)], dtype=np.uint32) for n in (3, 1, 4, 2)]
    starts = np.cumsum([0, *(len(stream) for stream in streams[:-1])])
    paths = [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        write_tokens(path, np.concatenate(streams), starts, BOUNDARY)
    stores = TokenStores.open(paths, [np.array([1, 3]), None])
    assert (stores.n_documents, stores.sizes) == (6, [(4, 14), (4, 14)])
    offsets, symbols = stores.extract(np.arange(6))
    expected = [streams[1], streams[3], *streams]
    found = [symbols[lo:hi].tolist() for lo, hi in pairwise(offsets.tolist())]
    assert found == [stream.tolist() for stream in expected]
    with pytest.raises((IndexError, ValueError)):
        stores.extract(np.array([6]))


@pytest.mark.parametrize("numbers", [[4], [1, 1], [2, 0], [-1]])
def test_live_documents_that_a_store_does_not_have_are_refused(tmp_path: Path, numbers: list[int]) -> None:
    write_tokens(str(tmp_path / "a"), np.full(4, BOUNDARY, np.uint32), np.arange(4), BOUNDARY)
    with pytest.raises(ValueError, match="live documents are not ascending numbers of its 4"):
        TokenStores.open([str(tmp_path / "a")], [np.array(numbers)])
