"""Tools for language models: the same answers over the Model Context Protocol, by its Python SDK."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from starlette.routing import BaseRoute

from seal_ir.arguments import text, whole
from seal_ir.errors import ArgumentError, SealError, one_line
from seal_ir.server.service import Service, parsed

_ABOUT = (
    "Searches collections of documents. A language model writes n-grams that occur in a collection, and "
    "documents are ranked by those that they contain; questions in plain words work best."
)


@dataclass(frozen=True, slots=True)
class HttpTools:
    """Tools over HTTP: routes to add to an application, which must be `running` while requests come."""

    server: MCPServer[Any]
    routes: Sequence[BaseRoute]

    def running(self) -> AbstractAsyncContextManager[None]:
        """Answers requests as long as it is entered."""
        return self.server.session_manager.run()


def tools(service: Service) -> MCPServer[Any]:
    """The tools search, explain, get_document and list_indexes."""
    server = MCPServer[Any]("seal-ir", version=version("seal-ir"), instructions=_ABOUT, log_level="WARNING")
    first = next(iter(service.indexes))

    async def search(query: str, index: str = first, hits: int = 10) -> list[dict[str, Any]]:
        """Search an index for documents that answer a question.

        Args:
            query: a question or a few words, in the collection's language.
            index: name of an index, one of list_indexes.
            hits: how many documents to return.

        Returns:
            Documents, best first, each with docid, score and doc, its contents.
        """
        with _told():
            _check(service, query, hits)
            found = await service.search(index, query, hits)
        return [{"docid": hit.docid, "score": hit.score, "doc": parsed(hit.raw or "")} for hit in found]

    async def explain(query: str, docid: str, index: str = first, hits: int = 10) -> dict[str, Any]:
        """Say why a document ranks where it does for a question, or why search does not return it.

        Args:
            query: the question, as search was asked.
            docid: the document's id, whether search returned it or not.
            index: name of an index, one of list_indexes.
            hits: how many documents search was asked for.

        Returns:
            status and reason, score, rank, and the n-grams: keys make the score, lacking ones are not in the
            document. Each has its text, weight, share of the score and positions in contents.
        """
        with _told():
            _check(service, query, hits)
            found = await service.explain(index, query, text(docid, "docid"), hits)
        return found.to_dict()

    async def get_document(docid: str, index: str = first) -> dict[str, Any]:
        """Get a document by its id.

        Args:
            docid: the id, as search returned it.
            index: name of an index, one of list_indexes.
        """
        with _told():
            raw = await service.document(index, docid)
        return {"docid": docid, "doc": parsed(raw)}

    async def list_indexes() -> list[dict[str, Any]]:
        """List the indexes that can be searched: name, number of documents, model and presets of each."""
        return [served.about() for served in service.indexes.values()]

    for tool in (search, explain, get_document, list_indexes):
        server.add_tool(tool)
    return server


def http_tools(service: Service, host: str) -> HttpTools:
    """The tools at /mcp, each request by itself.

    Args:
        service: what answers.
        host: where the server listens. Where that is this computer only, requests must name it so: web pages
            could else ask from its browser.
    """
    server = tools(service)
    app = server.streamable_http_app(
        json_response=True,
        stateless_http=True,
        host=host,
        max_request_body_size=service.limits.max_body_bytes,
    )
    return HttpTools(server, app.routes)


@contextmanager
def _told() -> Iterator[None]:
    """Lets the model read what is wrong with what it asked; the SDK hides all other errors from it."""
    try:
        yield
    except SealError as error:
        raise ToolError(one_line(error)) from error


def _check(service: Service, query: str, hits: int) -> None:
    limits = service.limits
    if not text(query, "query").strip() or len(query) > limits.max_query_chars:
        raise ArgumentError(
            f"query has {len(query)} characters; it must say something in at most {limits.max_query_chars}"
        )
    if whole(hits, "hits", 1) > limits.max_hits:
        raise ArgumentError(f"hits is {hits}; it must be at most {limits.max_hits}")
