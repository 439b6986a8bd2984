"""A server in this process and requests that nobody sent in good faith, each a file as HTTP/1.1 writes it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import unquote
from zlib import crc32

from seal_ir.errors import InputError
from tests.fuzz.mutations import mutated

SECONDS = 9.0  # until an answer; less than any file may take
KEY = b"a-key-of-tests"
_MCP = b"POST /mcp HTTP/1.1\nContent-Type: application/json\nAccept: application/json, text/event-stream\n"
_JSON = b"Content-Type: application/json\nX-API-Key: " + KEY + b"\n\n"
_TOOLS = {
    "search": {"query": "the river", "index": "tiny", "hits": 3},
    "explain": {"query": "the river", "docid": "d1", "index": "tiny", "hits": 3},
    "get_document": {"docid": "d3#0", "index": "tiny"},
    "list_indexes": {},
}
_BORN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
_PLACES = (
    "/v1/tiny/search?query=the+river&hits=3&parse=true&preset=paper&explain=true",
    "/v1/tiny/search?query=who%20%E2%80%9Csings%E2%80%9D&parse=false&preset=lm",
    "/v1/tiny/doc/d3%230?parse=true",
    "/v1/tiny/explain?query=the+river&docid=d1&hits=2&preset=paper&decoding=true",
    "/v1/tiny/explain?query=the+river&docid=d9&hits=2",
    "/v1/tiny/trace?query=the+river&preset=paper",
    "/v1/tiny/bm25?query=the+river&hits=2&parse=false",
    "/v1/indexes/tiny/documents/d3%230",
    *("/v1/indexes", "/health", "/ready", "/metrics", "/openapi.json", "/static/page.js", "/"),
)
_VALUES = (
    *(b"", b"0", b"-1", b"1", b"1e9", b"1.0", b"9" * 5000, b"%D9%A1", b"true", b"nan", b"%00", b"%ff"),
    *(
        b"%ED%A0%80",
        b"%0A",
        b"%E2%80%A8",
        b"%",
        b"%zz",
        b"..",
        b"../..",
        b"a%2Fb",
        b"%2e%2e%2f",
        b"[1]",
        b"{}",
    ),
    *(b"q" * 2001, b"%F0%9F%90%B3" * 300, b"a&a", b"tiny", b"other", b"d1", b"paper", b"None", b"%EF%BB%BF"),
    *(b"e%CC%81" * 400, b"%E2%80%8B", b"+", b"%C2%A0", b"%3C/s%3E", b"%40%40", b"%7C%7C", b"a+" * 900),
)
_HEADERS = (
    *(b"Content-Length: 5", b"Content-Length: 99999999", b"Content-Length: -1", b"Content-Length: x"),
    *(
        b"Content-Length: " + b"9" * 5000,
        b"Content-Length: \xb2",
        b"Host: evil.example",
        b"Host:",
        b"Host: [::",
    ),
    *(b"Content-Type: text/plain", b"Content-Type: application/json; charset=utf-16", b"Content-Type: /"),
    *(b"Content-Type: multipart/form-data; boundary=", b"Content-Type: application/x-www-form-urlencoded"),
    *(b"X-API-Key: wrong", b"X-API-Key: \xff\xfe", b"Authorization: Bearer " + KEY, b"Authorization: Basic"),
    *(b"Authorization: Bearer", b"Authorization: \xe9 \xe9", b"Accept: */*", b"Accept: text/event-stream"),
    *(b"Range: bytes=0-1", b"Range: bytes=9-1,,", b"If-Range: x", b"If-None-Match: *", b"Origin: null"),
    *(b"If-Modified-Since: never", b"Range: bytes=" + b"0-1," * 500, b"Mcp-Session-Id: x", b"Expect: x"),
    *(b"MCP-Protocol-Version: 1999-01-01", b"Last-Event-ID: \x01", b"Cookie: " + b"a=b;" * 500),
)
_METHODS = (b"GET", b"POST", b"DELETE", b"PUT", b"PATCH", b"HEAD", b"OPTIONS", b"TRACE", b"X", b"")


class Request(NamedTuple):
    """A request as ASGI has it, all of it bytes."""

    method: bytes
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


class Answer(NamedTuple):
    """What came back, and which route it came from; None for none of the application's."""

    status: int
    headers: dict[str, str]
    body: bytes
    route: Any


