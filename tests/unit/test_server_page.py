"""The page at /: what is sent, and that it asks nobody but its own server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from seal_ir.server.page import FILES
from tests.helpers import serving
from tests.helpers.serving import KEY

TYPES = {
    "/": "text/html",
    "/static/page.js": "text/javascript",
    "/static/api.js": "text/javascript",
    "/static/compare.js": "text/javascript",
    "/static/dom.js": "text/javascript",
    "/static/hits.js": "text/javascript",
    "/static/tree.js": "text/javascript",
    "/static/page.css": "text/css",
    "/static/icon.svg": "image/svg+xml",
}


@pytest.fixture(scope="module")
def url(tiny_index: Path) -> Iterator[str]:
    with serving.running(serving.served(tiny_index), key=KEY) as url:
        yield url


@pytest.mark.parametrize("path", list(TYPES))
def test_the_page_and_its_files_need_no_key(url: str, path: str) -> None:
    answer = httpx.get(f"{url}{path}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].split(";")[0] == TYPES[path]
    assert "script-src 'self'" in answer.headers["content-security-policy"]


def test_what_the_page_names_is_there(url: str) -> None:
    page = httpx.get(url).text
    scripts = {file.name: file.read_text(encoding="utf-8") for file in FILES.glob("*.js")}
    named = re.findall(r'(?:href|src)="([^"]+)"', page)
    imported = re.findall(r'from "\./([^"]+)"', "".join(scripts.values()))
    assert {*named, *(f"/static/{name}" for name in imported)} == set(TYPES)
    assert {f"/static/{file.name}" for file in FILES.iterdir()} <= {*TYPES, "/static/index.html"}
    ids = set(re.findall(r'id="([^"]+)"', page))
    assert set(re.findall(r'of\("([^"]+)"\)', "".join(scripts.values()))) <= ids
    assert set(re.findall(r'(?:for|aria-[a-z]+by|aria-controls)="([^"]+)"', page)) <= ids


@pytest.mark.parametrize("path", ["/static/", "/static/none.js", "/static/%2e%2e/app.py"])
def test_only_its_files_are_sent(url: str, path: str) -> None:
    assert httpx.get(f"{url}{path}").status_code in (401, 404)


@pytest.mark.parametrize("file", sorted(FILES.iterdir()), ids=lambda file: file.name)
def test_no_file_asks_another_host_or_takes_text_for_markup(file: Path) -> None:
    text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//[a-z]+\.[a-z]", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text)
    assert not re.search(r'\sstyle=|\son[a-z]+="', text)  # which the security policy forbids
