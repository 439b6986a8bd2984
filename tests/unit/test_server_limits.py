"""Overload, time limits, sizes, the key, new commits and the end: what a server does when it is pressed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from seal_ir.errors import UsageError
from seal_ir.index.indexer import SealIndexer
from seal_ir.server.app import create_app
from seal_ir.server.failures import UnavailableError
from seal_ir.server.limits import Limits
from seal_ir.server.metrics import Metrics
from seal_ir.server.service import Service
from tests.helpers import serving, tiny
from tests.helpers.serving import KEY, HeldModel
from tests.helpers.threads import no_thread_left
from tests.helpers.waiting import wait_until

PRESSED = Limits(batch_size=4, wait_ms=1, max_waiting=3)


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as pool:
        yield pool


def asked(pool: ThreadPoolExecutor, url: str, query: str, **params: str) -> Future[httpx.Response]:
    return pool.submit(httpx.get, f"{url}/v1/tiny/search", params={"query": query, **params}, timeout=30)


def hold(pool: ThreadPoolExecutor, url: str, model: HeldModel) -> Future[httpx.Response]:
    """A query whose batch is held by now."""
    model.began.clear()
    model.may_go.clear()
    first = asked(pool, url, "the first")
    assert model.began.wait(30)
    return first


def n_waiting(url: str) -> int:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("seal_ir_waiting_queries "))))


def test_queries_that_come_together_are_one_decode_whatever_hits_they_want(
    tiny_index: Path, pool: ThreadPoolExecutor
) -> None:
    model, generator = serving.held_generator()
    with serving.running(serving.served(tiny_index, generator), limits=PRESSED) as url:
        first = hold(pool, url, model)
        single, before = model.n_prompts[-1], len(model.n_prompts)
        together = [asked(pool, url, "the capital", hits=str(hits)) for hits in (1, 2, 3)]
        wait_until(lambda: n_waiting(url) == 3)
        model.may_go.set()
        assert first.result().status_code == 200
        found = [len(future.result().json()["candidates"]) for future in together]
    assert found == [1, 2, 3]
    assert model.n_prompts[before:] == [3 * single]


def test_more_than_may_wait_get_429_and_those_that_wait_their_answers(
    tiny_index: Path, pool: ThreadPoolExecutor
) -> None:
    model, generator = serving.held_generator()
    with serving.running(serving.served(tiny_index, generator), limits=PRESSED) as url:
        first = hold(pool, url, model)
        waiting = [asked(pool, url, "the capital") for _ in range(3)]
        wait_until(lambda: n_waiting(url) == 3)
        refused = asked(pool, url, "one more").result()
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert refused.json() == {"error": "3 queries are waiting, as many as may; ask again later"}
        assert httpx.get(f"{url}/v1/tiny/doc/d1").status_code == 200  # documents need no model
        model.may_go.set()
        assert [future.result().status_code for future in (first, *waiting)] == [200] * 4


@pytest.mark.slow
def test_the_time_limit_is_504_and_what_nobody_waits_for_is_not_decoded(
    tiny_index: Path, pool: ThreadPoolExecutor
) -> None:
    model, generator = serving.held_generator()
    limits = Limits(batch_size=4, wait_ms=1, timeout_s=0.5)
    with serving.running(serving.served(tiny_index, generator), limits=limits) as url:
        first = hold(pool, url, model)
        second = asked(pool, url, "the capital")
        for late in (first.result(), second.result()):
            assert late.status_code == 504
            assert late.json() == {"error": "no answer within 0.5 s; ask again later"}
        before = len(model.n_prompts)
        model.may_go.set()
        assert asked(pool, url, "a whale").result().status_code == 200
    assert len(model.n_prompts) == before + 1


def test_what_is_under_way_is_answered_before_the_end(tiny_index: Path, pool: ThreadPoolExecutor) -> None:
    model, generator = serving.held_generator()
    with serving.stoppable(serving.served(tiny_index, generator), limits=PRESSED) as (url, server):
        first = hold(pool, url, model)
        waiting = asked(pool, url, "the capital")
        wait_until(lambda: n_waiting(url) == 1)
        server.should_exit = True
        wait_until(lambda: not server.servers[0].is_serving())
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{url}/health")
        model.may_go.set()
        assert [future.result().status_code for future in (first, waiting)] == [200, 200]


def test_a_fault_of_the_server_is_500_and_logged(
    tiny_index: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, generator = serving.held_generator()

    def broken(prompts: object) -> None:
        raise RuntimeError("the model broke")

    with (
        caplog.at_level(logging.ERROR, "uvicorn.error"),
        serving.running(serving.served(tiny_index, generator)) as url,
    ):
        with monkeypatch.context() as patched:
            patched.setattr(model, "start", broken)
            answer = httpx.get(f"{url}/v1/tiny/search?query=a")
        assert answer.status_code == 500
        assert answer.json() == {"error": "the server failed; its log says how"}
        assert httpx.get(f"{url}/v1/tiny/search?query=a").status_code == 200
        counted = httpx.get(f"{url}/metrics").text
    assert 'seal_ir_requests_total{route="/v1/{index}/search",status="500"} 1.0' in counted
    assert "the model broke" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, "the server asks for a key"),
        ({"X-API-Key": "another"}, "this key is not the server's"),
        ({"X-API-Key": ""}, "the server asks for a key"),
        ({"Authorization": "Bearer another"}, "this key is not the server's"),
        ({"Authorization": f"Basic {KEY}"}, "the server asks for a key"),
    ],
)
def test_without_the_key_everything_but_the_state_is_401(
    tiny_index: Path, headers: dict[str, str], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with serving.running(serving.served(tiny_index), key=KEY, mcp=True, writable=True) as url:
        for method, path in (
            ("GET", "/v1/tiny/search?query=a"),
            ("GET", "/v1/tiny/doc/d1"),
            ("GET", "/v1/none/search"),
            ("GET", "/v1/indexes"),
            ("GET", "/metrics"),
            ("GET", "/nothing"),
            ("POST", "/mcp"),
            ("POST", "/v1/tiny/refresh"),
            ("POST", "/v1/tiny/docs"),
            ("DELETE", "/v1/tiny/docs/d1"),
        ):
            answer = httpx.request(method, f"{url}{path}", headers=headers)
            assert answer.status_code == 401, path
            assert told in answer.json()["error"]
            assert answer.headers["www-authenticate"] == "Bearer"
        for path in ("/health", "/ready", "/openapi.json"):
            assert httpx.get(f"{url}{path}").status_code == 200
    assert KEY not in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers", [{"X-API-Key": KEY}, {"Authorization": f"Bearer {KEY}"}, {"authorization": f"bearer  {KEY}"}]
)
def test_the_key_opens(tiny_index: Path, headers: dict[str, str]) -> None:
    with serving.running(serving.served(tiny_index), key=KEY) as url:
        assert httpx.get(f"{url}/v1/tiny/search?query=a", headers=headers).status_code == 200
        told = httpx.get(f"{url}/openapi.json").json()
    assert set(told["components"]["securitySchemes"]) == {"ApiKeyAuth", "BearerAuth"}


@pytest.mark.slow
def test_a_commit_is_seen_when_asked_for_and_by_and_by(tmp_path: Path) -> None:
    tiny.build(tmp_path / "i")
    with serving.running(serving.served(tmp_path / "i"), refresh_s=0) as url:
        with SealIndexer(tmp_path / "i") as writer:
            writer.add([{"id": "new", "contents": "A new document of the Seine."}])
        assert httpx.get(f"{url}/v1/tiny/doc/new").status_code == 404
        seen = httpx.post(f"{url}/v1/tiny/refresh").json()
        assert seen == {"index": "tiny", "changed": True, "documents": 8}
        assert httpx.get(f"{url}/v1/tiny/doc/new").status_code == 200
        assert httpx.post(f"{url}/v1/tiny/refresh").json()["changed"] is False
    with serving.running(serving.served(tmp_path / "i"), refresh_s=0.05) as url:
        with SealIndexer(tmp_path / "i") as writer:
            writer.delete(["new"])
        wait_until(lambda: httpx.get(f"{url}/v1/tiny/doc/new").status_code == 404)


@pytest.mark.slow
def test_searches_go_on_while_commits_come(tmp_path: Path, pool: ThreadPoolExecutor) -> None:
    tiny.build(tmp_path / "i")
    with serving.running(serving.served(tmp_path / "i"), refresh_s=0.02) as url:
        answers = [asked(pool, url, "the capital of France") for _ in range(20)]
        for number in range(4):
            with SealIndexer(tmp_path / "i") as writer:
                writer.add([{"id": f"n{number}", "contents": f"The capital of number {number}."}])
            answers += [asked(pool, url, "the capital of France") for _ in range(10)]
        found = [future.result() for future in answers]
    assert [answer.status_code for answer in found] == [200] * len(answers)
    assert all(answer.json()["candidates"] for answer in found)


def test_an_index_that_broke_is_searched_on_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiny.build(tmp_path / "i")
    with serving.running(serving.served(tmp_path / "i"), refresh_s=0.02) as url:
        (tmp_path / "i" / "index.json").write_text("{}")
        wait_until(lambda: "is searched on as it was" in caplog.text)
        assert httpx.post(f"{url}/v1/tiny/refresh").status_code == 500
        assert httpx.get(f"{url}/v1/tiny/search?query=the capital").status_code == 200


@pytest.mark.parametrize(
    ("name", "value"), [("batch_size", 0), ("wait_ms", -1.0), ("timeout_s", float("inf")), ("max_hits", 0)]
)
def test_limits_that_mean_nothing(name: str, value: float) -> None:
    with pytest.raises(UsageError, match=name):
        Limits(**{name: value})


def test_the_service_stops_at_its_close(tiny_index: Path) -> None:
    service = Service([serving.served(tiny_index)], Limits())
    assert service.is_ready
    service.close()
    assert not service.is_ready
    with pytest.raises(UnavailableError):
        asyncio.run(service.search("tiny", "a", 1))


@pytest.mark.parametrize("fault", [RuntimeError, asyncio.CancelledError])
def test_an_application_that_fails_closes_its_service(tiny_index: Path, fault: type[BaseException]) -> None:
    async def failing() -> None:
        async with app.router.lifespan_context(app):
            assert service.is_ready
            raise fault

    with no_thread_left():
        metrics = Metrics()
        service = Service([serving.served(tiny_index)], Limits(), told=metrics.batch)
        app = create_app(service, metrics, refresh_s=60.0)
        with pytest.raises(fault):
            asyncio.run(failing())
    assert not service.is_ready
