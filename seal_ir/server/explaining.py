"""Routes that say why documents rank where they do; docs/explain.md has their JSON name by name."""

# No postponed annotations: FastAPI reads them, and they hold the limits of this server.

from typing import Annotated

from fastapi import APIRouter, Query

from seal_ir.explanation.marks import highlights
from seal_ir.server.answers import ExplanationAnswer, JsonAnswer, TraceAnswer
from seal_ir.server.evidence import highlighted
from seal_ir.server.parameters import IndexName, check_preset, n_hits, preset_name, query_text
from seal_ir.server.routes import ERRORS, LATER
from seal_ir.server.service import Service


def explaining(service: Service) -> APIRouter:
    """The routes that explain."""
    router = APIRouter(prefix="/v1", tags=["explain"], responses=ERRORS | LATER)
    limits, presets = service.limits, list(next(iter(service.indexes.values())).configs)

    @router.get("/{index}/explain", response_model=ExplanationAnswer)
    async def explain(
        index: IndexName,
        query: Annotated[str, query_text(limits)],
        docid: Annotated[str, Query(min_length=1, description="Id of the document, ranked or not.")],
        hits: Annotated[int, n_hits(limits)] = 10,
        preset: Annotated[str, preset_name(presets)] = presets[0],
        decoding: Annotated[bool, Query(description="Whether to add how the model wrote the keys.")] = False,
    ) -> JsonAnswer:
        """Why a document ranks where it does for a query, or why it does not."""
        check_preset(preset, presets)
        found = await service.explain(index, query, docid, hits, preset, decoding)
        marks = highlighted(highlights(found.contents or "", found.keys))
        return JsonAnswer({"api": "v1", "index": index, **found.to_dict(), "highlights": marks})

    @router.get("/{index}/trace", response_model=TraceAnswer)
    async def trace(
        index: IndexName,
        query: Annotated[str, query_text(limits)],
        preset: Annotated[str, preset_name(presets)] = presets[0],
    ) -> JsonAnswer:
        """How the model writes a query's keys: what it wants at each step, and what the index allows."""
        check_preset(preset, presets)
        found = await service.trace(index, query, preset)
        told = {"api": "v1", "index": index, "query": {"text": query}, "preset": preset}
        return JsonAnswer({**told, "decoding": found.to_dict()})

    return router
