"""What is counted, in Prometheus's text format, each server in a registry of its own."""

from __future__ import annotations

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from seal_ir.server.batching import BatchTold
from seal_ir.server.served import ServedIndex
from seal_ir.server.service import Service

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    """Counters of one server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        to = self._registry
        self._requests = Counter(
            "seal_ir_requests", "requests by route and status", ("route", "status"), registry=to
        )
        self._request_s = Histogram(
            "seal_ir_request_seconds",
            "from a request to the end of its answer",
            ("route",),
            registry=to,
            buckets=_SECONDS,
        )
        self._batch = Histogram(
            "seal_ir_batch_queries", "queries decoded together", registry=to, buckets=_SIZES
        )
        self._decode_s = Histogram("seal_ir_decode_seconds", "of a batch", registry=to, buckets=_SECONDS)
        self._waited_s = Histogram(
            "seal_ir_wait_seconds", "from a query to its batch", registry=to, buckets=_SECONDS
        )
        self._waiting = Gauge("seal_ir_waiting_queries", "whose batch has not begun", registry=to)
        self._documents = Gauge("seal_ir_documents", "documents of an index", ("index",), registry=to)

    def watch(self, service: Service) -> None:
        """Show the state of a service, as it is when it is asked for."""
        self._waiting.set_function(lambda: service.n_waiting)
        for name, served in service.indexes.items():
            self._documents.labels(name).set_function(partial(_n_documents, served))

    def batch(self, told: BatchTold) -> None:
        """Count a batch."""
        self._batch.observe(told.n_items)
        self._decode_s.observe(told.seconds)
        for seconds in told.waited_s:
            self._waited_s.observe(seconds)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count a request; `route` is its template, so that there are not as many as there are documents."""
        self._requests.labels(route, str(status)).inc()
        self._request_s.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)


def _n_documents(served: ServedIndex) -> int:
    return served.searcher.num_docs
