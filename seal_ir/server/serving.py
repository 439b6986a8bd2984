"""A server from its start to its end: port, web application, signals; or stdin and stdout."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import uvicorn
from fastapi import FastAPI

from seal_ir.command import RedactingFormatter
from seal_ir.errors import UsageError
from seal_ir.server.app import create_app
from seal_ir.server.limits import Limits
from seal_ir.server.metrics import Metrics
from seal_ir.server.served import ServedIndex
from seal_ir.server.service import Service

_LEFT_S = 5  # after the last time limit of a request: for its answer to be read


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """What a server offers over HTTP.

    Attributes:
        key: what requests must bring; None for none.
        writable: whether documents can be added and deleted.
        mcp: whether MCP's tools are offered at /mcp.
        refresh_s: seconds from one look for new commits to the next; 0 for none.
        log_requests: whether each request is logged, with its query.
    """

    key: str | None = field(default=None, repr=False)
    writable: bool = False
    mcp: bool = False
    refresh_s: float = 5.0
    log_requests: bool = False


def bound(host: str, port: int) -> socket.socket:
    """A socket that has the port, before anything that takes time; nobody can connect to it yet.

    Raises:
        UsageError: the port cannot be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with ExitStack() as stack:
            listening = stack.enter_context(socket.socket(family, kind, protocol))
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            stack.pop_all()  # it stays open
    except OSError as error:
        told = error.strerror or error
        raise UsageError(f"cannot listen on {host}, port {port}: {told}; choose another --port") from error
    return listening


def serve_http(
    served: Sequence[ServedIndex],
    limits: Limits,
    threads: int,
    listening: socket.socket,
    options: HttpOptions,
) -> int:
    """Serve until SIGINT or SIGTERM; then take no more requests, and answer those that are there."""
    metrics = Metrics()
    service = Service(served, limits, threads=threads, told=metrics.batch)
    host, port = listening.getsockname()[:2]
    app = create_app(
        service,
        metrics,
        host=host,
        key=options.key,
        writable=options.writable,
        mcp=options.mcp,
        refresh_s=options.refresh_s,
    )
    config = web_config(app, limits, options.log_requests)
    names = ", ".join(service.indexes)
    shown = f"[{host}]" if ":" in host else host
    told = f"serving {names} at http://{shown}:{port}/ (Ctrl-C stops)"
    with _logged(options.log_requests), _stopped_quietly():
        _Server(config, told).run(sockets=[listening])
    return 0


def web_config(app: FastAPI, limits: Limits, log_requests: bool = False) -> uvicorn.Config:
    """How uvicorn serves the application: it waits at its end for every answer that is still in time."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=log_requests,
        server_header=False,
        ws="none",  # there are none; older releases import a deprecated package for them
        timeout_graceful_shutdown=math.ceil(limits.timeout_s) + _LEFT_S,
    )


class _Server(uvicorn.Server):
    """Uvicorn's, which says on stderr when it can be asked."""

    def __init__(self, config: uvicorn.Config, told: str) -> None:
        super().__init__(config)
        self._told = told

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        sys.stderr.write(f"{self._told}\n")
        sys.stderr.flush()


def serve_stdio(served: Sequence[ServedIndex], limits: Limits, threads: int) -> int:
    """Offer MCP's tools on stdin and stdout, until stdin ends."""
    from seal_ir.server.mcp import tools  # the SDK takes seconds to import

    service = Service(served, limits, threads=threads)
    try:
        asyncio.run(tools(service).run_stdio_async())
    finally:
        service.close()
    return 0


@contextmanager
def _logged(requests: bool) -> Iterator[None]:
    """Warnings of the web server on stderr, and each request if asked for; keys in either are left out."""
    handler = logging.StreamHandler()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "uvicorn.access")[: 1 + requests]]
    handler.setFormatter(RedactingFormatter("%(asctime)s %(message)s"))
    for logger, level in zip(loggers, (logging.WARNING, logging.INFO), strict=False):
        logger.addHandler(handler)
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


@contextmanager
def _stopped_quietly() -> Iterator[None]:
    """Uvicorn ends by itself at these signals, and raises them again, which would kill the process."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: None) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)
