"""The search command in the long run: bounded memory, overlapping stages, a clean end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from seal_ir.errors import SealError
from seal_ir.index.builder import build_index
from seal_ir.records import Document
from seal_ir.search import __main__ as command
from seal_ir.search.__main__ import main
from seal_ir.search.pipeline import batched, overlapped
from tests.helpers import stub, tiny
from tests.helpers.commands import ROOT, Runner, assert_fault, spawn
from tests.helpers.stubbed import Stubbed
from tests.helpers.threads import no_thread_left

MIB = 1 << 20

# Two stages that overlap


class Traced:
    """Stages that write down when they begin and end."""

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def first(self, batch: Any) -> list[int]:
        self.events.append(("decode", batch[0]))
        return list(batch)

    def second(self, item: int) -> int:
        self.events.append(("rank", item))
        return item * item


def staged(
    batches: Iterable[Any], first: Callable[[Any], Sequence[int]]
) -> Iterator[tuple[Any, Sequence[int]]]:
    """Batches with what a first stage makes of them, one by one."""
    return ((batch, first(batch)) for batch in batches)


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize("size", [1, 3, 100])
def test_results_come_in_order(size: int, threads: int) -> None:
    def second(item: int) -> int:
        time.sleep(0.001 * (item % 3))  # later items overtake earlier ones
        return item * item

    found = list(overlapped(staged(batched(range(20), size), list), second, threads))
    assert [item for batch, _ in found for item in batch] == list(range(20))
    assert [result for _, results in found for result in results] == [item * item for item in range(20)]
    assert list(overlapped([], second, threads)) == []


def test_the_next_batch_is_decoded_while_the_last_one_is_ranked() -> None:
    """Ranking batch 0 waits for decoding batch 1, and that for the ranking to have begun."""
    ranking, decoding = threading.Event(), threading.Event()

    def first(batch: range) -> range:
        if batch[0] == 1:
            assert ranking.wait(20)
            decoding.set()
        return batch

    def second(item: int) -> bool:
        if item == 0:
            ranking.set()
            return decoding.wait(20)
        return True

    found = list(overlapped(staged(batched(range(3), 1), first), second, 1))
    assert [results for _, results in found] == [[True], [True], [True]]


def test_no_more_than_two_batches_are_held() -> None:
    traced = Traced()
    for at, (batch, _) in enumerate(
        overlapped(staged(batched(range(12), 2), traced.first), traced.second, 2)
    ):
        decoded = [batch for name, batch in traced.events if name == "decode"]
        assert batch[0] == 2 * at
        assert len(decoded) <= at + 2


def test_what_a_stage_raises_is_raised_and_nothing_goes_on() -> None:
    for fails in ("first", "second"):
        traced = Traced()

        def first(batch: range, traced: Traced = traced, fails: str = fails) -> list[int]:
            if fails == "first" and batch[0] == 2:
                raise SealError("no")
            return traced.first(batch)

        def second(item: int, traced: Traced = traced, fails: str = fails) -> int:
            if fails == "second" and item == 2:
                raise SealError("no")
            return traced.second(item)

        done = []
        with no_thread_left(), pytest.raises(SealError, match="no"):
            for batch, _ in overlapped(staged(batched(range(100), 1), first), second, 2):
                done.append(batch[0])
        assert done == ([0, 1] if fails == "second" else [0])
        assert max(item for _, item in traced.events) <= 4


def test_who_stops_early_leaves_no_thread() -> None:
    traced = Traced()
    with no_thread_left():
        results = overlapped(staged(batched(range(100), 1), traced.first), traced.second, 3)
        assert next(results) == (range(1), [0])
        results.close()
        n = len(traced.events)
    assert n == len(traced.events) <= 4


# The command


TOPICS = "".join(f"q{i}\t{sentence} {i}\n" for i, sentence in enumerate(tiny.SENTENCES * 3))


@pytest.mark.slow
@pytest.mark.usefixtures("stubbed")
def test_threads_do_not_change_a_byte(call: Runner, tiny_index: Path, tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text(TOPICS)
    runs = set()
    for threads in (1, 2, 8):
        for size in (1, 4):
            output = tmp_path / f"{threads}-{size}"
            arguments = ["--topics", tmp_path / "topics.tsv", "--index", tiny_index, "--preset", "paper"]
            arguments += ["--output", output, "--threads", threads, "--batch-size", size]
            assert call(main, *arguments).code == 0
            runs.add(output.read_bytes())
    (run,) = runs
    assert len(run.splitlines()) > 45


@pytest.mark.slow
def test_results_are_written_as_they_come(
    call: Runner, stubbed: Stubbed, tiny_index: Path, tmp_path: Path
) -> None:
    """When the last batch is decoded, the results of the first ones have left the process."""
    n = 300
    (tmp_path / "topics.tsv").write_text("".join(f"q{i}\tthe capital of Japan\n" for i in range(n)))
    sizes: list[int] = []
    folder = tmp_path / "runs"
    stubbed.before_batch = lambda n: sizes.append(sum(path.stat().st_size for path in folder.iterdir()))
    arguments = ["--topics", tmp_path / "topics.tsv", "--index", tiny_index, "--preset", "paper"]
    assert call(main, *arguments, "--output", folder / "run", "--batch-size", 10, "--beam", 2).code == 0
    whole = (folder / "run").stat().st_size
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    assert sizes[-1] > whole * 0.6


def test_a_fault_in_ranking_is_told_and_leaves_nothing(
    call: Runner, stubbed: Stubbed, monkeypatch: pytest.MonkeyPatch, tiny_index: Path, tmp_path: Path
) -> None:
    (tmp_path / "topics.tsv").write_text(TOPICS)
    original = command.QueryPipeline.rank

    def failing(self: Any, keys: Any, k: int, config: Any = None) -> Any:
        if stubbed.n_batches > 2:
            raise SealError("the disk is gone")
        return original(self, keys, k, config)

    monkeypatch.setattr(command.QueryPipeline, "rank", failing)
    arguments = ["--topics", tmp_path / "topics.tsv", "--index", tiny_index, "--batch-size", 1]
    assert_fault(call(main, *arguments, "--output", tmp_path / "runs" / "run"), 1, "the disk is gone")
    assert list((tmp_path / "runs").iterdir()) == []
    assert stubbed.n_batches < len(TOPICS.splitlines())


@pytest.mark.slow
def test_an_interrupted_search_ends_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    setting = _setting(tmp_path, n_words=50)
    arguments = _arguments(setting, n_queries=200, output=tmp_path / "runs" / "run")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.streaming_search", *arguments],
        env={**os.environ, "SEAL_IR_TEST_SLOW": "0.2"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not (tmp_path / "runs").is_dir() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.0)  # some batches on
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    out, err = process.communicate(timeout=60)
    assert time.monotonic() - started < 20
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert "error: interrupted" in err
    assert list((tmp_path / "runs").iterdir()) == []


# Memory


class Setting(NamedTuple):
    index: Path
    words: list[str]


def _setting(folder: Path, n_words: int) -> Setting:
    """An index whose tokenizer knows `n_words` words, of which the documents hold fifty."""
    words = [f"w{i}" for i in range(n_words)]
    tokenizer = stub.word_tokenizer(words)
    path = folder / f"tokenizer-{n_words}.json"
    path.write_text(tokenizer.definition)
    source = np.random.default_rng(0)
    texts = [" ".join(words[i] for i in source.integers(0, 50, 40)) for _ in range(200)]
    documents = [Document(f"d{i}", words[i % 50], text) for i, text in enumerate(texts)]
    about = {"model": str(path), "collection": {"kind": "test"}}
    build_index(documents, folder / str(n_words), tokenizer, lambda: about)
    return Setting(folder / str(n_words), words)


def _arguments(setting: Setting, n_queries: int, output: Path) -> list[str]:
    """A search for `n_queries` queries of three words, as small in everything else as can be."""
    folder = setting.index.parent
    source = np.random.default_rng(1)
    lines = (" ".join(setting.words[i] for i in source.integers(0, 50, 3)) for _ in range(n_queries))
    topics = folder / f"topics-{n_queries}.tsv"
    topics.write_text("".join(f"q{i}\t{line}\n" for i, line in enumerate(lines)))
    settings = folder / "small.toml"
    settings.write_text("[decode]\nbody_steps = 2\ntitle_steps = 0\nquery_words = 1\nunigrams = 100\n")
    arguments = ["--topics", topics, "--index", setting.index, "--output", output, "--config", settings]
    arguments += ["--preset", "paper", "--beam", 1, "--hits", 10, "--threads", 2]
    return [str(argument) for argument in arguments]


def _growth(setting: Setting, n_queries: int, folder: Path) -> int:
    """Bytes that a search takes at its peak beyond model and index."""
    output = folder / f"run-{setting.index.name}-{n_queries}"
    result = spawn("tests.helpers.streaming_search", *_arguments(setting, n_queries, output))
    assert result.code == 0, result.err
    with output.open() as file:
        assert sum(1 for _ in file) >= n_queries
    loaded, peak = (
        int(next(line.split()[1] for line in result.err.splitlines() if line.startswith(name)))
        for name in ("loaded ", "peak ")
    )
    return max(0, peak - loaded)  # the kernel's counters are a few pages off


needs_proc = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux: peak memory of one process"
)


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("n_queries", [4_000, 20_000])
def test_memory_grows_with_the_topics_file_and_nothing_else(tmp_path: Path, n_queries: int) -> None:
    """Many queries take no more than their own texts and ids, some hundred bytes each in Python."""
    setting = _setting(tmp_path, n_words=1_000)
    few, many = _growth(setting, 400, tmp_path), _growth(setting, n_queries, tmp_path)
    assert many - few < n_queries * 400 + 2 * MIB


@pytest.mark.slow
@needs_proc
def test_memory_does_not_grow_with_the_vocabulary(tmp_path: Path) -> None:
    """A list of Python numbers as long as the larger vocabulary would take 29 MiB for each batch of 8."""
    few, many = (_growth(_setting(tmp_path, n_words), 200, tmp_path) for n_words in (10_000, 100_000))
    assert many - few < 12 * MIB
