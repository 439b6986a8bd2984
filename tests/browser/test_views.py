"""The page at / in a real Chromium: what each view shows, and what settings change."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from seal_ir.records import Hit
from seal_ir.server import bm25
from tests.helpers import serving
from tests.helpers.browser import (
    QUERY,
    Watched,
    found,
    marks,
    opened,
    program,
    search,
    settled,
)

pytestmark = [pytest.mark.slow, pytest.mark.skipif(program() is None, reason="no Chromium is installed")]


@pytest.mark.parametrize(
    ("index", "query"), [("tiny", QUERY), ("odd", "the whale \U0001f433"), ("odd", "the sea")]
)
def test_results_show_what_the_server_found_and_mark_what_keys_took(
    page: Page, url: str, index: str, query: str
) -> None:
    page.goto(f"{url}/?index={index}")
    search(page, query)
    candidates = found(url, query, index)
    items = page.locator("#results > ol > li")
    expect(items).to_have_count(len(candidates))
    for item, candidate in zip(items.all(), candidates, strict=True):
        assert "".join(item.locator("mark").all_text_contents()) == "".join(marks(candidate)).replace(
            "\n", ""
        )
        shown = item.locator("h2").inner_text() + "\n" + (item.locator(".text").text_content() or "")
        assert shown.endswith(candidate["contents"])
        assert f"{candidate['docid']} · score {candidate['score']:.2f}" in item.inner_text()
    expect(page.get_by_role("status")).to_contain_text(f"{len(candidates)} document")
    assert page.locator("#results img, #results b").count() == 0  # markup in documents is text


def test_keys_are_listed_with_their_shares(page: Page, url: str) -> None:
    page.goto(url)
    search(page, QUERY)
    keys = [key for key in found(url, QUERY)[0]["keys"] if key["kind"] != "unigram"]
    table = page.locator("#results table").first
    expect(table).to_be_visible()
    for key in keys[:12]:
        line = table.locator("tr", has=page.get_by_role("rowheader", name=key["text"], exact=True)).first
        expect(line).to_contain_text(key["kind"])
        expect(line).to_contain_text(f"{100 * key['fraction']:.1f} %")
    widths = table.locator(".bar-in").evaluate_all("bars => bars.map(bar => parseFloat(bar.style.width))")
    fractions = sorted((100 * key["fraction"] for key in keys), reverse=True)[:12]
    assert widths[: len(fractions)] == pytest.approx(fractions, abs=0.01)
    others = page.locator("#results details.why")
    assert [each.get_attribute("open") is None for each in others.all()] == [False] + [True] * (
        others.count() - 1
    )


def test_a_document_is_explained_whether_it_was_found_or_not(page: Page, url: str) -> None:
    page.goto(url)
    search(page, QUERY)
    first = found(url, QUERY)[0]["docid"]
    page.get_by_role("button", name=f"What does it lack? {first}").click()
    settled(page)
    expect(page.get_by_role("tab", name="Explain")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#explanation .reason")).to_contain_text("ranked: rank 1 of")
    for docid, status in (("d5", None), ("d9", "unknown")):
        page.get_by_label("Id of a document").fill(docid)
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_role("status")).to_contain_text(f"Explained {docid}")
        told = httpx.get(f"{url}/v1/tiny/explain", params={"query": QUERY, "docid": docid}).json()
        assert status in (None, told["status"])
        expect(page.locator("#explanation .reason")).to_contain_text(told["reason"])
        lacking = page.locator("#explanation table", has_text="Not held").locator("tbody th")
        expect(lacking).to_have_text([key["text"].strip() for key in told["lacking"]])
    assert parse_qs(urlsplit(page.url).query)["docid"] == ["d9"]
    page.go_back()
    expect(page.get_by_role("status")).to_contain_text("Explained d5")
    page.go_back()
    page.go_back()
    expect(page.locator("#results > ol")).to_be_visible()


def test_the_decoding_is_a_tree_of_what_the_index_allowed(page: Page, url: str) -> None:
    page.goto(f"{url}/?query=the+capital&view=tree")
    settled(page)
    told = httpx.get(f"{url}/v1/tiny/trace", params={"query": "the capital"}).json()["decoding"]
    steps = [step for kind in told["kinds"] for step in kind["steps"]]
    going = [each for step in steps for each in step["continuations"] if each["hypothesis"] is not None]
    assert going
    expect(page.locator("#tree li:not(.ended)")).to_have_count(len(going))
    refused = [token for step in steps for each in step["hypotheses"] for token in each["refused"]]
    assert refused
    assert page.locator("#tree .wanted s").count() > 0
    expect(page.locator("#tree > section")).to_have_count(len(told["kinds"]))


def test_presets_are_shown_side_by_side(page: Page, url: str) -> None:
    page.goto(f"{url}/?query=the+city&preset=lm")
    page.get_by_role("tab", name="Compare").click()
    settled(page)
    columns = page.locator("#compare section")
    assert [each.split()[0] for each in columns.locator("h2").all_inner_texts()] == ["lm", "paper"]
    for column, preset in zip(columns.all(), ("lm", "paper"), strict=True):
        expected = [each["docid"] for each in found(url, "the city", preset=preset)]
        shown = column.locator("li").all_inner_texts()
        assert len(shown) == len(expected)
        assert all(docid in text for docid, text in zip(expected, shown, strict=True))


def test_bm25_stands_beside_them_where_it_is_offered(
    browser: Browser, tiny_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bm25, "search", lambda lucene, topics, config: [(topics[0], [Hit("d5", 3.25)])])
    served = serving.served(tiny_index)
    ranking = bm25.Bm25Ranking(tiny_index, served.searcher.index.manifest.to_json())
    with serving.running(replace(served, bm25=ranking)) as url, opened(browser) as (page, watched):
        page.goto(f"{url}/?query=the+city&view=compare")
        settled(page)
        column = page.locator("#compare section").last
        expect(column.locator("h2")).to_contain_text("BM25")
        expect(column.locator("li")).to_contain_text(["Whale"])
        expect(column.locator("li")).to_contain_text(["d5 · 3.25"])
    assert watched.faults == []


def searches(watched: Watched) -> list[SplitResult]:
    return [part for part in map(urlsplit, watched.requests) if part.path.endswith("/search")]


def test_settings_are_heard_and_kept_in_the_address(watched_page: tuple[Page, Watched], url: str) -> None:
    page, watched = watched_page
    page.goto(url)
    search(page, QUERY)
    page.get_by_text("Settings").click()
    page.get_by_label("Hits").fill("2")
    page.get_by_label("Hits").press("Enter")
    expect(page.locator("#results > ol > li")).to_have_count(2)
    page.get_by_label("Preset").select_option("lm")
    settled(page)
    expect(page).to_have_url(re.compile("preset=lm"))
    assert parse_qs(searches(watched)[-1].query)["preset"] == ["lm"]
    page.get_by_label("Index").select_option("odd")
    settled(page)
    expect(page.locator("#about")).to_contain_text("odd · 4 documents")
    assert searches(watched)[-1].path == "/v1/odd/search"
    page.reload()
    settled(page)
    assert [page.locator(f"#{name}").input_value() for name in ("query", "index", "preset", "hits")] == [
        QUERY,
        "odd",
        "lm",
        "2",
    ]
    search(page, "the sea")
    page.go_back()
    expect(page.get_by_label("Question")).to_have_value(QUERY)


def test_a_server_with_one_ranking_has_nothing_to_compare(browser: Browser, tiny_index: Path) -> None:
    served = serving.served(tiny_index)
    del served.configs["lm"]  # type: ignore[attr-defined]
    with serving.running(served) as url, opened(browser) as (page, watched):
        page.goto(f"{url}/?query=the+city&view=compare")
        settled(page)
        expect(page.get_by_role("tab")).to_have_text(["Results", "Explain", "Decoding"])
        expect(page.locator("#results > ol")).to_be_visible()
    assert watched.faults == []


def test_the_page_asks_for_keys_only_when_it_shows_them(page: Page, url: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(re.sub(r"\?.*", "", urlsplit(request.url).path)))
    page.goto(f"{url}/?query=the+city")
    settled(page)
    assert [path for path in asked if path.startswith("/v1")] == ["/v1/indexes", "/v1/tiny/search"]
    for name in ("Explain", "Results", "Decoding", "Results", "Decoding"):
        page.get_by_role("tab", name=name).click()
        settled(page)
    assert [path for path in asked if path.startswith("/v1")][2:] == ["/v1/tiny/trace"]
