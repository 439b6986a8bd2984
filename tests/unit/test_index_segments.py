"""How a collection is cut into segments, and built by several processes within a budget of memory."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from seal_ir.errors import IndexDirError, InputError, UsageError
from seal_ir.extensions import NATIVE, SDSL
from seal_ir.index import memory, workers
from seal_ir.index import segmenting as cutting
from seal_ir.index.builder import BuildOptions, build_index
from seal_ir.index.engine import EngineSpec
from seal_ir.index.manifest import read_manifest
from seal_ir.index.memory import Budget, Size, parse_size, segment_limit, segment_memory
from seal_ir.index.segments import SegmentWriter
from seal_ir.records import Document
from seal_ir.text.words import FieldEncoder
from tests.helpers import tiny
from tests.helpers.indexes import content

MANY = [Document(f"d{i}", d.title, f"{d.text} {i}") for i, d in enumerate(tiny.DOCUMENTS * 12)]
SDSL_SPEC = EngineSpec(SDSL)
N_SYMBOLS = tiny.tokenizer().n_symbols
reader_memory = Budget(SDSL_SPEC, N_SYMBOLS).reader


def sizes(directory: Path) -> list[int]:
    return [segment.n_tokens for segment in read_manifest(directory).segments]


@pytest.mark.slow
def test_e7_threads_change_no_byte(tmp_path: Path) -> None:
    for threads in (1, 2, 5):
        tiny.build(tmp_path / str(threads), MANY, 500, threads=threads, store_raw=True)
    assert len(sizes(tmp_path / "1")) == 5
    assert content(tmp_path / "2") == content(tmp_path / "5") == content(tmp_path / "1")


def test_one_segment_needs_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PROGRAM", ("/nonexistent",))
    tiny.build(tmp_path / "one", MANY, threads=8)
    with pytest.raises(IndexDirError, match="No such file"):
        tiny.build(tmp_path / "several", MANY, 900, threads=8)


def test_a_segment_is_as_large_as_it_may_be(tmp_path: Path) -> None:
    tiny.build(tmp_path / "one", MANY)
    (total,) = sizes(tmp_path / "one")
    tiny.build(tmp_path / "same", MANY, total)
    assert sizes(tmp_path / "same") == [total]
    tiny.build(tmp_path / "less", MANY, total - 1)
    assert len(sizes(tmp_path / "less")) == 2
    longest = max(len(tiny.stream_of(d.title)) + len(tiny.stream_of(d.text)) + 2 for d in MANY)
    assert total - longest <= sizes(tmp_path / "less")[0] < total


def test_options_that_mean_nothing() -> None:
    for values in ({"threads": 0}, {"max_segment_tokens": 0}):
        (name,) = values
        with pytest.raises(UsageError, match=f"{name} is 0; it must be at least 1"):
            BuildOptions(**values)


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("2G", 2 << 30),
        ("1500M", 1500 << 20),
        ("1.5g", 3 << 29),
        ("64KiB", 1 << 16),
        ("123", 123),
        ("1T", 1 << 40),
    ],
)
def test_sizes(text: str, n_bytes: int) -> None:
    assert parse_size(text) == n_bytes


@pytest.mark.parametrize("text", ["", "G", "2X", "-1G", "1e9", "0", "2 G B", "٢G", "lots"])
def test_sizes_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="not a size; write it as 2G or 1500M"):
        parse_size(text)


def test_d1_limits_of_the_engines() -> None:
    assert segment_limit(EngineSpec(NATIVE), 1 << 16) == (1 << 30) - 1
    assert segment_limit(EngineSpec(NATIVE), (1 << 16) + 1) == (1 << 29) - 1
    assert segment_limit(SDSL_SPEC, 1 << 17) == 1 << 30


def test_more_symbols_than_two_bytes_hold_end_a_segment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The document that brings the symbol too many begins a new segment, if the lower limit is passed."""
    for module in (memory, cutting):
        if hasattr(module, "segment_limit"):
            monkeypatch.setattr(module, "segment_limit", lambda spec, n: 200 if n > 100 else 400)
    monkeypatch.setattr("seal_ir.index.segments.MAX_NARROW", 10)
    streams = [np.arange(start, start + 50, dtype=np.uint32) for start in (20, 20, 20, 20, 20, 70, 120)]
    items = [cutting.Tokenised(Document(f"d{i}", "", ""), s, True) for i, s in enumerate(streams)]
    cutter = cutting.Cutter(1 << 30, Budget(SDSL_SPEC, 1 << 10))
    found = [writer.size for writer, _ in cutter.segments(items, tmp_path)]
    assert found == [Size(6, 300, 100), Size(1, 50, 50)]


