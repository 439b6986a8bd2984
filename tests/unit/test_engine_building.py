"""Building an engine: which there are, the memory that it takes, and what is told where it fails."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from seal_ir.errors import IndexDirError, UsageError
from seal_ir.extensions import NATIVE, SDSL
from seal_ir.index import engine
from seal_ir.index.builder import BuildOptions
from seal_ir.index.engine import EngineSpec, build_engine, build_memory
from seal_ir.text.symbols import BOUNDARY, MAX_FURTHER

MIB = 1 << 20
SYMBOLS, STARTS = np.arange(5000, dtype=np.uint32), np.array([0, 10])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: EngineSpec("bwt"), "unknown index engine 'bwt'; this version has: native, sdsl"),
        (lambda: EngineSpec(layout="x"), "unknown layout 'x'; choose one of default, small, fast"),
        (
            lambda: EngineSpec(SDSL, "small"),
            "the sdsl engine has no layout 'small'; it has the default only",
        ),
        (
            lambda: BuildOptions(fields=tuple(f"f{n}" for n in range(MAX_FURTHER + 1))),
            f"{MAX_FURTHER + 1} further fields; an index has at most {MAX_FURTHER}",
        ),
    ],
)
def test_options_that_there_are_not(call: Callable[[], object], told: str) -> None:
    with pytest.raises(UsageError) as error:
        call()
    assert str(error.value) == told
    assert BuildOptions(fields=tuple(f"f{n}" for n in range(MAX_FURTHER)))


def test_layouts_that_store_tokens() -> None:
    assert [EngineSpec(layout=name).stores_tokens for name in ("default", "small", "fast")] == [
        True,
        False,
        True,
    ]
    assert EngineSpec() == EngineSpec(NATIVE, "default")


@pytest.mark.parametrize(
    ("name", "n_distinct", "each"),
    [(SDSL, 0, 8), (SDSL, 1 << 20, 8), (NATIVE, 0, 12), (NATIVE, 1 << 16, 12), (NATIVE, (1 << 16) + 1, 22)],
)
def test_memory_of_building(name: str, n_distinct: int, each: int) -> None:
    for n_tokens in (0, 1, 1_000_000):
        assert build_memory(EngineSpec(name), n_tokens, n_distinct) == each * n_tokens + 16 * MIB
    if not n_distinct:
        assert build_memory(EngineSpec(name), 7) == each * 7 + 16 * MIB


def built(monkeypatch: pytest.MonkeyPatch, build: Callable[..., None], free: int = 1 << 40) -> list[str]:
    """Phases of building with a stand-in for sdsl's module, where a disk has so much room."""
    phases: list[str] = []
    monkeypatch.setattr(
        engine, "extension", lambda name: SimpleNamespace(build=build) if name == SDSL else None
    )
    monkeypatch.setattr(
        engine, "disk_usage", lambda path: {Path("temporary"): SimpleNamespace(free=free)}[path]
    )
    build_engine(EngineSpec(SDSL), Path("fm"), SYMBOLS, STARTS, Path("temporary"), phases.append)
    return phases


def test_what_the_module_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    assert built(monkeypatch, lambda *args: asked.extend(args)) == ["indexing"]
    assert asked[0] == "fm"
    assert asked[1] is SYMBOLS
    assert asked[2] is STARTS
    assert asked[3:] == [BOUNDARY, "temporary"]


NO_MEMORY = "not enough memory to index 5,000 tokens at once: about 16 MiB beside the text; see --memory"
NEEDED = (1 << 16) + 9 * len(SYMBOLS)  # bytes of temporary files


@pytest.mark.parametrize(
    ("error", "free", "told"),
    [
        (RuntimeError("lost"), 0, "the index cannot be written: lost"),
        (MemoryError(), NEEDED, NO_MEMORY),
        (MemoryError(), NEEDED - 1, "the index cannot be written: the disk of temporary is full; make room"),
    ],
)
def test_what_is_told_where_it_fails(
    monkeypatch: pytest.MonkeyPatch, error: Exception, free: int, told: str
) -> None:
    def failing(*args: object) -> None:
        raise error

    with pytest.raises(IndexDirError) as raised:
        built(monkeypatch, failing, free)
    assert str(raised.value) == told
    monkeypatch.setattr(engine, "build_native", failing)
    with pytest.raises(IndexDirError) as raised:
        build_engine(EngineSpec(), Path("fm"), SYMBOLS, STARTS, Path("temporary"))
    assert str(raised.value) == (NO_MEMORY if isinstance(error, MemoryError) else told)
