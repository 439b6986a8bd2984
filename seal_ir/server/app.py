"""The web application: routes, the gate before them, and what an error looks like."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from seal_ir.errors import SealError, shown
from seal_ir.server.answers import JsonAnswer, StateAnswer, error_answer, failure
from seal_ir.server.bm25 import comparing
from seal_ir.server.description import described
from seal_ir.server.explaining import explaining
from seal_ir.server.gate import Gate
from seal_ir.server.metrics import CONTENT_TYPE, Metrics
from seal_ir.server.older_routes import older
from seal_ir.server.page import add_page
from seal_ir.server.routes import searching
from seal_ir.server.service import Service
from seal_ir.server.writing import writing


def create_app(
    service: Service,
    metrics: Metrics,
    *,
    host: str = "127.0.0.1",
    key: str | None = None,
    writable: bool = False,
    mcp: bool = False,
    refresh_s: float = 0.0,
) -> FastAPI:
    """A web application that answers for a service, and closes it when it is shut down.

    Args:
        service: what it answers for.
        metrics: counts its requests.
        host: the address that it listens on.
        key: what requests must bring; None for none.
        writable: whether documents can be added and deleted.
        mcp: whether MCP's tools are offered at /mcp.
        refresh_s: seconds from one look for new commits to the next; 0 for none.
    """
    metrics.watch(service)
    app = FastAPI(
        title="seal-ir",
        version=version("seal-ir"),
        description="Searches collections with a language model that can only write what they contain.",
        docs_url=None,  # its scripts come from other hosts
        redoc_url=None,
    )
    app.include_router(searching(service))
    app.include_router(explaining(service))
    app.include_router(older(service))
    if any(index.bm25 is not None for index in service.indexes.values()):
        app.include_router(comparing(service))
    if writable:
        app.include_router(writing(service))
    _add_states(app, service, metrics)
    add_page(app)
    tools = _add_mcp(app, service, host) if mcp else None
    app.router.lifespan_context = _lifespan(service, tools, refresh_s)
    _add_handlers(app)
    app.add_middleware(Gate, key=key, max_body_bytes=service.limits.max_body_bytes, metrics=metrics)
    app.openapi = partial(described, app.openapi, list(service.indexes), key is not None)  # type: ignore[method-assign]
    return app


def _add_mcp(app: FastAPI, service: Service, host: str) -> Any:
    from seal_ir.server.mcp import http_tools  # the SDK takes seconds to import

    tools = http_tools(service, host)
    app.router.routes.extend(tools.routes)
    return tools


def _lifespan(service: Service, tools: Any, refresh_s: float) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if tools is not None:
                await stack.enter_async_context(tools.running())
            stack.push_async_callback(asyncio.to_thread, service.close)  # also where the application fails
            if refresh_s:
                stack.push_async_callback(_ended, asyncio.create_task(_look(service, refresh_s)))
            yield

    return lifespan


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _look(service: Service, seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        await service.refresh_all()


def _add_states(app: FastAPI, service: Service, metrics: Metrics) -> None:
    @app.get("/health", response_model=StateAnswer, tags=["state"])
    async def health() -> JsonAnswer:
        """Whether the process answers."""
        return JsonAnswer({"status": "ok"})

    unready: dict[int | str, dict[str, Any]] = {503: {"model": StateAnswer, "description": "It does not."}}

    @app.get("/ready", response_model=StateAnswer, tags=["state"], responses=unready)
    async def ready() -> JsonAnswer:
        """Whether the server answers queries."""
        return (
            JsonAnswer({"status": "ready"}) if service.is_ready else JsonAnswer({"status": "stopping"}, 503)
        )

    @app.get("/metrics", include_in_schema=False)
    async def counted() -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)


def _add_handlers(app: FastAPI) -> None:
    async def fault(request: Request, error: Exception) -> JsonAnswer:
        assert isinstance(error, SealError)  # noqa: S101 - Starlette's types know no narrower one
        return failure(error)

    async def invalid(request: Request, error: Exception) -> JsonAnswer:
        return error_answer(400, _told(error))

    async def refused(request: Request, error: Exception) -> JsonAnswer:
        status, headers = getattr(error, "status_code", 500), getattr(error, "headers", None)
        detail = getattr(error, "detail", error)
        if status == 404:
            detail = f"there is no route {shown(request.url.path)}; /openapi.json has those that are there"
        if status == 405:
            detail = f"{request.method} is not for this route; see the header Allow"
        return error_answer(status, str(detail), headers)

    async def broken(request: Request, error: Exception) -> JsonAnswer:
        return error_answer(500, "the server failed; its log says how")

    app.add_exception_handler(SealError, fault)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, refused)
    app.add_exception_handler(Exception, broken)


def _told(error: Exception) -> str:
    """The first fault of a request in one line."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    # pydantic names the members of a union, too: types, which are no names of ours
    names = [str(part) for part in first.get("loc", ())[1:] if re.fullmatch("[a-z0-9_]+", str(part))]
    where = ".".join(names) or "the body"
    if first.get("type") == "missing":
        return f"{where} is missing"
    return f"{where} is {shown(first.get('input'))}: {first.get('msg', 'it means nothing')}"
