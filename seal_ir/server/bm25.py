"""BM25's ranking of an index's documents, by Lucene: what searches are compared with on the page."""

# No postponed annotations: FastAPI reads them, and they hold the limits of this server.

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter

from seal_ir.pyserini_plugin import check_installed, start_java
from seal_ir.records import Hit, Query
from seal_ir.search.bm25 import Bm25Config, lucene_twin, search
from seal_ir.search.searcher import SealSearcher
from seal_ir.server.answers import ErrorAnswer, JsonAnswer, SearchAnswer
from seal_ir.server.failures import ConflictError
from seal_ir.server.parameters import IndexName, Parse, n_hits, query_text
from seal_ir.server.routes import ERRORS, LATER, shown_record
from seal_ir.server.served import ServedIndex
from seal_ir.server.service import Service
from seal_ir.server.work import Searched

_CHANGED: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorAnswer, "description": "The index has other documents than BM25's."},
}


@dataclass(frozen=True, slots=True)
class Bm25Ranking:
    """BM25 over the documents that an index had when the server was started.

    Attributes:
        lucene: the directory of its Lucene index.
        manifest: that of the index whose documents it has, as JSON.
    """

    lucene: Path
    manifest: str

    def work(self, searcher: SealSearcher, asked: Sequence[Searched]) -> list[Callable[[], list[Hit]]]:
        """The best documents for queries.

        Raises:
            ConflictError: the index has other documents by now.
        """
        if searcher.index.manifest.to_json() != self.manifest:
            raise ConflictError(
                "the index has changed, and BM25's has not; start the server again to search both"
            )
        topics = [Query(str(number), each.query) for number, each in enumerate(asked)]
        found = search(self.lucene, topics, Bm25Config(hits=max(each.hits for each in asked)))
        return [
            partial(_with_texts, searcher, hits[: each.hits])
            for (_, hits), each in zip(found, asked, strict=True)
        ]


def _with_texts(searcher: SealSearcher, hits: Sequence[Hit]) -> list[Hit]:
    documents = searcher.batch_doc([hit.docid for hit in hits])
    return [
        replace(hit, contents=documents[hit.docid].contents(), raw=documents[hit.docid].raw()) for hit in hits
    ]


def with_bm25(served: Sequence[ServedIndex], folder: Path, threads: int = 1) -> list[ServedIndex]:
    """The same indexes with BM25's rankings; builds Lucene indexes that are not there, and starts Java.

    Args:
        served: the indexes.
        folder: where Lucene indexes of indexes are kept.
        threads: Lucene's, for building.

    Raises:
        UsageError: Pyserini or Java is missing, or there is no place.
        IndexDirError: Lucene failed.
    """
    check_installed()
    found = []
    for each in served:
        index = each.searcher.index
        ranking = Bm25Ranking(lucene_twin(index, folder, threads), index.manifest.to_json())
        found.append(replace(each, bm25=ranking))
    start_java()  # ten seconds that are not the first query's
    return found


def comparing(service: Service) -> APIRouter:
    """The route of BM25's ranking."""
    router = APIRouter(prefix="/v1", tags=["BM25"], responses=ERRORS | LATER | _CHANGED)
    limits = service.limits

    @router.get("/{index}/bm25", response_model=SearchAnswer)
    async def bm25(
        index: IndexName,
        query: Annotated[str, query_text(limits)],
        hits: Annotated[int, n_hits(limits)] = 10,
        parse: Parse = True,
    ) -> JsonAnswer:
        """The best documents for a query by BM25, over the same documents."""
        found = await service.bm25(index, query, hits)
        candidates = [
            {
                "docid": hit.docid,
                "score": hit.score,
                "rank": rank,
                "doc": shown_record(hit.raw or "", parse),
                "contents": hit.contents,
            }
            for rank, hit in enumerate(found, 1)
        ]
        return JsonAnswer({"api": "v1", "index": index, "query": {"text": query}, "candidates": candidates})

    return router
