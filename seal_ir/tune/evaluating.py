"""The values of settings on topics, out of a key file: each query's keys rank under all of them at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from seal_ir.arrays import Doubles
from seal_ir.command import Progress
from seal_ir.config import RankConfig, SearchConfig
from seal_ir.decode.prompts import CutQueries
from seal_ir.records import Query, Ranked
from seal_ir.search.fusion import Entry
from seal_ir.search.hybrid import Hybrid
from seal_ir.search.pipeline import QueryPipeline, RankedBatch
from seal_ir.search.stored import StoredKeys
from seal_ir.tune.judging import Judge
from seal_ir.tune.ranges import Setting


@dataclass(frozen=True, slots=True)
class Evaluator:
    """Ranks topics under settings as a search would, and judges the rankings. What is known is kept.

    Attributes:
        pipeline: has the index, and keeps candidates' texts from setting to setting.
        keys: the key file.
        topics: to rank.
        base: how the keys were made, and what does not vary.
        judge: measures.
        hybrid: what is fused; None for nothing.
        hits: documents in a ranking.
        threads: that rank.
    """

    pipeline: QueryPipeline
    keys: Path
    topics: Sequence[Query]
    base: SearchConfig
    judge: Judge
    hybrid: Hybrid | None
    hits: int
    threads: int
    _known: dict[Setting, Doubles] = field(default_factory=dict)

    def values(self, settings: Sequence[Setting]) -> list[Doubles]:
        """The measures under each setting, [n_topics, n_columns].

        Raises:
            InputError: the keys cannot be used; names the line.
        """
        new = [setting for setting in dict.fromkeys(settings) if setting not in self._known]
        depths = {setting: max(self.hits, setting.fusion.depth if setting.fusion else 0) for setting in new}
        for depth in sorted(set(depths.values())):  # how deep a ranking goes may change whom it finds
            self._evaluate([setting for setting in new if depths[setting] == depth], depth)
        return [self._known[setting] for setting in settings]

    def _evaluate(self, settings: Sequence[Setting], depth: int) -> None:
        """One pass through the key file."""
        ranks = list(dict.fromkeys(setting.rank for setting in settings))
        configs = [replace(self.base, rank=rank) for rank in ranks]
        stored = StoredKeys(self.keys, self.pipeline.index, self.topics, configs)
        batches = self.pipeline.ranked_batches(
            self.topics, depth, CutQueries(), configs, threads=self.threads, decode=stored.decoded
        )
        n, unit = len(self.topics), f"questions, {len(settings)} settings, {len(ranks)} of ranking"
        progress, started, n_done = Progress(n, unit), time.monotonic(), 0
        parts: list[list[Doubles]] = [[] for _ in settings]
        with closing(batches):
            for batch in batches:
                for part, values in zip(parts, self._judged(batch, settings, ranks), strict=True):
                    part.append(values)
                n_done += len(batch.queries)
                if n_done == len(batch.queries) < n:
                    _tell_estimate(time.monotonic() - started, n_done, n)
                progress.advance(len(batch.queries))
        progress.close()
        self._known.update(zip(settings, map(np.concatenate, parts), strict=True))

    def _judged(
        self, batch: RankedBatch, settings: Sequence[Setting], ranks: Sequence[RankConfig]
    ) -> list[Doubles]:
        entries = {
            topic.id: dict(zip(ranks, map(self._entries, rankings), strict=True))
            for topic, rankings in zip(batch.queries, batch.rankings, strict=True)
        }
        return self.judge.values(
            [{qid: self._docids(qid, found[s.rank], s) for qid, found in entries.items()} for s in settings]
        )

    def _entries(self, ranking: Sequence[Ranked]) -> list[Entry]:
        return [(self.pipeline.index.docid(item.document), item.score) for item in ranking]

    def _docids(self, qid: str, entries: Sequence[Entry], setting: Setting) -> list[str]:
        if self.hybrid is not None:
            entries = self.hybrid.fused(qid, entries, setting.fusion)
        return [docid for docid, _ in entries[: self.hits]]


def _tell_estimate(seconds: float, n_done: int, n: int) -> None:
    left = seconds * (n - n_done) / n_done
    sys.stderr.write(
        f"about {left / 60:.1f} min to go at the pace of the first {n_done} questions; quicker once texts are"
        " known\n"
    )
