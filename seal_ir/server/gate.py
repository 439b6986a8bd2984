"""What every request passes: the key, the size of its body, security headers, and being counted."""

from __future__ import annotations

import hmac
import time
from collections.abc import MutableMapping
from typing import Any

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from seal_ir.server.answers import failure
from seal_ir.server.failures import RequestError, TooLargeError, UnauthorizedError
from seal_ir.server.metrics import Metrics

# What asks for no key: whether all is well, and what is the same for everyone. The rest does.
_OPEN = ("/", "/health", "/ready", "/openapi.json")
_SECURITY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Gate:
    """Refuses requests without the key and bodies that are too large, before anything else reads them."""

    def __init__(self, app: ASGIApp, *, key: str | None, max_body_bytes: int, metrics: Metrics) -> None:
        """Args: app: what is behind; key: asked for, if there is one; max_body_bytes; metrics: count here."""
        self._app, self._key, self._max_body_bytes, self._metrics = app, key, max_body_bytes, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(_SECURITY)
            await send(message)

        try:
            headers = Headers(scope=scope)
            self._check_key(scope["path"], headers)
            self._check_length(headers)
        except RequestError as fault:
            await failure(fault)(scope, receive, sending)
        else:
            await self._app(scope, _counted(receive, self._max_body_bytes), sending)
        finally:
            self._metrics.request(_route(scope), status, time.monotonic() - began)

    def _check_key(self, path: str, headers: Headers) -> None:
        if self._key is None or path in _OPEN or path.startswith("/static/"):
            return
        scheme, _, token = headers.get("authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else headers.get("x-api-key", "")
        if not hmac.compare_digest(given.encode(), self._key.encode()):
            told = "this key is not the server's" if given else "the server asks for a key"
            raise UnauthorizedError(f"{told}; send it as X-API-Key: KEY, or Authorization: Bearer KEY")

    def _check_length(self, headers: Headers) -> None:
        length = headers.get("content-length", "0").lstrip("0")
        most = str(self._max_body_bytes)  # digits, as Python makes no number of thousands of them
        if length.isdecimal() and (len(length), length) > (len(most), most):
            raise TooLargeError(_told(self._max_body_bytes))


def _counted(receive: Receive, most: int) -> Receive:
    """`receive`, which raises when a body without a length turns out to be too large."""
    n_bytes = 0

    async def counting() -> Message:
        nonlocal n_bytes
        message = await receive()
        n_bytes += len(message.get("body", b""))
        if n_bytes > most:
            raise HTTPException(413, _told(most))  # FastAPI passes on no other error
        return message

    return counting


def _told(most: int) -> str:
    return f"the body is larger than {most:,} bytes; send less at a time"


def _route(scope: MutableMapping[str, Any]) -> str:
    route = scope.get("route")
    return str(getattr(route, "path_format", None) or getattr(route, "path", "other"))
