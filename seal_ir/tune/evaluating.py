"""The values of settings on topics, out of a key file: each query's keys rank under all of them at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Mapping, Sequence
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

Ranking = list[Entry]
_MOST_KEPT = 1_000_000  # entries of rankings, some 150 MB: what fusions of the next settings need again
_BLOCK = 64  # topics that are fused and judged together


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
    _kept: dict[tuple[RankConfig, int], dict[str, Ranking]] = field(default_factory=dict)

    def values(self, settings: Sequence[Setting]) -> list[Doubles]:
        """The measures under each setting, [n_topics, n_columns].

        Raises:
            InputError: the keys cannot be used; names the line.
        """
        new = [setting for setting in dict.fromkeys(settings) if setting not in self._known]
        depths = {setting: max(self.hits, setting.fusion.depth if setting.fusion else 0) for setting in new}
        for depth in sorted(set(depths.values())):  # how deep a ranking goes may change whom it finds
            of_depth = [setting for setting in new if depths[setting] == depth]
            kept = [setting for setting in of_depth if (setting.rank, depth) in self._kept]
            self._judge_kept(kept, depth)
            self._rank_and_judge([setting for setting in of_depth if setting not in kept], depth)
        return [self._known[setting] for setting in settings]

    def _judge_kept(self, settings: Sequence[Setting], depth: int) -> None:
        parts: list[list[Doubles]] = []
        for at in range(0, len(self.topics) if settings else 0, _BLOCK):
            found = {
                topic.id: {s.rank: self._kept[s.rank, depth][topic.id] for s in settings}
                for topic in self.topics[at : at + _BLOCK]
            }
            parts.append(self._judged(found, settings))
        self._add(settings, parts)

    def _rank_and_judge(self, settings: Sequence[Setting], depth: int) -> None:
        """One pass through the key file."""
        if not settings:
            return
        ranks = list(dict.fromkeys(setting.rank for setting in settings))
        keep = self._make_room(ranks, depth)
        n, unit = len(self.topics), f"questions, {len(settings)} settings, {len(ranks)} of ranking"
        progress, started, n_done = Progress(n, unit), time.monotonic(), 0
        parts: list[list[Doubles]] = []
        with closing(self._batches(ranks, depth)) as batches:
            for batch in batches:
                found = {
                    topic.id: dict(zip(ranks, map(self._entries, rankings), strict=True))
                    for topic, rankings in zip(batch.queries, batch.rankings, strict=True)
                }
                parts.append(self._judged(found, settings))
                for rank in keep:
                    self._kept[rank, depth].update({qid: rankings[rank] for qid, rankings in found.items()})
                n_done += len(batch.queries)
                if n_done == len(batch.queries) < n:
                    _tell_estimate(time.monotonic() - started, n_done, n)
                progress.advance(len(batch.queries))
        progress.close()
        self._add(settings, parts)

    def _batches(self, ranks: Sequence[RankConfig], depth: int) -> Generator[RankedBatch, None, None]:
        configs = [replace(self.base, rank=rank) for rank in ranks]
        stored = StoredKeys(self.keys, self.pipeline.index, self.topics, configs)
        return self.pipeline.ranked_batches(
            self.topics, depth, CutQueries(), configs, threads=self.threads, decode=stored.decoded
        )

    def _make_room(self, ranks: Sequence[RankConfig], depth: int) -> Sequence[RankConfig]:
        """Those whose rankings will be kept, for which older ones go; none where nothing is fused."""
        n_fitting = _MOST_KEPT // (depth * len(self.topics)) if self.hybrid else 0
        keep = ranks[:n_fitting]
        while (
            self._kept and len(self.topics) * (sum(d for _, d in self._kept) + depth * len(keep)) > _MOST_KEPT
        ):
            del self._kept[next(iter(self._kept))]
        self._kept.update({(rank, depth): {} for rank in keep})
        return keep

    def _add(self, settings: Sequence[Setting], parts: Sequence[Sequence[Doubles]]) -> None:
        """Values by block of topics, then by setting."""
        for i, setting in enumerate(settings):
            self._known[setting] = np.concatenate([part[i] for part in parts])

    def _judged(
        self, found: Mapping[str, Mapping[RankConfig, Ranking]], settings: Sequence[Setting]
    ) -> list[Doubles]:
        return self.judge.values(
            [{qid: self._docids(qid, ranked[s.rank], s) for qid, ranked in found.items()} for s in settings]
        )

    def _entries(self, ranking: Sequence[Ranked]) -> Ranking:
        return [(self.pipeline.index.docid(item.document), item.score) for item in ranking]

    def _docids(self, qid: str, entries: Ranking, setting: Setting) -> list[str]:
        if self.hybrid is not None:
            entries = self.hybrid.fused(qid, entries, setting.fusion)
        return [docid for docid, _ in entries[: self.hits]]


def _tell_estimate(seconds: float, n_done: int, n: int) -> None:
    left = seconds * (n - n_done) / n_done
    sys.stderr.write(
        f"about {left / 60:.1f} min to go at the pace of the first {n_done} questions; quicker once texts are"
        " known\n"
    )