def requests() -> dict[str, bytes]:
    """Valid requests of every route and tool."""
    key = b"X-API-Key: " + KEY + b"\n\n"
    found = {
        f"get{n}.http": b"GET " + place.encode() + b" HTTP/1.1\n" + key for n, place in enumerate(_PLACES)
    }
    bodies: dict[str, tuple[str, object]] = {
        "older": ("/v1/indexes/tiny/search", {"query": "the river", "hits": 3, "qid": "7"}),
        "older-object": ("/v1/indexes/tiny/search", {"query": {"query_txt": "the river"}}),
        "add": (
            "/v1/tiny/docs",
            {"docs": [{"id": "n1", "title": "Bonn", "text": "On the Rhine."}], "duplicates": "last"},
        ),
        "add-contents": (
            "/v1/tiny/docs",
            {"docs": [{"id": "n2", "contents": "Köln\nOn the Rhine.", "x": 1}], "duplicates": "first"},
        ),
        "refresh": ("/v1/tiny/refresh", {}),
    }
    for name, (place, body) in bodies.items():
        head = b"POST " + place.encode() + b" HTTP/1.1\n"
        found[f"{name}.http"] = head + _JSON + json.dumps(body).encode()
    found["delete.http"] = b"DELETE /v1/tiny/docs/n1 HTTP/1.1\n" + key
    calls = [
        {"method": "tools/call", "params": {"name": name, "arguments": of}} for name, of in _TOOLS.items()
    ]
    calls += [{"method": "initialize", "params": _BORN}, {"method": "tools/list"}, {"method": "ping"}]
    for n, call in enumerate(calls):
        body = json.dumps({"jsonrpc": "2.0", "id": n, **call}).encode()
        found[f"mcp{n}.http"] = _MCP + b"X-API-Key: " + KEY + b"\n\n" + body
    return found


def make(folder: Path) -> dict[str, bytes]:
    """An index to serve, and the requests."""
    from tests.helpers import tiny

    tiny.build(folder / "index")
    return requests()


def changed_request(content: bytes, chance: Random) -> bytes:
    """A request with a part of it made hostile: method, target, a header, the body, or any bytes."""
    head, _, body = content.partition(b"\n\n")
    how = chance.random()
    if how < 0.4 and body:
        return head + b"\n\n" + mutated(body, chance)
    line, _, headers = head.partition(b"\n")
    if how < 0.55:
        return b"\n".join((line, chance.choice(_HEADERS), headers)) + b"\n\n" + body
    if how < 0.6:
        lines = [each for each in headers.split(b"\n") if chance.random() < 0.5]
        return b"\n".join((line, *lines)) + b"\n\n" + body
    method, _, rest = line.partition(b" ")
    if how < 0.65:
        return b" ".join((chance.choice(_METHODS), rest)) + b"\n" + headers + b"\n\n" + body
    if how < 0.9:
        target, _, version = rest.rpartition(b" ")
        line = b" ".join((method, _changed_target(target, chance), version))
        return line + b"\n" + headers + b"\n\n" + body
    return mutated(content, chance)


def _changed_target(target: bytes, chance: Random) -> bytes:
    """One part between `/`, `?`, `&` and `=` replaced, dropped, doubled or with odd bytes."""
    parts = re.split(rb"([/?&=])", target)
    at = chance.randrange(len(parts))
    how = chance.random()
    if how < 0.6:
        parts[at] = chance.choice(_VALUES)
    elif how < 0.8:
        parts[at : at + 1] = chance.choice(([], [parts[at]] * 2, [parts[at], b"/"]))
    else:
        parts[at] = mutated(parts[at], chance)
    return b"".join(parts)


def parsed_request(content: bytes) -> Request:
    """The request of a file, read leniently; what no server software would let through is left out."""
    head, _, body = content.partition(b"\n\n")
    first, *lines = head.split(b"\n")
    words = re.sub(rb"[^!-~ ]", lambda byte: b"%%%02X" % byte[0][0], first).split(b" ")
    target = b"%20".join(words[1:-1] if len(words) > 2 else words[1:]) or b"/"
    headers = [
        (name.strip().lower(), re.sub(rb"[\x00\r]", b"", value).strip())
        for name, _, value in (line.partition(b":") for line in lines)
        if re.fullmatch(rb"[!#-'*+.0-9A-Z^-z|~-]+", name.strip())
    ]
    if not any(name == b"host" for name, _ in headers):
        headers.append((b"host", b"127.0.0.1:8081"))
    return Request(words[0], target, headers, body)


class Surface:
    """A server over an index, and the event loop that it lives in until it is closed."""

    def __init__(self, index: Path) -> None:
        """Build the application, with everything that it offers."""
        self._runner = asyncio.Runner()
        self._app = self._runner.run(self._started(_application(index)))

    def close(self) -> None:
        """Stop the server, and with it its threads."""
        self._runner.close()

    async def _started(self, app: Any) -> Any:
        ready = asyncio.Event()

        async def living() -> None:
            async with app.router.lifespan_context(app):
                ready.set()
                await asyncio.Event().wait()

        self._life = asyncio.create_task(living())
        await asyncio.wait((asyncio.ensure_future(ready.wait()), self._life), return_when="FIRST_COMPLETED")
        assert ready.is_set(), self._life
        return app

    def answers(self, *asked: Request) -> list[Answer]:
        """The answers to requests that come together; raises whatever the application raises."""
        return self._runner.run(self._answers(asked))

    async def _answers(self, asked: tuple[Request, ...]) -> list[Answer]:
        async with asyncio.timeout(SECONDS):
            return await asyncio.gather(*(self._answer(each) for each in asked))

    async def _answer(self, asked: Request) -> Answer:
        raw, _, query = asked.target.partition(b"?")
        path = unquote(raw.decode("ascii"))
        scope: dict[str, Any] = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http"},
            **{
                "method": asked.method.decode("latin-1"),
                "path": path,
                "raw_path": raw,
                "query_string": query,
            },
            **{
                "root_path": "",
                "headers": asked.headers,
                "client": ("127.0.0.1", 5),
                "server": ("127.0.0.1", 8081),
            },
        }
        sent: list[Any] = []
        bodies = [{"type": "http.request", "body": asked.body, "more_body": False}]
        over = asyncio.Event()

        async def receive() -> Any:
            if not bodies:
                await over.wait()  # a client that stays until it has its answer
                return {"type": "http.disconnect"}
            return bodies.pop()

        async def send(message: Any) -> None:
            sent.append(message)
            streams = any(value.startswith(b"text/event-stream") for _, value in message.get("headers", ()))
            if streams or not message.get("more_body", True):
                over.set()  # nobody waits at a stream that has no end

        await self._app(scope, receive, send)
        assert [message["type"] for message in sent].count("http.response.start") == 1, sent
        body = b"".join(message.get("body", b"") for message in sent[1:])
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in sent[0]["headers"]
        }
        return Answer(sent[0]["status"], headers, body, scope.get("route"))


