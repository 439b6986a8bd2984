"""A real Chromium for tests of the page and for its screenshots: the distribution's, by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

VARIABLE = "SEAL_IR_BROWSER"  # the browser's program, where it is none of these
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_S = 30  # a busy machine is no fault
NARROW = 360  # pixels
QUERY = "the capital of France"
# Views of the page, and what their addresses ask for.
VIEWS = {"results": "", "compare": "", "document": "&docid=d2", "tree": ""}


def program() -> str | None:
    """A Chromium that is installed, if there is one."""
    return os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser, without a window."""
    expect.set_options(timeout=1000 * _PATIENCE_S)
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not start for root, nor in most containers.
        browser = playwright.chromium.launch(executable_path=program(), args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """What a page said and asked that it should not have.

    Attributes:
        faults: errors and warnings of the console, and exceptions.
        requests: addresses, in the order in which they were asked.
    """

    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(
    browser: Browser, *, width: int = 1000, height: int = 800, dark: bool = False
) -> Iterator[tuple[Page, Watched]]:
    """A page of its own, and what it says."""
    watched = Watched()
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
    )
    page = context.new_page()
    page.on("console", lambda said: watched.faults.append(said.text) if said.type in _BAD else None)
    page.on("pageerror", lambda error: watched.faults.append(str(error)))
    page.on("request", lambda request: watched.requests.append(_address(request)))
    try:
        yield page, watched
    finally:
        context.close()


_BAD = ("error", "warning")


def _address(request: Request) -> str:
    return request.url


def settled(page: Page) -> None:
    """Wait until what was asked is shown."""
    expect(page.locator("[aria-busy]")).to_have_count(0)


def found(url: str, query: str, index: str = "tiny", **params: str) -> list[dict[str, Any]]:
    """What the server finds, with keys."""
    asked = {"query": query, "explain": "true", **params}
    answer = httpx.get(f"{url}/v1/{index}/search", params=asked, timeout=_PATIENCE_S).json()
    candidates: list[dict[str, Any]] = answer["candidates"]
    assert candidates
    return candidates


def search(page: Page, query: str) -> None:
    """Ask a question by mouse."""
    page.get_by_label("Question").fill(query)
    page.get_by_role("button", name="Search").click()
    settled(page)


def marks(candidate: dict[str, Any]) -> list[str]:
    """The pieces of a document that keys took."""
    return [candidate["contents"][piece["start"] : piece["end"]] for piece in candidate["highlights"]]
