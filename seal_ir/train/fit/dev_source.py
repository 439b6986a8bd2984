"""Where the dev retrieval metric is measured; known before torch is loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class DevSource:
    """Where a dev set comes from; names or paths as in the options.

    Attributes:
        index: its directory.
        topics, qrels, answers: files or names; None where they were not given.
        n_queries: how many questions are taken.
        every: steps between measurements; None measures before and after training only.
    """

    index: Path
    topics: str
    qrels: str | None
    answers: str | None
    n_queries: int
    every: int | None