def _application(index: Path) -> Any:
    from seal_ir.records import Hit
    from seal_ir.server.app import create_app
    from seal_ir.server.limits import Limits
    from seal_ir.server.metrics import Metrics
    from seal_ir.server.service import Service
    from tests.helpers import serving

    class Ranking:
        def work(self, searcher: Any, asked: Any) -> list[Callable[[], list[Hit]]]:
            return [partial(list, [Hit("d1", 2.5, raw='{"id": "d1"}')]) for _ in asked]

    limits = Limits(max_hits=50, max_body_bytes=20_000, wait_ms=0.0, timeout_s=SECONDS)
    served = replace(serving.served(index), bm25=Ranking())
    metrics = Metrics()
    service = Service([served], limits, told=metrics.batch)
    return create_app(service, metrics, key=KEY.decode(), writable=True, mcp=True)


_SURFACES: dict[Path, Surface] = {}
_ALIVE = parsed_request(b"GET /ready HTTP/1.1\n\n")
_GOOD = parsed_request(requests()["get0.http"])


def read(path: Path) -> None:
    """Send the request of a file, now and then beside one that is sound, and look at the answer.

    Raises:
        InputError: it was refused, as the description has it.
        AssertionError: the answer is none of those that the description has, or the server is not well.
    """
    surface = _SURFACES.get(path.parent) or _SURFACES.setdefault(path.parent, Surface(path.parent / "index"))
    content = path.read_bytes()
    asked = parsed_request(content)
    beside = crc32(content) % 8 == 0
    answer, *others = surface.answers(asked, _GOOD) if beside else surface.answers(asked)
    check(asked, answer)
    for other in (*others, *surface.answers(_ALIVE)):
        assert other.status == 200, other
    if answer.status >= 400 and asked.method != b"DELETE":  # what has been deleted is not there
        raise InputError(f"{path}: {answer.status}")


def close(folder: Path) -> None:
    """Stop the server that has answered the requests of a folder, if there is one."""
    if surface := _SURFACES.pop(folder, None):
        surface.close()


def check(asked: Request, answer: Answer) -> None:
    """Compare an answer with what the description says of its route.

    Raises:
        AssertionError: it has another status or shape.
    """
    place = unquote(asked.target.partition(b"?")[0].decode("ascii"))
    documented = getattr(answer.route, "responses", None)
    if place == "/mcp":
        known = {200, 202, 400, 401, 403, 404, 405, 406, 413, 415, 421}
    elif documented is None:  # the page, its files, or no route
        known = {200, 307, 401, 404, 405, 413}
    else:
        known = {200, *(status for status in documented if status < 500)}
    if not place.startswith("/v1"):
        known |= {206, 304, 400, 401, 405, 413, 416}  # what HTTP has for all, and for files
    _require(answer.status in known, "has no such status", answer)
    _require(b"Traceback" not in answer.body, "shows a traceback", answer)
    if asked.method == b"HEAD":
        return
    if place == "/mcp" and answer.status != 401:
        _check_mcp(answer)
    elif answer.status >= 400 and place != "/" and not place.startswith("/static/"):
        told = json.loads(answer.body)
        _require(set(told) == {"error"}, "is no error", answer)
        _require(0 < len(told["error"]) < 500 and len(told["error"].splitlines()) == 1, "is no line", answer)
    elif model := getattr(answer.route, "response_model", None):
        from pydantic import TypeAdapter

        TypeAdapter(model).validate_json(answer.body)


def _check_mcp(answer: Answer) -> None:
    if answer.body and answer.headers.get("content-type", "").startswith("application/json"):
        told = json.loads(answer.body)
        _require(isinstance(told, dict) and not {"error", "result"}.isdisjoint(told), "is no answer", answer)
        error = told.get("error")
        _require(not isinstance(error, dict) or error.get("code") != -32603, "is an internal error", answer)


def _require(holds: bool, what: str, answer: Answer) -> None:
    if not holds:
        place = getattr(answer.route, "path", "no route")
        raise AssertionError(f"{answer.status} {place} {what}: {answer.headers} {answer.body[:500]!r}")
