"""Pyserini's REST routes on a real server: each answer and each error, and what is counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from seal_ir.config import preset
from seal_ir.records import Document
from seal_ir.search.searcher import SealSearcher
from seal_ir.server.service import parsed
from tests.helpers import serving, tiny

ODD = [
    Document("a/b", "Slash", "Its id has a slash, and the Seine."),
    Document("c%d?e&f", "", "Its id has what URLs escape: Zürich, 東京, \U0001f433."),
    Document("..", "Dots", "Its id is two dots."),
]
QUERIES = [
    "the capital of France",
    '"a',
    "/x",
    "[",
    "東京 大学",
    "&query=",
    "%00",
    "\x00",
    "a\nb",
    "\x1f",
    "a" * 2000,
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving.running_two(tmp_path_factory.mktemp("served"), ODD) as url:
        yield url


def get(url: str, path: str, **params: object) -> httpx.Response:
    return httpx.get(f"{url}{path}", params={name: str(value) for name, value in params.items()})


def search(url: str, query: str, **params: object) -> Any:
    answer = get(url, "/v1/tiny/search", query=query, **params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_search_answers_in_the_shape_of_pyserinis(url: str, tiny_index: Path) -> None:
    answer = search(url, "the capital of France")
    assert set(answer) == {"api", "index", "query", "candidates"}
    assert [answer["api"], answer["index"], answer["query"]] == [
        "v1",
        "tiny",
        {"text": "the capital of France"},
    ]
    hits = SealSearcher(tiny_index, tiny.generator(), config=preset("paper")).search("the capital of France")
    assert hits
    assert answer["candidates"] == [
        {"docid": hit.docid, "score": hit.score, "rank": rank, "doc": parsed(hit.raw or "")}
        for rank, hit in enumerate(hits, 1)
    ]


def test_hits_parse_and_preset_are_heard(url: str, tiny_index: Path) -> None:
    assert len(search(url, "the capital", hits=1)["candidates"]) == 1
    raw = search(url, "the capital", hits=1, parse="false")["candidates"][0]["doc"]
    assert json.loads(raw)["id"] == search(url, "the capital", hits=1)["candidates"][0]["docid"]
    hits = SealSearcher(tiny_index, tiny.generator(), config=preset("lm")).search("the capital")
    by_lm = search(url, "the capital", preset="lm")["candidates"]
    assert [(each["docid"], each["score"]) for each in by_lm] == [(hit.docid, hit.score) for hit in hits]
    assert by_lm != search(url, "the capital", preset="paper")["candidates"]


@pytest.mark.parametrize("query", QUERIES)
def test_f3_any_text_is_a_query(url: str, query: str) -> None:
    assert search(url, query)["query"] == {"text": query}


@pytest.mark.parametrize(
    ("params", "told"),
    [
        ({}, "query is missing"),
        ({"query": ""}, "query is ''"),
        ({"query": " \n"}, "query is ' \\n'"),
        ({"query": "a" * 2001}, "at most 2000 characters"),
        ({"query": "a", "hits": "0"}, "hits is '0'"),
        ({"query": "a", "hits": "1001"}, "less than or equal to 1000"),
        ({"query": "a", "hits": "ten"}, "hits is 'ten'"),
        ({"query": "a", "hits": "1" * 5000}, "hits is '111"),
        ({"query": "a", "parse": "perhaps"}, "parse is 'perhaps'"),
        ({"query": "a", "preset": "best"}, "preset is 'best'; it must be one of paper, lm"),
    ],
)
def test_a_parameter_that_means_nothing_is_400(url: str, params: dict[str, str], told: str) -> None:
    answer = get(url, "/v1/tiny/search", **params)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    assert told in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("method", "path", "status", "told"),
    [
        ("GET", "/v1/other/search?query=a", 404, "no index is served as 'other'; served are tiny, odd"),
        ("GET", "/v1/other/doc/d1", 404, "no index is served as 'other'"),
        ("GET", "/v1/tiny/doc/d9", 404, "tiny: there is no document with the id 'd9'"),
        ("GET", "/v1/tiny/doc/", 404, "there is no document with the id ''"),
        ("GET", "/v1/tiny/nothing", 404, "there is no route '/v1/tiny/nothing'"),
        ("GET", "/docs", 404, "there is no route"),
        ("POST", "/v1/tiny/search?query=a", 405, "POST is not for this route"),
        ("DELETE", "/v1/tiny/doc/d1", 405, "DELETE is not for this route"),
        ("GET", "/v1/tiny/refresh", 405, "GET is not for this route"),
        ("POST", "/v1/tiny/docs", 404, "there is no route"),  # this server does not write
    ],
)
def test_what_is_not_there_says_so(url: str, method: str, path: str, status: int, told: str) -> None:
    answer = httpx.request(method, f"{url}{path}")
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert told in answer.json()["error"]
    assert status != 405 or answer.headers["allow"]


@pytest.mark.parametrize("document", ODD, ids=[document.id for document in ODD])
def test_a_document_of_any_id(url: str, document: Document) -> None:
    # A client that escapes ids, dots included: httpx, as browsers, takes dots for a way through folders.
    escaped = "".join(f"%{byte:02X}" for byte in document.id.encode())
    answer = httpx.get(f"{url}/v1/odd/doc/{escaped}")
    contents = f"{document.title}\n{document.text}" if document.title else document.text
    title = {"title": document.title} if document.title else {"title": ""}
    assert answer.json() == {
        "api": "v1",
        "index": "odd",
        "docid": document.id,
        "doc": {**title, "contents": contents},
    }
    raw = httpx.get(f"{url}/v1/odd/doc/{escaped}?parse=false").json()["doc"]
    assert json.loads(raw) == {"id": document.id, "title": document.title, "contents": contents}


@pytest.mark.parametrize(
    ("raw", "doc"),
    [
        ('{"id": "a", "contents": "text"}', "text"),
        ('{"_id": "a", "docid": 1, "title": "T", "text": "t"}', {"title": "T", "text": "t"}),
        (
            '{"id": "a", "year": 1953, "of": {"x": 1}, "all": [1]}',
            {"year": "1953", "of": {"x": 1}, "all": [1]},
        ),
        ('{"id": "a"}', {}),
        ('["a"]', ["a"]),
        ("no JSON", "no JSON"),
        ('{"x": NaN}', '{"x": NaN}'),
        ('{"x": ' + "1" * 5000 + "}", '{"x": ' + "1" * 5000 + "}"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_record_is_shown_as_pyserini_shows_it(raw: str, doc: object) -> None:
    assert parsed(raw) == doc


@pytest.mark.slow
def test_many_at_once_get_what_one_gets_byte_for_byte(url: str) -> None:
    queries = [f"{query} {number}" for number in range(4) for query in ("the capital", "a whale", "river of")]
    single = [get(url, "/v1/tiny/search", query=query).content for query in queries]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda query: get(url, "/v1/tiny/search", query=query).content, queries))
    assert together == single
    counted = metrics(url)
    assert counted["seal_ir_batch_queries_sum"] > counted["seal_ir_batch_queries_count"] > 0


@pytest.mark.parametrize("query", ["the capital of France", {"query_txt": "the capital of France"}])
def test_the_routes_of_pyserini_1(url: str, query: object) -> None:
    body = {"query": query, "hits": 2, "qid": "q7", "ef_search": 100, "encoder": None}
    answer = httpx.post(f"{url}/v1/indexes/tiny/search", json=body).json()
    assert answer["query"] == {"qid": "q7", "query_txt": "the capital of France"}
    found = search(url, "the capital of France", hits=2)["candidates"]
    assert [(each["docid"], each["score"]) for each in answer["candidates"]] == [
        (each["docid"], each["score"]) for each in found
    ]
    assert [each["document_txt"].split("\n")[-1] for each in answer["candidates"]] == [
        each["doc"]["contents"].split("\n")[-1] for each in found
    ]
    document = get(url, "/v1/indexes/odd/documents/a/b").json()
    assert document == {"id": "a/b", "title": "Slash", "contents": f"Slash\n{ODD[0].text}"}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({}, "query is missing"),
        ({"query": ""}, "query is ''"),
        ({"query": {"query_txt": " "}}, "query"),
        ({"query": "a", "hits": 1001}, "hits is 1001"),
        ({"query": ["a"]}, "query"),
    ],
)
def test_a_body_that_means_nothing_is_400(url: str, body: object, told: str) -> None:
    answer = httpx.post(f"{url}/v1/indexes/tiny/search", json=body)
    assert (answer.status_code, list(answer.json())) == (400, ["error"])
    assert told in answer.json()["error"]


def metrics(url: str) -> dict[str, float]:
    lines = [line for line in get(url, "/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def test_metrics_count_routes_not_documents(url: str) -> None:
    for docid in ("d1", "d2", "d9"):
        get(url, f"/v1/tiny/doc/{docid}")
    counted = metrics(url)
    assert counted['seal_ir_requests_total{route="/v1/{index}/doc/{docid}",status="200"}'] >= 2
    assert counted['seal_ir_requests_total{route="/v1/{index}/doc/{docid}",status="404"}'] >= 1
    assert counted['seal_ir_documents{index="tiny"}'] == len(tiny.DOCUMENTS)
    assert counted["seal_ir_waiting_queries"] == 0
    assert not any("d9" in name for name in counted)


def test_state_and_what_is_served(url: str) -> None:
    assert get(url, "/health").json() == {"status": "ok"}
    assert get(url, "/ready").json() == {"status": "ready"}
    about, _ = get(url, "/v1/indexes").json()
    assert about == {
        "name": "tiny",
        "documents": 7,
        "segments": 1,
        "model": "tiny",
        "presets": ["paper", "lm"],
        "bm25": False,
    }


def test_every_answer_keeps_browsers_to_this_host(url: str) -> None:
    for path in ("/health", "/v1/tiny/search?query=a", "/v1/none/search?query=a", "/nothing"):
        headers = get(url, path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert "server" not in headers


def test_the_description_has_pyserinis_routes_and_only_what_is_answered(url: str) -> None:
    told = get(url, "/openapi.json").json()
    operation = told["paths"]["/v1/{index}/search"]["get"]
    assert {each["name"] for each in operation["parameters"]} == {
        "index",
        "query",
        "hits",
        "parse",
        "preset",
        "explain",
    }
    assert {"200", "400", "401", "404", "405", "429", "500"} <= set(operation["responses"])
    assert "/v1/{index}/doc/{docid}" in told["paths"]
    assert "422" not in json.dumps(told)
    assert "ValidationError" not in json.dumps(told)
