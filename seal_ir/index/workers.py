"""Segments built in parallel, each in a process of its own, within a memory budget."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType

from seal_ir.errors import IndexDirError
from seal_ir.index.memory import Budget, Size, segment_memory
from seal_ir.processes import capped

PROGRAM = (sys.executable, "-m", "seal_ir.index.segments")
Told = Callable[[str], None]


class Workers:
    """Processes that build segments while the caller reads on; leaving the block kills those still running.

    What a process tells comes from a thread of its own.
    """

    def __init__(self, threads: int, budget: Budget) -> None:
        """Args: threads: processes at a time; budget: the engine, and what they and the caller may take."""
        self._spec, self._threads, self._budget = budget.spec, capped(threads), budget
        self._pool = ThreadPoolExecutor(self._threads)
        self._running: dict[Future[None], int] = {}  # with the memory that each may take
        self._processes: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._stopped = False

    def start(self, folder: Path, temporary: Path, size: Size, n_read: int, told: Told) -> None:
        """Build a segment; waits until a process is free and the memory suffices.

        Raises:
            IndexDirError: an earlier segment failed.
        """
        memory = segment_memory(self._spec, size)
        while self._running and not self._has_room(memory, n_read):
            self._collect(wait(self._running, return_when=FIRST_COMPLETED).done)
        self._running[self._pool.submit(self._build, folder, temporary, told)] = memory

    def finish(self) -> None:
        """Wait for all.

        Raises:
            IndexDirError: a segment failed.
        """
        while self._running:
            self._collect(wait(self._running, return_when=FIRST_COMPLETED).done)

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._stopped = True
            for process in self._processes:
                process.kill()
        self._pool.shutdown(cancel_futures=True)

    def _has_room(self, memory: int, n_read: int) -> bool:
        taken = self._budget.reader(n_read) + sum(self._running.values())
        return len(self._running) < self._threads and self._budget.fits(taken + memory)

    def _collect(self, done: set[Future[None]]) -> None:
        for future in done:
            del self._running[future]
            future.result()

    def _build(self, folder: Path, temporary: Path, told: Told) -> None:
        arguments = [str(folder), str(temporary), self._spec.name, self._spec.layout]
        with self._lock:
            if self._stopped:
                return
            process = subprocess.Popen([*PROGRAM, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._processes.add(process)
        with process:  # holds its stdin open: the process ends when ours does, whatever kills it
            failed = _listen(process, told)
            code = process.wait()
        with self._lock:
            self._processes.discard(process)
        if failed:
            raise IndexDirError(failed)
        if code < 0:
            raise IndexDirError(
                f"{folder.name}: signal {-code} ended the process that built it;"
                " if memory ran out, see --memory and --threads"
            )
        if code:
            raise RuntimeError(f"{folder.name}: the process that built it ended with {code}")


def _listen(process: subprocess.Popen[bytes], told: Told) -> str:
    """Pass on the phases that a process tells; the error that it ended with, or `""`."""
    for line in process.stdout or ():
        values = json.loads(line)
        if "error" in values:
            return str(values["error"])
        told(str(values["phase"]))
    return ""
