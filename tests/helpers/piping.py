"""Pipes for tests: what a shell makes of `<(cat file)` and `mkfifo`, fed by a thread."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

Piped = Callable[[bytes, str], Path]


@contextmanager
def pipes(folder: Path) -> Iterator[Piped]:
    """A function from content, and `fifo` or `fd`, to the path of a pipe out of which it comes once."""
    threads: list[threading.Thread] = []
    ends: list[int] = []

    def make(content: bytes, how: str) -> Path:
        if how == "fifo":
            path = folder / f"fifo{len(threads)}"
            os.mkfifo(path)
            threads.append(threading.Thread(target=_feed, args=(content, path), daemon=True))
        else:
            out, into = os.pipe()
            ends.append(out)
            path = Path(f"/dev/fd/{out}")
            threads.append(threading.Thread(target=_feed, args=(content, into), daemon=True))
        threads[-1].start()
        return path

    try:
        yield make
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive(), "nobody has read the pipe to its end"
    finally:
        for end in ends:
            os.close(end)


def _feed(content: bytes, into: Path | int) -> None:
    """Writes in pieces of odd sizes, so that no reading finds all that it would like to."""
    with suppress(BrokenPipeError), open(into, "wb", buffering=0) as file:  # noqa: PTH123 - handle or path
        for at in range(0, len(content), 4001):
            file.write(content[at : at + 4001])
