"""CPU time of the index operations, of the published way and of ours, on the same questions.

Two figures for each: of the C++ call, and of the call from Python. The baseline times its C++ loops itself.
Of ours the C++ call is a Python call over a batch so large that Python and the conversion of arrays do not
show (960 steps take 200 us, an empty call 2); only for single steps is an empty call's time taken off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from bench_text import BEAMS, BOUNDARY, WIDTH, Ngrams, Probes, Text

BATCH = BEAMS * WIDTH
ROUNDS = 3


class Cost(NamedTuple):
    """Mean nanoseconds of one operation: in C++, and with the call from Python."""

    cpp: float
    python: float


Costs = dict[str, Cost]
Answers = dict[str, np.ndarray]


def _ns(call: Callable[[], object]) -> float:
    started = time.thread_time_ns()
    call()
    return time.thread_time_ns() - started


def _cuts(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def published_costs(baseline: Any, probes: Probes, text: Text) -> tuple[Costs, Answers]:
    """Every operation as the published system does it; one by one, and from scratch where it starts anew."""
    prefixes, answers, costs = probes.prefixes, {}, {}
    beams = np.repeat(prefixes.ranges[: len(probes.candidates)], WIDTH, axis=0)
    walked = _extended(prefixes, probes.following)

    def timed(name: str, n: int, call: Callable[[], tuple[Any, ...]]) -> None:
        started = time.thread_time_ns()
        seconds, *answer = call()
        costs[name] = Cost(seconds * 1e9 / n, (time.thread_time_ns() - started) / n)
        answers[name] = answer[-1]

    n = len(prefixes.ranges)
    timed("step", n, lambda: baseline.extend(prefixes.ranges, probes.following))
    costs["step_batch"], answers["step_batch"] = costs["step"], answers["step"]
    timed("step_walked", n, lambda: baseline.find(walked.offsets, walked.symbols))
    timed("verify", len(probes.lone), lambda: baseline.extend(probes.lone, probes.lone_candidates))
    timed("verify_beams", len(beams), lambda: baseline.extend(beams, probes.candidates.reshape(-1)))
    kinds = {"wide": probes.wide, "middling": probes.middling, "narrow": probes.narrow}
    for kind, ngrams in kinds.items():
        if len(ngrams.ranges):
            timed(
                f"successors_{kind}",
                len(ngrams.ranges),
                lambda ngrams=ngrams: baseline.successors(ngrams.offsets, ngrams.symbols),
            )
    rows = probes.rows[:5000]
    timed("locate", len(rows), lambda: baseline.locate(rows, text.starts))
    timed("extract", len(probes.documents), lambda: baseline.extract(probes.documents, text.starts))
    return costs, answers


def _extended(ngrams: Ngrams, following: np.ndarray) -> Ngrams:
    """The n-grams with one more symbol each, to be walked from their first."""
    offsets = ngrams.offsets + np.arange(len(ngrams.offsets))
    return Ngrams(offsets, np.insert(ngrams.symbols, ngrams.offsets[1:], following), ngrams.ranges)


def engine_costs(engine: Any, probes: Probes) -> tuple[Costs, Answers]:
    """Every operation of one of our engines."""
    prefixes, following, candidates = probes.prefixes.ranges, probes.following, probes.candidates
    costs: Costs = {"step": _single_steps(engine, prefixes, following)}
    answers: Answers = {}

    def timed(name: str, n: int, sizes: tuple[int, int], call: Callable[[slice], Any]) -> None:
        figures = []
        for size in sizes:  # for C++, for Python
            parts = []
            spent = _ns(lambda size=size, parts=parts: parts.extend(call(cut) for cut in _cuts(n, size)))
            figures.append(spent / n)
            answers.setdefault(name, np.concatenate(parts))
        costs[name] = Cost(*figures)

    n = len(prefixes)
    timed("step_batch", n, (BATCH, BEAMS), lambda cut: engine.extend(prefixes[cut], following[cut]))
    answers["step"] = answers["step_batch"]
    beams = prefixes[: len(candidates)]
    lone, tokens = probes.lone, probes.lone_candidates[:, None]
    timed("verify", len(lone), (BATCH, WIDTH), lambda cut: engine.verify(lone[cut], tokens[cut]))
    timed("verify_beams", len(beams), (BEAMS, BEAMS), lambda cut: engine.verify(beams[cut], candidates[cut]))
    costs["verify_beams"] = Cost(*(cost / WIDTH for cost in costs["verify_beams"]))
    for name in ("verify", "verify_beams"):
        answers[name] = answers[name].reshape(-1, 2)
    kinds = {
        "wide": (probes.wide, BEAMS),
        "middling": (probes.middling, BEAMS),
        "narrow": (probes.narrow, BATCH),
    }
    for kind, (ngrams, size) in kinds.items():
        if n := len(ngrams.ranges):
            timed(
                f"successors_{kind}",
                n,
                (size, BEAMS),
                lambda cut, ngrams=ngrams: np.diff(engine.successors(ngrams.ranges[cut])[0]),
            )
    rows = probes.rows
    timed("locate", len(rows), (2000, 100), lambda cut: engine.locate(rows[cut]))
    documents = probes.documents
    timed("extract", len(documents), (500, BEAMS), lambda cut: engine.extract(documents[cut])[1])
    return costs, answers


def _single_steps(engine: Any, ranges: np.ndarray, symbols: np.ndarray) -> Cost:
    """One step a call: the call from Python, and without what a call that steps nowhere takes."""
    ranges, symbols = ranges[:5000], symbols[:5000]
    single = [(ranges[i : i + 1], symbols[i : i + 1]) for i in range(len(ranges))]
    nothing = [(ranges[:0], symbols[:0])] * len(ranges)

    def run(arguments: list[tuple[np.ndarray, np.ndarray]]) -> None:
        for pair in arguments:
            engine.extend(*pair)

    empty = min(_ns(lambda: run(nothing)) for _ in range(ROUNDS)) / len(ranges)
    python = min(_ns(lambda: run(single)) for _ in range(ROUNDS)) / len(ranges)
    return Cost(python - empty, python)


def check(published: Answers, ours: Answers, successors: dict[str, Ngrams], engine: Any) -> None:
    """Both must answer alike: otherwise nothing of this is a comparison."""
    for name in ("step", "verify", "verify_beams", "extract"):
        assert np.array_equal(published[name], ours[name]), f"{name} differs"
    assert np.array_equal(published["locate"], ours["locate"][: len(published["locate"])]), "locate differs"
    for kind, ngrams in successors.items():
        name = f"successors_{kind}"
        if name in ours:
            # The published way also lists the boundary, which ours never crosses, and the end of the text.
            last = engine.verify(ngrams.ranges, np.full((len(ngrams.ranges), 1), BOUNDARY, dtype=np.uint32))
            assert not last.any(), "a boundary was crossed"
            more = published[name] - ours[name]
            assert ((more >= 0) & (more <= 2)).all(), f"{name} differs"


def best(runs: list[Costs]) -> Costs:
    """The least of several runs, operation by operation."""
    return {
        name: Cost(min(run[name].cpp for run in runs), min(run[name].python for run in runs))
        for name in runs[0]
    }
