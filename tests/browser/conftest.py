"""A server and a page of it in a real browser. Without Playwright these tests are not collected."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from seal_ir.records import Document
from tests.helpers import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.helpers.browser import Watched

collect_ignore_glob = [] if find_spec("playwright") else ["test_*.py"]
ODD = [
    Document("a/b#1?&", "\U0001f433 \U0001f433 & <b>whales</b>", "The whale \U0001f433 swims in the sea."),
    Document("plain", "", "The sea is\nwide <img src=x onerror=alert(1)> and the river long."),
    Document("long", "Long", "The river flows through the city. " * 200),
    Document("w" * 120, "Wide", f"The sea and a word of {'o' * 400} letters."),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving.running_two(tmp_path_factory.mktemp("served"), ODD) as url:
        yield url


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from tests.helpers.browser import launched

    with launched() as browser:
        yield browser


@pytest.fixture
def watched_page(browser: Browser, url: str) -> Iterator[tuple[Page, Watched]]:
    """A page that must say nothing on its console, and ask no other host."""
    from tests.helpers.browser import opened

    with opened(browser) as (page, watched):
        yield page, watched
        assert watched.faults == []
        assert {f"{part.scheme}://{part.netloc}" for part in map(urlsplit, watched.requests)} == {url}


@pytest.fixture
def page(watched_page: tuple[Page, Watched]) -> Page:
    return watched_page[0]
