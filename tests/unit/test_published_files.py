"""Files of the published system that are damaged, or that want something run: one line, never a crash."""

from __future__ import annotations

import os
import pickle
import random
from pathlib import Path

import numpy as np
import pytest

from seal_ir.convert.published_index import PublishedCollection
from seal_ir.convert.published_side_file import read_side_file
from seal_ir.errors import InputError
from tests.helpers import published, tiny
from tests.helpers.engines import integers, symbols
from tests.helpers.published import token_list

_sdsl = pytest.importorskip("seal_ir._sdsl")

TEXT = np.random.default_rng(7).integers(10, 40, 3000).astype(np.uint32)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("published") / "index.fmi"
    _sdsl.build_published(str(path), TEXT)
    return path.read_bytes()


def read(path: Path) -> np.ndarray:
    return _sdsl.Published.open(str(path)).read(10**6)


@pytest.mark.parametrize("n_distinct", [1, 2, 6, 30, 9000])
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 63, 64, 65, 127, 5000])
def test_the_text_comes_back(tmp_path: Path, n: int, n_distinct: int) -> None:
    text = np.random.default_rng(n).integers(1, 1 + n_distinct, n).astype(np.uint32)
    path = str(tmp_path / "index.fmi")
    _sdsl.build_published(path, text)
    opened = _sdsl.Published.open(path)
    assert (opened.n_rows, opened.n_symbols) == (n + 1, len(np.unique(text)))
    parts = [opened.read(size) for size in (0, 1, 10, n)]
    assert np.concatenate(parts).tolist() == text.tolist()
    assert len(opened.read(5)) == 0


