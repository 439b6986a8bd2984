"""What may go wrong with a request, each with the HTTP status that says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from seal_ir.errors import ArgumentError, InputError, SealError


class RequestError(SealError):
    """A request that cannot be answered."""

    status: ClassVar[int] = 400

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers of the answer."""
        return {}


class UnauthorizedError(RequestError):
    """The request has no key, or a wrong one."""

    status = 401

    @property
    def headers(self) -> Mapping[str, str]:
        """Which scheme is asked for."""
        return {"WWW-Authenticate": "Bearer"}


class NotFoundError(RequestError):
    """There is no such index, document or route."""

    status = 404


class ConflictError(RequestError):
    """What is to be written is there already, or somebody else writes."""

    status = 409


class TooLargeError(RequestError):
    """The body has more bytes than are read."""

    status = 413


class _LaterError(RequestError):
    """The same request may be answered later.

    Attributes:
        retry_after_s: in how many seconds, at least 1.
    """

    def __init__(self, message: str, retry_after_s: int = 1) -> None:
        super().__init__(message)
        self.retry_after_s = max(1, retry_after_s)

    @property
    def headers(self) -> Mapping[str, str]:
        """When to ask again."""
        return {"Retry-After": str(self.retry_after_s)}


class OverloadedError(_LaterError):
    """As many queries wait as may."""

    status = 429


class UnavailableError(_LaterError):
    """The server is being shut down."""

    status = 503


class TimedOutError(_LaterError):
    """The time limit of a request passed without an answer."""

    status = 504


def status_of(error: SealError) -> int:
    """The HTTP status of a user's fault: 400 for what the request says, 500 for what the server has."""
    if isinstance(error, RequestError):
        return error.status
    return 400 if isinstance(error, ArgumentError | InputError) else 500
