"""GAR (Mao et al., 2021): BM25 on questions with generated text added, the runs fused by reciprocal rank."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seal_ir.arguments import check_least
from seal_ir.records import Hit, Query
from seal_ir.search.bm25 import Bm25Config, search
from seal_ir.search.fusion import fuse_ranks


@dataclass(frozen=True, slots=True)
class GarConfig:
    """How to search.

    Attributes:
        bm25: of each run; its `hits` are the depth to which runs are fused.
        rrf_k: see `Fusion`.
        hits: documents per topic in the end.
    """

    bm25: Bm25Config
    rrf_k: int = 60
    hits: int = 100

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        check_least(self, hits=1)


def search_expanded(
    lucene: Path, topics: Sequence[Query], expansions: Sequence[Sequence[Query]], config: GarConfig
) -> Iterator[tuple[Query, list[Hit]]]:
    """Each topic, in order, with its fused hits, best first.

    Args:
        lucene: the index.
        topics: what is answered.
        expansions: sets of expanded questions, each in the topics' order.
        config: how.

    Raises:
        IndexDirError, UsageError: see `search`.
    """
    runs = [search(lucene, queries, config.bm25) for queries in expansions]
    for topic, *ranked in zip(topics, *runs, strict=True):
        rankings = [[(hit.docid, hit.score) for hit in hits] for _, hits in ranked]
        fused = fuse_ranks(rankings, config.rrf_k)[: config.hits]
        yield topic, [Hit(docid, score) for docid, score in fused]
