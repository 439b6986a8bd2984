"""The tools of MCP, by the client of its SDK: over HTTP and over stdin and stdout."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, StdioServerParameters

from seal_ir.server.limits import Limits
from seal_ir.server.mcp import tools
from seal_ir.server.service import Service
from tests.helpers import serving
from tests.helpers.commands import ROOT


def by_http(index: Path, use: Callable[[Client], Any]) -> Any:
    with serving.running(serving.served(index), mcp=True) as url:
        return asyncio.run(_used(f"{url}/mcp", use))


def by_stdio(index: Path, use: Callable[[Client], Any]) -> Any:
    arguments = ["-m", "tests.helpers.stubbed_server", "--mcp", "stdio", "--preset", "paper"]
    server = StdioServerParameters(
        command=sys.executable,
        args=[*arguments, "--index", f"tiny={index}"],
        cwd=str(ROOT),
        env=dict(os.environ),
    )
    return asyncio.run(_used(server, use))


async def _used(server: Any, use: Callable[[Client], Any]) -> Any:
    async with Client(server) as client:
        return await use(client)


def value(result: Any) -> Any:
    assert not result.is_error, result
    return result.structured_content.get("result", result.structured_content)


@pytest.mark.parametrize("way", [by_http, pytest.param(by_stdio, marks=pytest.mark.slow)])
def test_a_client_finds_the_tools_and_uses_them(tiny_index: Path, way: Callable[..., Any]) -> None:
    async def use(client: Client) -> tuple[Any, ...]:
        names = {tool.name for tool in (await client.list_tools()).tools}
        (about,) = value(await client.call_tool("list_indexes", {}))
        found = value(await client.call_tool("search", {"query": "the capital of France", "hits": 2}))
        document = value(await client.call_tool("get_document", {"docid": "d3#0", "index": "tiny"}))
        return names, about, found, document

    names, about, found, document = way(tiny_index, use)
    assert names == {"search", "explain", "get_document", "list_indexes"}
    assert (about["name"], about["documents"]) == ("tiny", 7)
    assert len(found) == 2
    assert set(found[0]) == {"docid", "score", "doc"}
    assert document == {
        "docid": "d3#0",
        "doc": {"title": "", "contents": "Mount Everest is the highest mountain on Earth."},
    }


def test_over_http_it_finds_what_rest_finds(tiny_index: Path) -> None:
    with serving.running(serving.served(tiny_index), mcp=True) as url:
        rest = httpx.get(f"{url}/v1/tiny/search", params={"query": "the river"}).json()["candidates"]
        call = lambda client: client.call_tool("search", {"query": "the river"})  # noqa: E731
        found = value(asyncio.run(_used(f"{url}/mcp", call)))
    assert found == [{name: each[name] for name in ("docid", "score", "doc")} for each in rest]


@pytest.mark.slow
@pytest.mark.parametrize("docid", ["d1", "d9"])
def test_it_explains_as_rest_does(tiny_index: Path, docid: str) -> None:
    asked: dict[str, Any] = {"query": "the river", "docid": docid, "hits": 1}
    with serving.running(serving.served(tiny_index), mcp=True) as url:
        rest = httpx.get(f"{url}/v1/tiny/explain", params=asked).json()
        call = lambda client: client.call_tool("explain", asked)  # noqa: E731
        found = value(asyncio.run(_used(f"{url}/mcp", call)))
    assert rest == {"api": "v1", "index": "tiny", **found, "highlights": rest["highlights"]}


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": " "}, "it must say something"),
        ("search", {"query": "a" * 2001}, "at most 2000"),
        ("search", {"query": "a", "hits": 0}, "hits is 0"),
        ("search", {"query": "a", "hits": 1001}, "at most 1000"),
        ("search", {"query": "a", "index": "other"}, "no index is served as 'other'"),
        ("search", {}, "query"),
        ("get_document", {"docid": "d9"}, "there is no document with the id 'd9'"),
        ("explain", {"query": " ", "docid": "d1"}, "it must say something"),
        ("explain", {"query": "a", "docid": "d1", "hits": 0}, "hits is 0"),
        ("explain", {"query": "a", "docid": "d1", "index": "other"}, "no index is served as 'other'"),
        ("explain", {"query": "a"}, "docid"),
    ],
)
def test_what_a_tool_cannot_do_it_says(
    tiny_index: Path, tool: str, arguments: dict[str, object], told: str
) -> None:
    service = Service([serving.served(tiny_index)], Limits())
    try:
        call = lambda client: client.call_tool(tool, arguments)  # noqa: E731
        result = asyncio.run(_used(tools(service), call))
    finally:
        service.close()
    assert result.is_error
    assert told in result.content[0].text


def test_a_web_page_of_another_name_cannot_ask_a_server_of_this_computer(tiny_index: Path) -> None:
    with serving.running(serving.served(tiny_index), mcp=True) as url:
        answer = httpx.post(f"{url}/mcp", headers={"Host": "evil.example"}, json={})
    assert answer.status_code in (403, 421)
