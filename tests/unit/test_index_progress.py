"""The line that says how far a build is: its estimate holds on machines of any speed, and is corrected."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from seal_ir.formats.collections.collection import Collection, ReadOptions
from seal_ir.formats.io.inputs import rereadable
from seal_ir.index import progress
from seal_ir.index.progress import _PHASES, BuildProgress, Estimate
from seal_ir.records import Document

BUILDING = tuple(_PHASES)


def _build(read_seconds: float, phase_seconds: dict[str, float]) -> Iterator[tuple[str, float, float, float]]:
    """Phase, fraction read, seconds so far and truly left, of a build of one segment."""
    total = read_seconds + sum(phase_seconds.values())
    for percent in range(10, 101, 10):
        seconds = read_seconds * percent / 100
        yield "tokenising", percent / 100, seconds, total - seconds
    seconds = read_seconds
    for name, needed in phase_seconds.items():
        phase = name if name == "computing checksums" else f"building segment-000000 of 9 tokens: {name}"
        yield phase, 1.0, seconds, total - seconds
        seconds += needed


@pytest.mark.parametrize("speed", [0.1, 1, 20])
def test_the_estimate_is_right_on_a_slower_and_a_faster_machine(speed: float) -> None:
    for phase, fraction, seconds, left in _build(40 / speed, {n: 40 / speed * s for n, s in _PHASES.items()}):
        assert Estimate(lambda fraction=fraction: fraction).left(phase, seconds) == pytest.approx(left)


def test_phases_that_are_over_correct_the_estimate_of_the_next() -> None:
    slow = {name: 40 * share * (3 if name == "sorting suffixes" else 1) for name, share in _PHASES.items()}
    errors = []
    for phase, fraction, seconds, left in _build(40, slow):
        estimate = Estimate(lambda fraction=fraction: fraction).left(phase, seconds)
        assert estimate is not None
        errors.append(abs(estimate - left) / (seconds + left))
    assert errors == sorted(errors, reverse=True) or errors[-1] < 0.1 < errors[0]


def test_several_segments_count_their_building_once() -> None:
    now = 0.0
    estimate = Estimate(lambda: now)
    built = sum(_PHASES.values()) * 10
    lefts = []
    for segment in range(4):  # each read in 10 s and built at once
        start = segment * (10 + built)
        now = (segment + 0.5) / 4
        lefts.append((estimate.left("tokenising", start + 5), 4 * (10 + built) - start - 5))
        now = (segment + 1) / 4
        estimate.left("building segment-000000 of 9 tokens: sorting suffixes", start + 10)
    for told, true in lefts[1:]:
        assert told is not None
        assert told == pytest.approx(true, abs=built + 5)


@pytest.mark.parametrize("fraction", [None, 0.0, 0.001])
def test_nothing_is_estimated_from_nothing(fraction: float | None) -> None:
    assert Estimate(lambda: fraction).left("tokenising", 10) is None
    assert Estimate(lambda: 1.0).left("building segment-000000 of 9 tokens: indexing", 10) is None


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    screen = _Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    with BuildProgress(lambda: 0.5) as report:
        report("tokenising", 1000)
        report("tokenising", 2000)
    told = screen.getvalue()
    assert told.count("\n") == 1
    assert told.endswith("\n")
    first, second = told.strip().split("\r")
    assert (
        first.strip()
        == f"tokenising: 1,000 documents, 10 s, about {10 + 20 * sum(_PHASES.values()):.0f} s left"
    )
    assert second.startswith("tokenising: 2,000 documents, 20 s, about ")


def _told(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, calls: list[tuple[float, str, int]]) -> str:
    """What is written when phases are told of at such times; the build begins at 100 s."""
    now = 100.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    monkeypatch.setattr(sys, "stderr", screen)
    with BuildProgress() as report:
        for seconds, phase, done in calls:
            now = 100.0 + seconds
            report(phase, done)
    return screen.getvalue()


def test_elsewhere_than_on_a_terminal_there_are_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [(0.1, "a", 1), (5.0, "a", 2), (10.0, "a", 3), (10.1, "a", 4), (11.0, "b", 5), (30.2, "b", 6000)]
    assert _told(monkeypatch, io.StringIO(), calls) == (
        "a: 1 documents, 0 s\na: 4 documents, 10 s\nb: 5 documents, 11 s\nb: 6,000 documents, 30 s\n"
    )


def test_a_shorter_line_covers_a_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [(1.0, "a long phase", 1), (1.01, "a long phase", 2), (2.0, "b", 3)]
    long, short = "a long phase: 1 documents, 1 s", "b: 3 documents, 2 s"
    assert _told(monkeypatch, _Screen(), calls) == f"\r{long}\r{short.ljust(len(long))}\n"
    assert _told(monkeypatch, _Screen(), []) == ""


def _fractions(collection: Collection) -> list[float | None]:
    return [collection.fraction_read() for _ in collection]


def test_a_collection_knows_how_much_of_its_files_is_read(tmp_path: Path) -> None:
    text = "".join(f'{{"id": "{{}}{n}", "contents": "{"word " * 900}{n * 7919}"}}\n' for n in range(1000))
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text(text.replace("{}", name[0]), encoding="utf-8")
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(text.replace("{}", "c").encode()))
    collection = Collection("JsonCollection", tmp_path)
    for _ in range(2):  # a pass begins at nothing
        told = [fraction or 0.0 for fraction in _fractions(collection)]
        assert told == sorted(told)
        assert 0 < told[0] < 0.2
        assert 0.4 < told[1200] < 0.8
        assert told[-1] == 1.0


def test_what_is_read_twice_counts_the_second_time(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a", "contents": "x"}\n' * 3, encoding="utf-8")
    assert _fractions(Collection("JsonCollection", path, ReadOptions(duplicates="last"))) == [1.0]


def test_of_a_pipe_nothing_is_known(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_text, args=('{"id": "a", "contents": "x"}\n',), daemon=True).start()
    collection = Collection("JsonCollection", rereadable(pipe))
    assert _fractions(collection) == [None]
    assert [document.id for document in collection] == ["a"]


def test_documents_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[{"id": "a", "contents": "x"}, {"id": "b", "contents": "y"}]', encoding="utf-8")
    assert list(Collection("JsonCollection", path)) == [Document("a", "", "x"), Document("b", "", "y")]
