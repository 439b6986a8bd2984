"""BM25 beside a server by real Lucene: it ranks as `--fuse bm25` does, over the same documents."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

pytest.importorskip("pyserini")

from seal_ir.records import Query
from seal_ir.search.bm25 import Bm25Config, search
from seal_ir.server.bm25 import Bm25Ranking, with_bm25
from tests.helpers import serving


@pytest.mark.slow
def test_a_server_ranks_by_bm25_as_lucene_does(tiny_index: Path, tmp_path: Path) -> None:
    (served,) = with_bm25([serving.served(tiny_index)], tmp_path / "lucene")
    assert isinstance(served.bm25, Bm25Ranking)
    with serving.running(served) as url:
        for query in ("the capital of France", "a whale in the sea", "?!"):
            answer = httpx.get(f"{url}/v1/tiny/bm25", params={"query": query, "hits": 3}).json()
            ((_, hits),) = search(served.bm25.lucene, [Query("q", query)], Bm25Config(hits=3))
            assert [(each["docid"], each["score"]) for each in answer["candidates"]] == [
                (hit.docid, hit.score) for hit in hits
            ]
            assert bool(hits) == (query != "?!")
