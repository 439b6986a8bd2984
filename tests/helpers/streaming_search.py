"""`python -m seal_ir.search` on a model of a given vocabulary; tells its memory on stderr, in bytes.

That is what it has when all is loaded and nothing decoded, and its peak after that.
`SEAL_IR_TEST_SLOW` makes every batch wait that many seconds. Without torch; a process of its own, because a
process never forgets its peak.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from seal_ir.arrays import Floats
from seal_ir.lm.protocols import Generator, Prompt
from seal_ir.text.tokenizer import TextTokenizer
from tests.helpers import stub
from tests.helpers.stubbed import without_torch

N_DISTRIBUTIONS = 16


class ForgetfulModel(stub.StubModel):
    """One of a few distributions, by the prompt and the last token; remembers nothing that it was asked."""

    def __init__(self, n_vocabulary: int) -> None:
        super().__init__(n_vocabulary)
        logits = np.random.default_rng(0).normal(size=(N_DISTRIBUTIONS, n_vocabulary)) * 2
        logits[:, :50] += 12  # words that documents hold, likelier than they are there
        self._all = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).astype(np.float32)
        self._n_batches = 0
        self._wait = float(os.environ.get("SEAL_IR_TEST_SLOW", "0"))

    def start(self, prompts: Sequence[Prompt]) -> stub.StubSession:
        time.sleep(self._wait)
        self._n_batches += 1
        if self._n_batches == 1:  # model, index and tokenizer are there, and nothing else
            with suppress(OSError):
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
            sys.stderr.write(f"loaded {memory('VmRSS')}\n")
        return stub.StubSession(self, prompts)

    def following(self, prompt: tuple[int, ...], written: Sequence[int]) -> Floats:
        which = zlib.crc32(repr((prompt, written[-1:])).encode()) % N_DISTRIBUTIONS
        chosen: Floats = self._all[which]
        return chosen


def load_generator(name: str, device: str | None, dtype: str | None) -> Generator:
    """The model of an index whose model is called by the path of a tokenizer."""
    tokenizer = TextTokenizer.from_file(Path(name))
    return replace(stub.generator(tokenizer), model=ForgetfulModel(tokenizer.n_vocabulary))


def memory(name: str) -> int:
    """Bytes of this process alone, now (VmRSS) or at most (VmHWM); `ru_maxrss` starts with the parent's."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0
    (line,) = (line for line in status.splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    without_torch(load_generator)
    from seal_ir.command import run
    from seal_ir.search.__main__ import main

    try:
        run(main)
    finally:
        sys.stderr.write(f"peak {memory('VmHWM')}\n")
