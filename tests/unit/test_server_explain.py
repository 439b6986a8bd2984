"""/explain, /trace, and searches with keys: what a server answers is what the searcher says in Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import reduce
from math import fsum
from operator import add
from pathlib import Path
from typing import Any

import httpx
import pytest

from seal_ir.config import preset
from seal_ir.explanation.marks import highlights
from seal_ir.explanation.values import STATUSES
from seal_ir.records import Hit
from seal_ir.search.searcher import SealSearcher
from seal_ir.server.limits import Limits
from tests.helpers import serving, tiny
from tests.helpers.serving import KEY, PRESETS
from tests.helpers.waiting import wait_until

QUERY = "the capital of France"


@pytest.fixture(scope="module")
def url(tiny_index: Path) -> Iterator[str]:
    with serving.running(serving.served(tiny_index)) as url:
        yield url


@pytest.fixture(scope="module", params=PRESETS)
def searcher(tiny_index: Path, request: pytest.FixtureRequest) -> SealSearcher:
    return SealSearcher(tiny_index, tiny.generator(), config=preset(request.param))


def get(url: str, path: str, **params: object) -> Any:
    answer = httpx.get(f"{url}/v1/tiny/{path}", params={name: str(value) for name, value in params.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.slow
@pytest.mark.parametrize("decoding", [False, True])
@pytest.mark.parametrize(("docid", "hits"), [("d1", 10), ("d5", 1), ("d3#0", 10), ("d9", 10)])
def test_a_document_is_explained_as_in_python(
    url: str, searcher: SealSearcher, docid: str, hits: int, decoding: bool
) -> None:
    name = searcher.config.preset
    found = get(url, "explain", query=QUERY, docid=docid, hits=hits, preset=name, decoding=decoding)
    explanation = searcher.explain(QUERY, docid, hits, decoding=decoding)
    pieces = [(each["start"], each["end"], each["share"]) for each in found.pop("highlights")]
    assert found == {"api": "v1", "index": "tiny", **json.loads(json.dumps(explanation.to_dict()))}
    marks = highlights(explanation.contents or "", explanation.keys)
    assert pieces == [(mark.start, mark.end, mark.share) for mark in marks]
    assert found["status"] in STATUSES
    assert (found["decoding"] is not None) == decoding


def test_how_the_keys_were_written_is_told_as_in_python(url: str, searcher: SealSearcher) -> None:
    found = get(url, "trace", query=QUERY, preset=searcher.config.preset)
    assert found == {
        "api": "v1",
        "index": "tiny",
        "query": {"text": QUERY},
        "preset": searcher.config.preset,
        "decoding": json.loads(json.dumps(searcher.trace(QUERY).to_dict())),
    }
    assert found["decoding"]["kinds"]


def test_a_search_gives_keys_and_highlights_where_it_is_asked_to(url: str, searcher: SealSearcher) -> None:
    name = searcher.config.preset
    plain = get(url, "search", query=QUERY, preset=name)
    found = get(url, "search", query=QUERY, preset=name, explain=True)["candidates"]
    assert found
    for candidate, bare, hit in zip(found, plain["candidates"], searcher.search(QUERY), strict=True):
        assert {key: candidate.pop(key) for key in bare} == bare
        assert set(candidate) == {"contents", "keys", "rounding", "highlights"}
        assert candidate["contents"] == hit.contents
        assert candidate["keys"] == [key.to_dict() for key in hit.keys]
        assert [tuple(piece.values()) for piece in candidate["highlights"]] == [
            (piece.start, piece.end, piece.share) for piece in hit.highlights()
        ]
        shares = [key["share"] for key in candidate["keys"]]
        assert reduce(add, shares, 0.0) == bare["score"]
        assert fsum([*shares, candidate["rounding"]]) == bare["score"]


def test_keys_cost_nothing_where_nobody_asks(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    keys = Hit.keys.fget  # type: ignore[attr-defined]
    monkeypatch.setattr(Hit, "keys", property(lambda hit: (asked.append(hit.docid), keys(hit))[1]))
    get(url, "search", query=QUERY)
    assert asked == []
    get(url, "search", query=QUERY, explain=True)
    assert asked


@pytest.mark.slow
def test_many_explanations_at_once_are_those_of_one_at_a_time(url: str) -> None:
    asked = [(f"{QUERY} {n}", docid) for n in range(4) for docid in ("d1", "d2", "d9")]
    one = [get(url, "explain", query=query, docid=docid) for query, docid in asked]
    with ThreadPoolExecutor(12) as pool:
        together = list(pool.map(lambda each: get(url, "explain", query=each[0], docid=each[1]), asked))
    assert together == one


@pytest.mark.slow
@pytest.mark.parametrize("path", ["explain?docid=d1&decoding=true&query=", "trace?query="])
def test_what_is_recorded_delays_others_by_one_decoding_only(tiny_index: Path, path: str) -> None:
    model, generator = serving.held_generator()
    with (
        serving.running(serving.served(tiny_index, generator)) as url,
        ThreadPoolExecutor(8) as pool,
    ):
        model.may_go.clear()
        first = pool.submit(httpx.get, f"{url}/v1/tiny/search?query=a")
        assert model.began.wait(30)
        rest = [pool.submit(httpx.get, f"{url}/v1/tiny/{path}a{n}") for n in range(4)]
        wait_until(lambda: _waiting(url) == 4)
        model.n_prompts.clear()
        model.may_go.set()
        assert all(each.result().status_code == 200 for each in [first, *rest])
    assert model.n_prompts == [2] * 4  # body and title, a query at a time


def _waiting(url: str) -> float:
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("seal_ir_waiting_queries "))


@pytest.mark.parametrize(
    ("path", "status", "told"),
    [
        ("tiny/explain?docid=d1", 400, "query is missing"),
        ("tiny/explain?query=a", 400, "docid is missing"),
        ("tiny/explain?query=a&docid=", 400, "docid is ''"),
        ("tiny/explain?query=+&docid=d1", 400, "query is ' '"),
        ("tiny/explain?query=a&docid=d1&hits=0", 400, "hits is '0'"),
        ("tiny/explain?query=a&docid=d1&hits=1001", 400, "hits is '1001'"),
        ("tiny/explain?query=a&docid=d1&decoding=perhaps", 400, "decoding is 'perhaps'"),
        ("tiny/explain?query=a&docid=d1&preset=best", 400, "preset is 'best'; it must be one of paper, lm"),
        ("other/explain?query=a&docid=d1", 404, "no index is served as 'other'"),
        ("tiny/trace", 400, "query is missing"),
        ("tiny/trace?query=a&preset=best", 400, "preset is 'best'; it must be one of paper, lm"),
        ("other/trace?query=a", 404, "no index is served as 'other'"),
        ("tiny/search?query=a&explain=perhaps", 400, "explain is 'perhaps'"),
    ],
)
def test_what_cannot_be_explained_says_so(url: str, path: str, status: int, told: str) -> None:
    answer = httpx.get(f"{url}/v1/{path}")
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert told in answer.json()["error"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["explain?docid=d1&query=a", "trace?query=a", "search?explain=true&query=a"])
def test_a_preset_without_explanations_is_refused(tiny_index: Path, path: str) -> None:
    served = serving.served(tiny_index)
    slow = replace(served, configs={"published": preset("published")})
    with serving.running(slow) as url:
        answer = httpx.get(f"{url}/v1/tiny/{path}")
    assert answer.status_code == 400
    assert "preset 'published' has no explanations" in answer.json()["error"]


@pytest.mark.slow
@pytest.mark.parametrize("path", ["explain?docid=d1&query=a", "trace?query=a", "search?explain=true&query=a"])
def test_the_limits_are_those_of_a_search(tiny_index: Path, path: str) -> None:
    model, generator = serving.held_generator()
    limits = Limits(timeout_s=0.2)
    with serving.running(serving.served(tiny_index, generator), limits=limits, key=KEY) as url:
        assert httpx.get(f"{url}/v1/tiny/{path}").status_code == 401
        model.may_go.clear()
        late = httpx.get(f"{url}/v1/tiny/{path}", headers={"X-API-Key": KEY})
        model.may_go.set()
    assert late.status_code == 504
    assert "no answer within 0.2 s" in late.json()["error"]
