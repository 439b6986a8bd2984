"""How much a server takes on: of one request, of all that wait, and of time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seal_ir.arguments import check_least
from seal_ir.errors import UsageError


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a server.

    Attributes:
        max_hits: documents that a request may ask for.
        max_query_chars: characters of a query.
        max_body_bytes: bytes of a request's body.
        batch_size: queries decoded together, at most.
        wait_ms: how long the first query of a batch waits for others, in milliseconds.
        max_waiting: queries that wait to be decoded; more are refused.
        timeout_s: seconds after which a request without an answer ends.
    """

    max_hits: int = 1000
    max_query_chars: int = 2000
    max_body_bytes: int = 4 << 20
    batch_size: int = 16
    wait_ms: float = 10.0
    max_waiting: int = 128
    timeout_s: float = 30.0

    def __post_init__(self) -> None:
        check_least(
            self,
            max_hits=1,
            max_query_chars=1,
            max_body_bytes=1,
            batch_size=1,
            wait_ms=0.0,
            max_waiting=1,
            timeout_s=0.001,
        )
        for name in ("wait_ms", "timeout_s"):
            if getattr(self, name) == math.inf:
                raise UsageError(f"{name} is inf; it must be a finite number")


DEFAULT_LIMITS = Limits()
