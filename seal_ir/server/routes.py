"""Routes under /v1: Pyserini's for searching and documents, and those that say what is served."""

# No postponed annotations: FastAPI reads them, and they hold the limits of this server.

from typing import Annotated, Any

from fastapi import APIRouter, Query

from seal_ir.server.answers import (
    DocumentAnswer,
    ErrorAnswer,
    IndexAnswer,
    JsonAnswer,
    RefreshAnswer,
    SearchAnswer,
)
from seal_ir.server.evidence import evidence
from seal_ir.server.parameters import Docid, IndexName, Parse, check_preset, n_hits, preset_name, query_text
from seal_ir.server.service import Service, parsed

ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorAnswer, "description": "A parameter means nothing."},
    401: {"model": ErrorAnswer, "description": "The key is missing or wrong."},
    404: {"model": ErrorAnswer, "description": "There is no such index, document or route."},
    405: {"model": ErrorAnswer, "description": "The route is there for other methods."},
    413: {"model": ErrorAnswer, "description": "The body is too large."},
    500: {"model": ErrorAnswer, "description": "The server failed."},
}
LATER: dict[int | str, dict[str, Any]] = {
    429: {
        "model": ErrorAnswer,
        "description": "As many queries wait as may.",
        "headers": {"Retry-After": {"schema": {"type": "integer"}, "description": "In how many seconds."}},
    },
    503: {"model": ErrorAnswer, "description": "The server is being shut down."},
    504: {"model": ErrorAnswer, "description": "The time limit passed."},
}


def searching(service: Service) -> APIRouter:
    """The routes that only read."""
    router = APIRouter(prefix="/v1", tags=["search"], responses=ERRORS)
    limits, presets = service.limits, list(next(iter(service.indexes.values())).configs)

    @router.get("/indexes", response_model=list[IndexAnswer])
    async def list_indexes() -> JsonAnswer:
        """The indexes that are served."""
        return JsonAnswer([served.about() for served in service.indexes.values()])

    @router.get("/{index}/search", response_model=SearchAnswer, responses=LATER)
    async def search(
        index: IndexName,
        query: Annotated[str, query_text(limits)],
        hits: Annotated[int, n_hits(limits)] = 10,
        parse: Parse = True,
        preset: Annotated[str, preset_name(presets)] = presets[0],
        explain: Annotated[
            bool, Query(description="Whether each document comes with its keys and highlights.")
        ] = False,
    ) -> JsonAnswer:
        """The best documents for a query."""
        check_preset(preset, presets)
        found = await service.search(index, query, hits, preset, keys=explain)
        candidates = [
            {
                "docid": hit.docid,
                "score": hit.score,
                "rank": rank,
                "doc": shown_record(hit.raw or "", parse),
                **(evidence(hit) if explain else {}),
            }
            for rank, hit in enumerate(found, 1)
        ]
        return JsonAnswer({"api": "v1", "index": index, "query": {"text": query}, "candidates": candidates})

    @router.get("/{index}/doc/{docid:path}", response_model=DocumentAnswer)
    async def document(index: IndexName, docid: Docid, parse: Parse = True) -> JsonAnswer:
        """A document by its id."""
        raw = await service.document(index, docid)
        return JsonAnswer({"api": "v1", "index": index, "docid": docid, "doc": shown_record(raw, parse)})

    @router.post("/{index}/refresh", response_model=RefreshAnswer)
    async def refresh(index: IndexName) -> JsonAnswer:
        """See the last commit to an index now; it is also looked for now and then."""
        changed = await service.refresh(index)
        documents = service.index(index).searcher.num_docs
        return JsonAnswer({"index": index, "changed": changed, "documents": documents})

    return router


def shown_record(raw: str, parse: bool) -> Any:
    """A document's record as JSON, or as its text."""
    return parsed(raw) if parse else raw
