"""BM25's ranking beside a server's: its route, and what it says when there is none. Lucene is a stand-in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from seal_ir.errors import UsageError
from seal_ir.index.indexer import SealIndexer
from seal_ir.records import Document, Hit, Query
from seal_ir.search.bm25 import Bm25Config
from seal_ir.server import bm25
from seal_ir.server.options import parsed
from seal_ir.server.service import parsed as parsed_record
from tests.helpers import serving, tiny

RANKING = ["d5", "d2", "d3#0", "d1"]


def ranked(lucene: Path, topics: Sequence[Query], config: Bm25Config) -> Iterator[tuple[Query, list[Hit]]]:
    for topic in topics:
        yield topic, [Hit(docid, 9.5 - at) for at, docid in enumerate(RANKING[: config.hits])]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(bm25, "search", ranked)
    tiny.build(tmp_path / "tiny")
    return tmp_path / "tiny"


def served_with_bm25(index: Path) -> serving.ServedIndex:
    served = serving.served(index)
    manifest = served.searcher.index.manifest.to_json()
    return replace(served, bm25=bm25.Bm25Ranking(index / "lucene", manifest))


@pytest.mark.slow
@pytest.mark.parametrize("hits", [1, 2, 10])
def test_its_route_answers_as_a_search_does(index: Path, hits: int) -> None:
    with serving.running(served_with_bm25(index)) as url:
        answer = httpx.get(f"{url}/v1/tiny/bm25", params={"query": "the sea", "hits": hits}).json()
        assert httpx.get(f"{url}/v1/indexes").json()[0]["bm25"] is True
        described = httpx.get(f"{url}/openapi.json").json()["paths"]
    assert {name: answer[name] for name in ("api", "index", "query")} == {
        "api": "v1",
        "index": "tiny",
        "query": {"text": "the sea"},
    }
    documents = serving.served(index).searcher.batch_doc(RANKING)
    assert answer["candidates"] == [
        {
            "docid": docid,
            "score": 9.5 - at,
            "rank": at + 1,
            "doc": parsed_record(documents[docid].raw()),
            "contents": documents[docid].contents(),
        }
        for at, docid in enumerate(RANKING[:hits])
    ]
    assert "/v1/{index}/bm25" in described


@pytest.mark.slow
def test_it_is_not_there_unless_it_was_asked_for(index: Path) -> None:
    plain = replace(serving.served(index), name="plain")
    with serving.running(plain) as url:
        answer = httpx.get(f"{url}/v1/plain/bm25?query=a")
        assert (answer.status_code, "there is no route" in answer.json()["error"]) == (404, True)
    with serving.running(served_with_bm25(index), plain) as url:
        answer = httpx.get(f"{url}/v1/plain/bm25?query=a")
    assert answer.status_code == 404
    assert "plain is served without BM25; start the server with --bm25" in answer.json()["error"]


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "told"), [("", "query is missing"), ("?query=a&hits=0", "hits is '0'")])
def test_what_means_nothing_is_400(index: Path, asked: str, told: str) -> None:
    with serving.running(served_with_bm25(index)) as url:
        answer = httpx.get(f"{url}/v1/tiny/bm25{asked}")
    assert answer.status_code == 400
    assert told in answer.json()["error"]


def test_an_index_that_has_changed_is_not_compared_with_what_it_was(index: Path) -> None:
    with serving.running(served_with_bm25(index)) as url:
        with SealIndexer(index) as writer:
            writer.add([Document("new", "New", "A new sea.")])
        assert httpx.post(f"{url}/v1/tiny/refresh").json()["changed"] is True
        answer = httpx.get(f"{url}/v1/tiny/bm25?query=a")
    assert answer.status_code == 409
    assert "the index has changed, and BM25's has not" in answer.json()["error"]


def test_it_has_no_tool_on_stdin() -> None:
    with pytest.raises(UsageError, match="--bm25 does not go with --mcp stdio"):
        parsed(["--index", "demo", "--bm25", "--mcp", "stdio"])


def test_without_pyserini_it_says_so_before_it_builds(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise UsageError("pyserini is not installed")

    monkeypatch.setattr(bm25, "check_installed", absent)
    with pytest.raises(UsageError, match="pyserini is not installed"):
        bm25.with_bm25([serving.served(index)], index.parent / "lucene")
    assert not (index.parent / "lucene").exists()
