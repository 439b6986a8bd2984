"""Documents come and go through a server that may write; what it answers is what is searched then."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from seal_ir.index.indexer import SealIndexer
from seal_ir.index.reader import Index
from seal_ir.server.limits import Limits
from tests.helpers import serving, tiny
from tests.helpers.serving import KEY

NEW = {"id": "new", "title": "Berlin", "text": "Berlin is the capital of Germany."}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    tiny.build(tmp_path / "i")
    return tmp_path / "i"


@pytest.fixture
def client(index: Path) -> Iterator[httpx.Client]:
    limits = Limits(max_body_bytes=2000)
    with (
        serving.running(serving.served(index), limits=limits, key=KEY, writable=True) as url,
        httpx.Client(base_url=f"{url}/v1/tiny", headers={"X-API-Key": KEY}) as client,
    ):
        yield client


def add(client: httpx.Client, *docs: object, **more: str) -> httpx.Response:
    return client.post("/docs", json={"docs": docs, **more})


def test_a_document_is_found_when_it_was_added_and_not_when_it_was_deleted(
    client: httpx.Client, index: Path
) -> None:
    added = add(client, NEW)
    assert (added.status_code, added.json()) == (200, {"index": "tiny", "documents": 8})
    assert client.get("/doc/new").json()["doc"] == {"title": "Berlin", "contents": f"Berlin\n{NEW['text']}"}
    found = client.get("/search", params={"query": "the capital of Germany"}).json()["candidates"]
    assert "new" in [each["docid"] for each in found]
    deleted = client.delete("/docs/new")
    assert (deleted.status_code, deleted.json()) == (200, {"index": "tiny", "documents": 7})
    assert client.get("/doc/new").status_code == 404
    found = client.get("/search", params={"query": "the capital of Germany"}).json()["candidates"]
    assert found
    assert "new" not in [each["docid"] for each in found]
    assert Index(index).number("new") is None


def test_an_id_that_is_there_is_409_unless_it_is_said_which_to_keep(client: httpx.Client) -> None:
    for docs in ([NEW, {"id": "d1", "contents": "Another one."}], [NEW, NEW]):
        refused = add(client, *docs)
        assert refused.status_code == 409
        assert "is there already" in refused.json()["error"]
    assert client.get("/doc/new").status_code == 404  # all or none
    assert add(client, {"id": "d1", "contents": "Another one."}, duplicates="first").json()["documents"] == 7
    assert "Seine" in json.dumps(client.get("/doc/d1").json())
    assert add(client, {"id": "d1", "contents": "Another one."}, duplicates="last").json()["documents"] == 7
    assert client.get("/doc/d1").json()["doc"]["contents"] == "Another one."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "docs is missing"),
        ({"docs": []}, "docs is []"),
        ({"docs": [{"contents": "no id"}]}, "id is missing"),
        ({"docs": [{"id": "a b", "contents": "white space"}]}, "id is 'a b'"),
        ({"docs": [{"id": "a"}]}, "contents is missing"),
        ({"docs": [{"id": "a", "contents": 1}]}, "contents is 1"),
        ({"docs": [NEW], "duplicates": "both"}, "duplicates is 'both'"),
        ({"docs": ["text"]}, "is 'text'"),
        ([], "the body is []"),
    ],
)
def test_what_is_no_document_is_400(client: httpx.Client, body: Any, told: str) -> None:
    answer = client.post("/docs", json=body)
    assert answer.status_code == 400, answer.text
    assert told in answer.json()["error"]


@pytest.mark.slow
@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b'{"docs": [{"id": "\\ud800", "contents": "half"}]}'])
def test_what_is_no_json_is_400(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/docs", content=body, headers={"Content-Type": "application/json"})
    assert (answer.status_code, list(answer.json())) == (400, ["error"])


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_a_body_that_is_too_large_is_413(client: httpx.Client, streamed: bool) -> None:
    body = json.dumps({"docs": [{"id": "big", "contents": "text " * 1000}]}).encode()
    answer = client.post(
        "/docs",
        content=iter([body[:1500], body[1500:]]) if streamed else body,
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 413
    assert answer.json() == {"error": "the body is larger than 2,000 bytes; send less at a time"}
    assert client.get("/doc/big").status_code == 404


@pytest.mark.slow
def test_deleting_what_is_not_there_is_404_and_the_last_document_stays(client: httpx.Client) -> None:
    assert client.delete("/docs/none").json() == {"error": "tiny: there is no document with the id 'none'"}
    for document in tiny.DOCUMENTS[:-1]:
        assert client.delete(f"/docs/{document.id.replace('#', '%23')}").status_code == 200
    last = client.delete(f"/docs/{tiny.DOCUMENTS[-1].id}")
    assert last.status_code == 409
    assert client.get(f"/doc/{tiny.DOCUMENTS[-1].id}").status_code == 200


def test_another_writer_is_409(client: httpx.Client, index: Path) -> None:
    with SealIndexer(index):
        answer = add(client, NEW)
    assert answer.status_code == 409
    assert add(client, NEW).status_code == 200


def test_writers_at_once_lose_nothing(client: httpx.Client) -> None:
    with ThreadPoolExecutor(6) as pool:
        docs = [{"id": f"n{number}", "contents": f"Number {number}."} for number in range(6)]
        answers = list(pool.map(lambda doc: add(client, doc), docs))
    assert [answer.status_code for answer in answers] == [200] * 6
    assert max(answer.json()["documents"] for answer in answers) == 13