def test_every_truncation_is_refused(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "index.fmi"
    for n in [*range(100), *range(100, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:n])
        with pytest.raises(RuntimeError, match=r"truncated, damaged or of another kind"):
            _sdsl.Published.open(str(path))


def test_surplus_bytes_are_refused(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "index.fmi"
    path.write_bytes(whole + b"\0")
    with pytest.raises(RuntimeError, match="its sizes and its length do not agree"):
        _sdsl.Published.open(str(path))
    with pytest.raises(RuntimeError, match="its sizes and its length do not agree"):
        _sdsl.Baseline.open(str(path))


@pytest.mark.slow
def test_damage_is_refused_or_does_no_harm(tmp_path: Path, whole: bytes) -> None:
    """Whatever byte is wrong: an error in one line, or the same number of symbols, never a crash."""
    source = random.Random(5)
    path = tmp_path / "index.fmi"
    refused = 0
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(source.choice((1, 1, 8))):
            # Half of the damage where the sizes are.
            at = source.randrange(64) if source.random() < 0.5 else source.randrange(len(data))
            data[at] = source.choice((0, 1, 255, source.randrange(256)))
        path.write_bytes(data)
        try:
            assert len(read(path)) == len(TEXT)
        except RuntimeError as error:
            assert str(path) in str(error)
            assert "\n" not in str(error)
            refused += 1
    assert refused > 1000


def test_a_bit_of_the_text_that_flips_is_found(tmp_path: Path, whole: bytes) -> None:
    path = tmp_path / "index.fmi"
    for at in range(24, 24 + len(TEXT) * 6 // 8, 61):
        data = bytearray(whole)
        data[at] ^= 4
        path.write_bytes(data)
        with pytest.raises(RuntimeError, match="is damaged"):
            read(path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="cannot be opened: No such file"):
        read(tmp_path / "absent")
    with pytest.raises(RuntimeError, match="is not a file"):
        read(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(RuntimeError, match="truncated"):
        read(tmp_path / "empty")


def test_texts_that_cannot_be_indexed_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "index.fmi")
    with pytest.raises(ValueError, match="no symbols"):
        _sdsl.build_published(path, symbols())
    with pytest.raises(ValueError, match="symbol 0"):
        _sdsl.build_published(path, symbols(3, 0, 4))
    with pytest.raises(RuntimeError, match="cannot be written"):
        _sdsl.build_published(str(tmp_path / "absent" / "index.fmi"), symbols(3))


class Runs:
    """Unpickled, it would make a folder."""

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, ("pwned",)


GLOBALS = {
    "a call": (pickle.dumps(([0], Runs(), None)), "posix.mkdir"),
    "an array": (pickle.dumps((np.zeros(3), set(), None)), "numpy"),
    "a range": (pickle.dumps((range(3), set(), None), protocol=2), "__builtin__.xrange"),
    "eval": (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval"),
    "a frozen set": (pickle.dumps((frozenset(), set(), None), protocol=2), "__builtin__.frozenset"),
}


OPCODES = {
    "a dict": (pickle.dumps({}), "EMPTY_DICT"),
    "bytes": (pickle.dumps(b"x"), "SHORT_BINBYTES"),
    "a persistent id": (b"Px\n.", "PERSID"),
    "an instance": (b"(i__main__\nRuns\n.", "__main__.Runs"),
    "a state": (b"]]b.", "BUILD"),
    "a far memo": (b"]r\xff\xff\xff\x7f.", "stores a value at 2,147,483,647"),
}


@pytest.mark.parametrize("name", OPCODES)
def test_a_side_file_makes_nothing_but_its_values(tmp_path: Path, name: str) -> None:
    data, refused = OPCODES[name]
    (tmp_path / "side").write_bytes(data)
    with pytest.raises(InputError) as error:
        read_side_file(tmp_path / "side")
    assert refused in str(error.value)


@pytest.mark.parametrize("name", GLOBALS)
def test_a_side_file_names_nothing_but_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    data, refused = GLOBALS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "side").write_bytes(data)
    with pytest.raises(InputError, match=r"refused: only lists, tuples, sets") as error:
        read_side_file(tmp_path / "side")
    assert refused in str(error.value)
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["side"]


@pytest.mark.slow
def test_a_damaged_side_file_is_refused_or_fits(tmp_path: Path) -> None:
    prefix = tmp_path / "index"
    published.write(prefix, [token_list(document) for document in tiny.DOCUMENTS], None)
    path = tmp_path / "index.oth"
    data = path.read_bytes()
    source = random.Random(3)
    refused = 0
    for _ in range(2000):
        broken = bytearray(data[: source.randrange(len(data))] if source.random() < 0.2 else data)
        if broken:
            broken[source.randrange(len(broken))] = source.randrange(256)
        path.write_bytes(broken)
        try:
            list(PublishedCollection(prefix, tiny.tokenizer()))
        except InputError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused > 1000


def test_the_baseline_answers_as_an_engine_does(tmp_path: Path) -> None:
    source = np.random.default_rng(11)
    starts = np.flatnonzero(np.arange(600) % 7 == 0)
    text = source.integers(2, 9, 600).astype(np.uint32)
    text[starts] = 1
    _sdsl.build(str(tmp_path / "fm"), text, starts, 1, str(tmp_path))
    _sdsl.build_published(str(tmp_path / "index.fmi"), text)
    engine = _sdsl.Engine.open(str(tmp_path / "fm"))
    baseline = _sdsl.Baseline.open(str(tmp_path / "index.fmi"))
    assert engine.n_rows == baseline.n_rows

    ngrams = [[2], [3, 4], [3, 4, 5], [9]]
    offsets = np.cumsum([0, *map(len, ngrams)])
    _, found = baseline.find(offsets, symbols(*sum(ngrams, [])))
    ranges = np.array([[0, engine.n_rows]] * len(ngrams))
    for depth in range(3):
        at = [i for i, ngram in enumerate(ngrams) if depth < len(ngram)]
        ranges[at] = engine.extend(ranges[at], symbols(*(ngrams[i][depth] for i in at)))
    assert found.tolist() == ranges.tolist()
    assert (
        baseline.extend(found, symbols(5, 5, 5, 5))[1].tolist()
        == engine.extend(found, symbols(5, 5, 5, 5)).tolist()
    )
    _, n_following = baseline.successors(offsets, symbols(*sum(ngrams, [])))
    for count, (lo, hi) in zip(n_following, ranges, strict=True):
        following = engine.successors(np.array([[lo, hi]]))[1]
        assert count - len(following) in (0, 1)  # the baseline also lists the boundary
    rows = np.arange(1, engine.n_rows)
    assert baseline.locate(rows, starts)[1].tolist() == engine.locate(rows).tolist()
    seconds, _, streams = baseline.extract(integers(3, 0, 85), starts)
    assert streams.tolist() == engine.extract(integers(3, 0, 85))[1].tolist()
    assert 0 <= seconds < 5