def test_a_document_alone_may_fill_a_segment_and_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = cutting.Tokenised(Document("d", "", ""), np.arange(20, 170, dtype=np.uint32), True)
    needed = Budget(SDSL_SPEC, 1 << 10).reader(0) + segment_memory(SDSL_SPEC, Size(1, 150))

    def added(name: str, max_tokens: int, n_bytes: int) -> Size:
        cutter = cutting.Cutter(max_tokens, Budget(SDSL_SPEC, 1 << 10, n_bytes))
        collector = cutting.Collector(cutter, tmp_path / name, 0)
        (tmp_path / name).mkdir()
        assert collector.add(item) is None
        writer = collector.finish()
        assert writer is not None
        return writer.size

    assert added("fits", 150, needed).n_tokens == 150
    with pytest.raises(InputError) as error:
        added("long", 149, needed)
    told = "document 'd' has 150 tokens"
    assert str(error.value) == f"{told}; a segment holds at most 149; split it (--split)"
    with pytest.raises(InputError) as error:
        added("large", 150, needed - 1)
    assert str(error.value) == f"{told}, for which the memory does not suffice; split it, or see --memory"
    monkeypatch.setattr(cutting, "segment_limit", lambda spec, n: 100 if n > 100 else 400)
    monkeypatch.setattr(cutting, "MAX_NARROW", 1 << 10)  # symbols need not be counted
    assert added("narrow", 150, needed).n_tokens == 150
    monkeypatch.setattr(cutting, "MAX_NARROW", 1 << 9)
    with pytest.raises(InputError, match="a segment holds at most 100"):
        added("wide", 150, 1 << 40)


def test_documents_are_tokenised_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting, "_BATCH", 2)
    told: list[tuple[str, int]] = []
    documents = tiny.DOCUMENTS[:5]
    found = list(cutting.tokenised(documents, FieldEncoder(tiny.tokenizer()), (), lambda *w: told.append(w)))
    assert told == [("tokenising", 2), ("tokenising", 4), ("tokenising", 5)]
    assert [(item.document, item.exact) for item in found] == [(document, True) for document in documents]


def test_distinct_symbols_are_counted_where_they_matter(tmp_path: Path) -> None:
    symbols = np.array([1, 70_000, 2, 70_000], dtype=np.uint32)
    for n_symbols, n_distinct in ((1 << 17, 3), (1 << 16, 0)):
        writer = SegmentWriter(tmp_path / str(n_symbols), n_symbols)
        if n_symbols == 1 << 17:
            writer.add(Document("a", "", ""), symbols, writer.size_with(symbols), exact=True)
            assert writer.size_with(symbols) == Size(2, 8, 3)
            writer.size_with(symbols[:1])
        assert writer.size_with(symbols).n_distinct == n_distinct
        writer.abandon()


def test_estimates_grow_with_what_they_count() -> None:
    for spec in (SDSL_SPEC, EngineSpec(NATIVE)):
        small, large = Size(10, 1000, 90), Size(10, 2_001_000, 90)
        per_token = (segment_memory(spec, large) - segment_memory(spec, small)) / 2_000_000
        assert per_token == {SDSL: 12, NATIVE: 16}[spec.name]
        assert segment_memory(spec, Size(1010, 1000, 90)) - segment_memory(spec, small) == 8000
        more = segment_memory(spec, Size(10, 1000, 1 << 17)) - segment_memory(spec, small)
        assert (more > 0) == (spec.name == NATIVE)  # sdsl's table of symbols has room for all
    assert reader_memory(10) > reader_memory(0) > Budget(SDSL_SPEC, N_SYMBOLS - 10).reader(0)


