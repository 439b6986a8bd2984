"""Routes that change an index. They are there only where the server was started to write."""

from typing import Any

from fastapi import APIRouter

from seal_ir.server.answers import Additions, ChangeAnswer, ErrorAnswer, JsonAnswer
from seal_ir.server.parameters import Docid, IndexName
from seal_ir.server.routes import ERRORS
from seal_ir.server.service import Service

_REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"model": ErrorAnswer, "description": "An id is there already, or another process writes."},
}


def writing(service: Service) -> APIRouter:
    """The routes that add and delete documents. What they change is seen when they answer."""
    router = APIRouter(prefix="/v1", tags=["documents"], responses=ERRORS | _REFUSED)

    @router.post("/{index}/docs", response_model=ChangeAnswer)
    async def add(index: IndexName, additions: Additions) -> JsonAnswer:
        """Add documents: all of them, or none."""
        docs = [doc.model_dump(exclude_unset=True) for doc in additions.docs]
        n_documents = await service.add(index, docs, additions.duplicates)
        return JsonAnswer({"index": index, "documents": n_documents})

    @router.delete("/{index}/docs/{docid:path}", response_model=ChangeAnswer)
    async def delete(index: IndexName, docid: Docid) -> JsonAnswer:
        """Delete a document."""
        return JsonAnswer({"index": index, "documents": await service.delete(index, docid)})

    return router
