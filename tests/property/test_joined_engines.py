"""All segments asked in one call answer to the bit like segments asked one after the other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seal_ir.errors import IndexDirError
from seal_ir.index.engine import Engine
from seal_ir.index.engines import CheckedEngine, CompiledEngines, LoopedEngines, joined
from seal_ir.index.sparse import SparseRanges
from tests.helpers import engines as helpers
from tests.helpers.engines import BOUNDARY, FACTORIES, MODULES, Documents
from tests.helpers.examples import examples

LARGEST = 2**32 - 1
words = st.integers(2, 9) | st.integers(60, 70) | st.sampled_from([300, 70_000, LARGEST])
documents = st.lists(words, max_size=8).map(lambda found: [BOUNDARY, *found])
segments = st.lists(st.lists(documents, min_size=1, max_size=5), min_size=2, max_size=6)
# Of each module, those whose engines may lie side by side: a view, a view of a view, any layout.
KINDS = [name for name in FACTORIES if name.startswith("native")]
MIXED = {"_native": KINDS, "_sdsl": ["sdsl", "sdsl-without"]}


def _engines(module: str, parts: Sequence[Documents], source: random.Random) -> list[Engine]:
    found: list[Any] = []
    for number, part in enumerate(parts):
        engine = FACTORIES[source.choice(MIXED[module])](part).engine
        if source.random() < 0.3:  # a filter, over what may be a view already, and maybe of no document
            kept = [n for n in range(engine.n_documents) if source.random() < 0.6]
            engine = engine.only(helpers.integers(*kept))
        found.append(CheckedEngine(engine, Path(f"segment-{number}")))
    return found


def _grid(
    looped: LoopedEngines, engines: Sequence[Engine], parts: Sequence[Documents], source: random.Random
) -> Any:
    """Ranges of n-grams that occur somewhere or nowhere, the empty one among them."""
    everything = np.array([[[0, engine.n_rows] for engine in engines]], dtype=np.int64)
    grids = [everything, np.zeros_like(everything)]
    streams = [stream for part in parts for stream in part]
    for _ in range(12):
        stream = source.choice(streams)
        at = source.randrange(len(stream))
        ranges = everything
        for symbol in stream[at : at + source.randrange(1, 4)]:
            ranges = looped.extend(ranges, helpers.symbols(symbol))
        if source.random() < 0.2:  # as if it were unknown in some segments
            ranges[:, source.randrange(len(engines))] = 0
        grids.append(ranges)
    return np.concatenate(grids)


@pytest.mark.slow
@pytest.mark.parametrize("module", sorted(MIXED))
@examples(40)
@given(parts=segments, seed=st.integers(0, 2**31))
def test_one_call_answers_like_a_loop(module: str, parts: list[Documents], seed: int) -> None:
    pytest.importorskip(f"seal_ir.{module}")
    source = random.Random(seed)
    engines = _engines(module, parts, source)
    looped, compiled = LoopedEngines(engines), joined(engines)
    assert isinstance(compiled, CompiledEngines)
    grid = _grid(looped, engines, parts, source)
    known = sorted({symbol for part in parts for stream in part for symbol in stream}) + [0, 11, LARGEST - 1]
    symbols = helpers.symbols(*source.choices(known, k=len(grid)))
    _same(compiled.extend(grid, symbols), looped.extend(grid, symbols))
    for width in (0, 1, 3):
        candidates = helpers.symbols(*source.choices(known, k=width * len(grid))).reshape(len(grid), width)
        _same(compiled.verify(grid, candidates), looped.verify(grid, candidates))
    ours, theirs = compiled.successors(grid), looped.successors(grid)
    for one, other in zip(ours, theirs, strict=True):
        _same(np.asarray(one), np.asarray(other))
    _check_sparse(ours.ranges, np.asarray(theirs.ranges), source)
    _check_places(compiled, looped, grid, source)


def _check_sparse(sparse: Any, dense: Any, source: random.Random) -> None:
    assert isinstance(sparse, SparseRanges)
    assert (len(sparse), sparse.shape) == (len(dense), dense.shape)
    assert sparse.tolist() == dense.tolist()
    _same(sparse[..., 1] - sparse[..., 0], dense[..., 1] - dense[..., 0])
    if not len(dense):  # no successor at all: nothing to choose from
        return
    which = np.array([source.randrange(len(dense)) for _ in range(9)])
    mask = np.array([source.random() < 0.5 for _ in range(len(dense))])
    lo, hi = sorted(which[:2].tolist())
    for chosen in (which, which[:0], mask, slice(lo, hi), lo, -1, which.reshape(3, 3)):
        _same(sparse[chosen], dense[chosen])
    _same(sparse[lo:hi, :, 1], dense[lo:hi, :, 1])
    _same(sparse[which, 0], dense[which, 0])
    with pytest.raises(IndexError):
        sparse[np.array([len(dense)])]


def _check_places(compiled: Any, looped: Any, grid: Any, source: random.Random) -> None:
    rows = grid.copy()
    rows[..., 0] = np.where(rows[..., 1] > 0, np.maximum(rows[..., 0], 1), 0)  # row 0 stands for nothing
    for one, other in zip(compiled.locate(rows), looped.locate(rows), strict=True):
        _same(one, other)
        assert one.flags.c_contiguous
    n = int(looped._bases[-1])
    numbers = helpers.integers(*(source.randrange(n) for _ in range(8 if n else 0)))
    for one, other in zip(compiled.extract(numbers), looped.extract(numbers), strict=True):
        _same(one, other)


def _same(ours: Any, theirs: Any) -> None:
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert ours.tolist() == theirs.tolist()


@pytest.fixture(scope="module", params=sorted(MIXED))
def pair(request: pytest.FixtureRequest) -> list[Engine]:
    pytest.importorskip(f"seal_ir.{request.param}")
    kind = MIXED[request.param][0]
    parts: list[Documents] = [[[BOUNDARY, 5, 6, 7], [BOUNDARY, 5]], [[BOUNDARY, 6, 7, 8]]]
    return [CheckedEngine(FACTORIES[kind](part).engine, Path(f"s{n}")) for n, part in enumerate(parts)]


def test_many_successors_are_united_by_marks_and_by_sorting(pair: list[Engine]) -> None:
    """More than are sorted, below and beyond the largest symbol that is marked."""
    kind = "native" if "_native" in type(pair[0].compiled).__module__ else "sdsl"  # type: ignore[attr-defined]
    for step in (1, 7, 100_000):
        parts = [[[BOUNDARY, *(2 + step * (k * (n + 1) % 211) for k in range(200))]] for n in range(3)]
        engines: list[Any] = [CheckedEngine(FACTORIES[kind](part).engine, Path("s")) for part in parts]
        grid = np.array([[[0, engine.n_rows] for engine in engines]] * 2, dtype=np.int64)
        grid[1, 1] = 0
        ours, theirs = joined(engines).successors(grid), LoopedEngines(engines).successors(grid)
        for one, other in zip(ours, theirs, strict=True):
            _same(np.asarray(one), np.asarray(other))


def test_what_one_segment_refuses_all_refuse_in_its_words(pair: list[Engine]) -> None:
    compiled, looped = joined(pair), LoopedEngines(pair)
    wrong = np.array([[[0, 2], [2, 1]], [[0, 0], [0, 99]]], dtype=np.int64)
    beyond = np.array([[[0, 2], [-7, -7]]], dtype=np.int64)
    symbols = helpers.symbols(5, 6)
    for call in (
        lambda engines: engines.extend(wrong, symbols),
        lambda engines: engines.extend(beyond, symbols[:1]),
        lambda engines: engines.verify(wrong, symbols.reshape(2, 1)),
        lambda engines: engines.successors(wrong[1:]),
        lambda engines: engines.successors(beyond),
        lambda engines: engines.locate(wrong[1:]),
        lambda engines: engines.locate(np.array([[[0, 0], [0, 1]]])),  # the row of the sentinel
        lambda engines: engines.extend(wrong[:1] * 0, symbols),  # not as many symbols as n-grams
    ):
        with pytest.raises((IndexError, ValueError)) as theirs:
            call(looped)
        with pytest.raises(theirs.type) as ours:
            call(compiled)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize("joins", [joined, LoopedEngines])
def test_documents_and_occurrences_of_two_segments(pair: list[Engine], joins: Any) -> None:
    """Documents in the order asked, the first and last of each segment; where n-grams occur."""
    engines = joins(pair)
    offsets, symbols = engines.extract(helpers.integers(2, 0, 1, 2))
    assert offsets.tolist() == [0, 4, 8, 10, 14]
    assert symbols.tolist() == [
        *(BOUNDARY, 6, 7, 8),
        *(BOUNDARY, 5, 6, 7),
        *(BOUNDARY, 5),
        *(BOUNDARY, 6, 7, 8),
    ]
    assert (offsets.dtype, symbols.dtype) == (np.int64, np.uint32)
    offsets, symbols = engines.extract(helpers.integers())
    assert (offsets.tolist(), symbols.tolist(), symbols.dtype) == ([0], [], np.uint32)
    everything = np.array([[[0, engine.n_rows] for engine in pair]], dtype=np.int64)
    grid = np.concatenate([engines.extend(everything, helpers.symbols(symbol)) for symbol in (7, 5, 9, 6)])
    found = engines.locate(grid)
    assert found.offsets.tolist() == [0, 2, 4, 4, 6]
    split = np.split(found.documents, found.offsets[1:-1])
    assert [sorted(documents.tolist()) for documents in split] == [[0, 2], [0, 1], [], [0, 2]]


def test_arrays_of_other_types_are_refused(pair: list[Engine]) -> None:
    compiled = joined(pair)
    grid = np.zeros((1, 2, 2), dtype=np.int64)
    for call in (
        lambda: compiled.extend(grid.astype(np.int32), helpers.symbols(5)),
        lambda: compiled.extend(grid, helpers.integers(5)),
        lambda: compiled.successors(grid.astype(np.float64)),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises((IndexError, ValueError)):
        compiled.extend(np.zeros((1, 3, 2), dtype=np.int64), helpers.symbols(5))


def test_engines_of_several_modules_or_of_none_are_asked_in_a_loop(pair: list[Engine]) -> None:
    assert isinstance(joined(pair[:1]), LoopedEngines)  # of one there is nothing to join
    plain: Any = pair[0].compiled  # type: ignore[attr-defined]
    assert isinstance(joined([plain, pair[1]]), LoopedEngines)
    others = [kinds[0] for module, kinds in MIXED.items() if module != type(plain).__module__[8:]]
    for kind in others:
        pytest.importorskip(MODULES[kind])
        other = CheckedEngine(FACTORIES[kind]([[BOUNDARY, 5]]).engine, Path("s"))
        assert isinstance(joined([pair[0], other]), LoopedEngines)


def test_segments_keep_their_engines_and_refuse_none(pair: list[Engine]) -> None:
    from seal_ir import _native

    def made() -> Any:
        return _native.Segments([helpers.native([[BOUNDARY, 5, 6]]).engine for _ in range(3)])

    grid = np.array([[[0, 4]] * 3], dtype=np.int64)
    assert made().extend(grid, helpers.symbols(5)).tolist() == [[[2, 3]] * 3]
    offsets, symbols, ranges = made().successors(grid)
    assert (offsets.tolist(), symbols.tolist()) == ([0, 3], [BOUNDARY, 5, 6])
    assert ranges.take(np.array([1])).tolist() == [[[2, 3]] * 3]
    with pytest.raises(ValueError, match="no segments"):
        _native.Segments([])
    for wrong in ([None], [3]):
        with pytest.raises((TypeError, RuntimeError)):
            _native.Segments(wrong)


def test_damage_that_a_joined_call_meets_names_the_file(pair: list[Engine]) -> None:
    class Broken:
        def extend(self, *_: Any) -> Any:
            raise RuntimeError("the wavelet tree is damaged")

    compiled: Any = joined(pair)
    compiled._all = Broken()
    compiled._looped = LoopedEngines([pair[0], CheckedEngine(_Damaged(pair[1]), Path("folder/fm.bin"))])
    with pytest.raises(IndexDirError, match=r"folder/fm.bin: the wavelet tree is damaged"):
        compiled.extend(np.zeros((1, 2, 2), dtype=np.int64), helpers.symbols(5))


class _Damaged:
    """An engine whose file is damaged."""

    def __init__(self, engine: Engine) -> None:
        self.n_rows, self.n_documents = engine.n_rows, engine.n_documents

    def extend(self, *_: Any) -> Any:
        raise RuntimeError("the wavelet tree is damaged")