@pytest.mark.parametrize("name", [NATIVE, SDSL])
def test_a_budget_holds_what_fits_and_tells_what_is_needed(name: str) -> None:
    spec = EngineSpec(name)
    size = Size(10, 1000, 90)
    for n_read in (0, 7):
        needed = Budget(spec, N_SYMBOLS).reader(n_read) + segment_memory(spec, size)
        assert Budget(spec, N_SYMBOLS, needed).holds(n_read, size)
        assert not Budget(spec, N_SYMBOLS, needed - 1).holds(n_read, size)
        assert Budget(spec, N_SYMBOLS).holds(n_read, size)
        least = Budget(spec, N_SYMBOLS).reader(n_read) + segment_memory(
            spec, Size(n_tokens=memory.LEAST_TOKENS)
        )
        Budget(spec, N_SYMBOLS).check(n_read)
        Budget(spec, N_SYMBOLS, least).check(n_read)
        told = f"at least {(least + (1 << 20) - 1) >> 20:,} MiB are needed"
        kind, words = (
            (IndexDirError, f"the memory does not suffice after {n_read} documents: {told}; see --memory")
            if n_read
            else (UsageError, f"--memory {(least - 1) >> 20:,} MiB is too little: {told} by any build")
        )
        with pytest.raises(kind) as error:
            Budget(spec, N_SYMBOLS, least - 1).check(n_read)
        assert str(error.value) == words


def test_d2_too_little_memory_is_refused_before_reading(tmp_path: Path) -> None:
    def unread():
        raise AssertionError("read")
        yield

    with pytest.raises(UsageError, match=r"--memory 50 MiB is too little: at least \d+ MiB are needed"):
        tiny.build(tmp_path / "index", unread(), memory=50 << 20)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_d2_a_budget_cuts_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the largest whose estimate fits, whatever the threads."""
    monkeypatch.setattr(memory, "LEAST_TOKENS", 100)
    budget = reader_memory(len(MANY)) + segment_memory(SDSL_SPEC, Size(60, 900))
    for threads in (1, 3):
        tiny.build(tmp_path / str(threads), MANY, memory=budget, threads=threads, engine=SDSL_SPEC)
    assert 2 <= len(sizes(tmp_path / "1")) <= 7
    assert content(tmp_path / "3") == content(tmp_path / "1")
    checked = Budget(SDSL_SPEC, N_SYMBOLS, budget)
    n_read = 0
    for segment in read_manifest(tmp_path / "1").segments:
        n_read += segment.n_documents
        assert checked.holds(n_read - 1, Size(segment.n_documents, segment.n_tokens))
        if n_read < len(MANY):
            assert not checked.holds(n_read, Size(segment.n_documents + 1, segment.n_tokens + 100))


def test_a_budget_that_ids_use_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "LEAST_TOKENS", 700)
    budget = reader_memory(10) + segment_memory(SDSL_SPEC, Size(0, 700))
    with pytest.raises(IndexDirError, match=r"does not suffice after \d+ documents: at least \d+ MiB"):
        tiny.build(tmp_path / "index", MANY, memory=budget, engine=SDSL_SPEC)
    long = [Document("long", "", "word " * 400)]
    with pytest.raises(InputError, match="'long' has [0-9]+ tokens, for which the memory does not suffice"):
        tiny.build(tmp_path / "index", long, memory=budget, engine=SDSL_SPEC)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("threads", "n_segments_in_memory"), [(4, 2), (2, 9)])
def test_processes_stay_within_threads_and_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int, n_segments_in_memory: int
) -> None:
    running, most, lock = 0, 0, threading.Lock()

    def build(self: workers.Workers, folder: Path, temporary: Path, told: object) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.02)
        with lock:
            running -= 1

    monkeypatch.setattr(workers.Workers, "_build", build)
    one = segment_memory(SDSL_SPEC, Size(20, 900))
    budget = Budget(SDSL_SPEC, N_SYMBOLS, reader_memory(100) + n_segments_in_memory * one)
    with workers.Workers(threads, budget) as pool:
        for _ in range(12):
            pool.start(tmp_path, tmp_path, Size(20, 900), 100, lambda phase: None)
        pool.finish()
    assert (running, most) == (0, 2)


@pytest.mark.slow
def test_f7_progress_tells_of_every_phase(tmp_path: Path) -> None:
    for threads in (1, 3):
        told: list[tuple[str, int]] = []
        options = BuildOptions(max_segment_tokens=1800, threads=threads, engine=SDSL_SPEC)
        build_index(
            MANY,
            tmp_path / "i",
            tiny.tokenizer(),
            tiny.about,
            options,
            lambda *what, told=told: told.append(what),
        )
        phases = [phase.split(" of ")[0] for phase, _ in told]
        assert set(phases) == {
            "tokenising", "building segment-000000", "building segment-000001", "computing checksums"
        }  # fmt: skip
        assert told[-1] == ("computing checksums", len(MANY))
