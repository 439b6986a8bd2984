"""The OpenAPI description: FastAPI's, made true of this server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

_NEVER_ANSWERED = ("HTTPValidationError", "ValidationError")
_KEYS = {
    "ApiKeyAuth": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "BearerAuth": {"type": "http", "scheme": "bearer"},
}


def described(make: Callable[[], dict[str, Any]], indexes: Sequence[str], has_key: bool) -> dict[str, Any]:
    """A description with the indexes that are served, and how to bring the key, without 422.

    Args:
        make: FastAPI's own.
        indexes: names of those that are served.
        has_key: whether requests must bring a key.
    """
    told = make()
    for path, operation in _operations(told):
        operation["responses"].pop("422", None)  # what is invalid is 400, as of Pyserini
        for parameter in operation.get("parameters", ()):
            if parameter["name"] == "index":
                parameter["schema"]["enum"] = list(indexes)
        if has_key and path.startswith("/v1"):
            operation["security"] = [{name: []} for name in _KEYS]
    for name in _NEVER_ANSWERED:
        told["components"]["schemas"].pop(name, None)
    if has_key:
        told["components"]["securitySchemes"] = _KEYS
    return told


def _operations(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in told["paths"].items():
        for operation in operations.values():
            yield path, operation
