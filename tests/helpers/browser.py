"""A real Chromium for tests of the page and for its screenshots: the distribution's, by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

VARIABLE = "SEAL_IR_BROWSER"  # the browser's program, where it is none of these
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
NARROW = 360  # pixels


def program() -> str | None:
    """A Chromium that is installed, if there is one."""
    return os.environ.get(VARIABLE) or next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """The browser, without a window."""
    expect.set_options(timeout=30_000)  # a busy machine is no fault
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
