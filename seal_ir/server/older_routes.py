"""Searching and documents as Pyserini 1.x serves them, for its clients; 2.x has the routes of `routes`."""

# No postponed annotations: FastAPI reads them, and they hold the limits of this server.

import json
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from seal_ir.records import Hit
from seal_ir.server.answers import JsonAnswer
from seal_ir.server.parameters import Docid, IndexName
from seal_ir.server.routes import ERRORS, LATER
from seal_ir.server.service import Service


class OlderQuery(BaseModel):
    """A query and its id."""

    qid: str
    query_txt: str


class OlderCandidate(BaseModel):
    """A ranked document, and its contents."""

    docid: str
    score: float
    document_txt: str


class OlderAnswer(BaseModel):
    """A ranking, best first."""

    query: OlderQuery
    candidates: list[OlderCandidate]


def older(service: Service) -> APIRouter:
    """The routes under /v1/indexes."""
    router = APIRouter(prefix="/v1/indexes", tags=["Pyserini 1.x"], responses=ERRORS)
    limits = service.limits
    query_text = Annotated[str, Field(min_length=1, max_length=limits.max_query_chars, pattern=r"\S")]

    class QueryText(BaseModel):
        """A query as an object."""

        query_txt: query_text

    class Asked(BaseModel):
        """A query; what Pyserini has for other kinds of indexes is passed over."""

        query: query_text | QueryText
        hits: Annotated[int, Field(ge=1, le=limits.max_hits)] = 10
        qid: str = ""

    @router.post("/{index}/search", response_model=OlderAnswer, responses=LATER)
    async def search(index: IndexName, asked: Asked) -> JsonAnswer:
        """The best documents for a query."""
        query = asked.query.query_txt if isinstance(asked.query, QueryText) else asked.query
        found = await service.search(index, query, asked.hits)
        told = {"qid": asked.qid, "query_txt": query}
        return JsonAnswer({"query": told, "candidates": [_candidate(hit) for hit in found]})

    @router.get("/{index}/documents/{docid:path}", response_model=dict[str, Any])
    async def document(index: IndexName, docid: Docid) -> JsonAnswer:
        """A document by its id: its record, or an object with its contents."""
        raw = await service.document(index, docid)
        try:
            record = json.loads(raw)
        except (ValueError, RecursionError):
            record = None
        return JsonAnswer(record if isinstance(record, dict) else {"contents": raw})

    return router


def _candidate(hit: Hit) -> dict[str, Any]:
    return {"docid": hit.docid, "score": hit.score, "document_txt": hit.contents or ""}
