"""The page at / in a real Chromium: for everyone, by keyboard, narrow, and when things go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.helpers import serving
from tests.helpers.browser import (
    NARROW,
    QUERY,
    VIEWS,
    found,
    opened,
    program,
    search,
    settled,
)
from tests.helpers.serving import KEY

pytestmark = [pytest.mark.slow, pytest.mark.skipif(program() is None, reason="no Chromium is installed")]


def test_the_key_is_asked_for_and_used(browser: Browser, tiny_index: Path) -> None:
    with serving.running(serving.served(tiny_index), key=KEY) as url, opened(browser) as (page, watched):
        page.goto(f"{url}/?query=the+city")
        key = page.get_by_label("API key")
        expect(key).to_be_focused()
        expect(page.get_by_role("alert")).to_contain_text("the server asks for a key")
        key.fill("wrong")
        key.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("this key is not the server's")
        key.fill(KEY)
        key.press("Enter")
        expect(page.locator("#results > ol")).to_be_visible()
        expect(key).to_be_hidden()
        expect(page.get_by_role("alert")).to_be_empty()
        assert KEY not in page.url
    assert all("401" in fault for fault in watched.faults)  # the browser's own lines


@pytest.mark.parametrize("view", list(VIEWS))
def test_who_goes_on_before_the_answer_gets_what_was_asked_last(
    browser: Browser, tiny_index: Path, view: str
) -> None:
    model, generator = serving.held_generator()
    with (
        serving.running(serving.served(tiny_index, generator)) as url,
        opened(browser) as (page, watched),
    ):
        model.may_go.clear()
        page.goto(f"{url}/?query=the+river&view={view}{VIEWS[view]}")
        assert model.began.wait(30)
        expect(page.locator("[aria-busy]")).to_have_count(1)
        page.get_by_label("Question").fill(QUERY)
        page.get_by_role("button", name="Search").click()
        page.get_by_role("tab", name="Decoding").click()
        page.get_by_role("tab", name="Results").click()
        model.may_go.set()
        expect(page.locator("#results > ol > li")).to_have_count(len(found(url, QUERY)))
        expect(page.locator("[aria-busy]")).to_have_count(0)
        page.get_by_role("tab", name="Compare").click()
        settled(page)
        expect(page.locator("#compare section")).to_have_count(2)
        expect(page.locator("#compare .fault")).to_have_count(0)
    assert watched.faults == []


@pytest.mark.parametrize("view", list(VIEWS))
def test_errors_are_told_in_words(browser: Browser, url: str, view: str) -> None:
    with opened(browser) as (page, _):
        page.goto(f"{url}/?query={'a' * 2001}&view={view}{VIEWS[view]}")
        settled(page)
        place = page.locator("#compare .fault").first if view == "compare" else page.get_by_role("alert")
        expect(place).to_contain_text("String should have at most 2000 characters")


def test_a_server_that_is_gone_is_told_and_asked_again(browser: Browser, url: str) -> None:
    with opened(browser) as (page, _):
        page.goto(url)
        page.route("**/v1/**", lambda route: route.abort())
        search(page, QUERY)
        expect(page.get_by_role("alert")).to_have_text("The server does not answer. Is it still running?")
        page.unroute("**/v1/**")
        search(page, QUERY)
        expect(page.locator("#results > ol")).to_be_visible()
        expect(page.get_by_role("alert")).to_be_empty()


@pytest.mark.parametrize(
    ("status", "body", "headers", "told"),
    [
        (429, '{"error": "all waiting"}', {"Retry-After": "7"}, "all waiting (in about 7 s)"),
        (502, "<html>Bad gateway</html>", {}, "The server's answer cannot be read (status 502)."),
    ],
)  # fmt: skip
def test_what_others_answer_is_told_too(
    browser: Browser, url: str, status: int, body: str, headers: dict[str, str], told: str
) -> None:
    with opened(browser) as (page, _):
        page.goto(url)
        page.route("**/search?*", lambda route: route.fulfill(status=status, body=body, headers=headers))
        search(page, QUERY)
        expect(page.get_by_role("alert")).to_have_text(told)


def test_everything_is_reached_by_keyboard(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_label("Question")).to_be_focused()
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    settled(page)
    expect(page.locator("#results > ol")).to_be_visible()
    tab_to(page, "summary")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Preset")).to_be_visible()
    tab_to(page, "#tab-results")
    for key, name in (
        ("ArrowRight", "compare"),
        ("End", "tree"),
        ("ArrowRight", "results"),
        ("ArrowLeft", "tree"),
    ):
        page.keyboard.press(key)
        expect(page.locator(f"#tab-{name}")).to_be_focused()
        settled(page)
        expect(page.locator(f"#{name}")).to_be_visible()
    page.keyboard.press("Home")
    settled(page)
    tab_to(page, "#results summary")
    page.keyboard.press("Enter")
    expect(page.locator("#results details").first).not_to_have_attribute("open", "")
    page.keyboard.press("Enter")
    tab_to(page, "#results button.link")
    page.keyboard.press("Enter")
    settled(page)
    expect(page.locator("#explanation .reason")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_label("Question")).to_be_focused()


def tab_to(page: Page, selector: str) -> None:
    wanted = page.locator(selector).first
    for _ in range(60):
        page.keyboard.press("Tab")
        if wanted.evaluate("each => each === document.activeElement"):
            return
    raise AssertionError(f"Tab does not come to {selector}")


@pytest.mark.parametrize("index", ["tiny", "odd"])
@pytest.mark.parametrize("view", list(VIEWS))
def test_a_narrow_page_does_not_scroll_sideways(browser: Browser, url: str, view: str, index: str) -> None:
    with opened(browser, width=NARROW) as (page, watched):
        page.goto(f"{url}/?query=the+sea&index={index}&view={view}{VIEWS[view]}")
        settled(page)
        page.get_by_text("Settings").click()
        page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW
    assert watched.faults == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("view", ["welcome", "unlock", *VIEWS])
def test_axe_finds_nothing(browser: Browser, url: str, tiny_index: Path, view: str, dark: bool) -> None:
    with opened(browser, dark=dark) as (page, watched):
        if view == "unlock":
            with serving.running(serving.served(tiny_index), key=KEY) as locked:
                page.goto(locked)
                expect(page.get_by_label("API key")).to_be_visible()
            watched.faults.clear()  # the browser's line about 401
        else:
            page.goto(url if view == "welcome" else f"{url}/?query=the+city&view={view}{VIEWS[view]}")
            settled(page)
        page.get_by_text("Settings").click()
        page.locator("details").evaluate_all("all => all.forEach(each => { each.open = true; })")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert found.response["passes"]
    assert watched.faults == []
