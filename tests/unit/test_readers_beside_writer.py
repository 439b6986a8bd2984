"""A writer commits every second beside eight threads and two processes that search: no error, no mixture.

Twenty seconds by default; SEAL_IR_SECONDS says how many.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from bisect import bisect_left, bisect_right
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from seal_ir.search.searcher import SealSearcher
from tests.helpers import tiny
from tests.helpers.commands import ROOT
from tests.helpers.living import Answer, answers, read, states

SECONDS = int(os.environ.get("SEAL_IR_SECONDS", "20"))
PROGRAM = [sys.executable, "-m", "tests.helpers.living"]


class Started:
    """A program that says what it does in lines of a file: a pipe would be full before anybody reads it."""

    def __init__(self, said: Path, *arguments: object) -> None:
        command = [*PROGRAM, *map(str, arguments)]
        self._said = said
        with said.open("w") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=file, stderr=subprocess.PIPE, cwd=ROOT, text=True
            )

    def lines(self) -> list[Any]:
        """What it has said so far."""
        whole = self._said.read_text().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def finished(self) -> list[Any]:
        """All that it says until it ends; it must say nothing on stderr."""
        _, err = self._process.communicate()
        assert (self._process.returncode, err) == (0, "")
        return self.lines()

    def begun(self) -> None:
        """Wait for its first line."""
        while not self.lines():
            assert self._process.poll() is None
            time.sleep(0.05)


@pytest.mark.slow
def test_every_answer_is_that_of_a_commit(tmp_path: Path) -> None:
    directory = tmp_path / "index"
    writer = Started(tmp_path / "written", "write", directory, SECONDS)
    writer.begun()
    found: list[Answer] = []
    shared, done = SealSearcher(directory, tiny.generator()), threading.Event()
    own = [SealSearcher(directory, tiny.generator()) for _ in range(4)]
    processes = [Started(tmp_path / f"read{i}", "read", directory) for i in range(2)]
    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, searcher, done, found.append) for searcher in [shared] * 4 + own]
        try:
            commits = writer.finished()
        finally:
            done.set()
        for reader in readers:
            reader.result()
    n_in_threads = len(found)
    by_process = [[Answer(*line) for line in process.finished()] for process in processes]
    assert len(commits) > 3
    assert all(by_process)
    n_seen = check(commits, [*found, *by_process[0], *by_process[1]], tmp_path / "fresh")
    assert n_seen > len(commits) // 4  # commits that somebody has seen
    counts = f"{n_in_threads} answers in threads, {[len(part) for part in by_process]} in processes"
    print(f"{len(commits)} commits, {n_seen} of them seen; {counts}")


def check(commits: list[list[float]], found: list[Answer], folder: Path) -> int:
    """Compare answers with fresh indexes; how many commits they show.

    An answer is that of a commit which had ended when the reader looked for new ones, or of a later one that
    had begun when it had its answer.
    """
    ends, begins = [end for _, end in commits], [begin for begin, _ in commits]
    expected = []
    for number, documents in enumerate(islice(states(), len(commits))):
        tiny.build(folder / str(number), documents)
        expected.append(answers(SealSearcher(folder / str(number), tiny.generator())))
    assert all(a != b for a, b in zip(expected, expected[1:], strict=False))
    seen = set()
    for answer in found:
        earliest = bisect_right(ends, answer.began) - 1
        latest = bisect_left(begins, answer.ended) - 1
        possible = [at for at in range(max(earliest, 0), latest + 1) if expected[at] == answer.hits]
        assert possible, (earliest, latest, answer)
        seen.update(possible)
    return len(seen)
