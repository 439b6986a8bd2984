"""The documentation site: built without a warning, complete, and without another host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

pytest.importorskip("material", reason="mkdocs-material is not installed (extra `docs`)")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}

PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


def build(site: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", config, "-d", site]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


class Page(HTMLParser):
    """What a page loads, where it leads and what it can be led to, and its text outside of code."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.text = ""
        self._in_code = 0
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids.add(values.get("id", ""))
        self._in_code += tag in ("pre", "code", "script", "style")
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag in LOADED and LOADED[tag] in values and values.get("rel") != "canonical":
            self.loads.append(values[LOADED[tag]])

    def handle_endtag(self, tag: str) -> None:
        self._in_code -= tag in ("pre", "code", "script", "style")

    def handle_data(self, data: str) -> None:
        if not self._in_code:
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    result = build(folder)
    assert result.returncode == 0, result.stderr
    assert "WARNING" not in result.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Pages by their address on the site, such as `/search/`."""
    return {
        f"/{path.parent.relative_to(site).as_posix()}/".replace("/./", "/"): Page(path)
        for path in site.rglob("index.html")
    }


def test_every_page_is_on_the_site(pages: dict[str, Page]) -> None:
    names = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert names <= {address.strip("/") for address in pages}
    assert {"/", "/indexing/", "/architecture/", "/changelog/", "/contributing/"} <= pages.keys()


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    loads = {target for page in pages.values() for target in page.loads}
    assert any(target.endswith(".css") for target in loads)
    assert [target for target in loads if urlsplit(target).netloc] == []
    for sheet in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")) == []


def test_links_lead_to_pages_and_headings(site: Path, pages: dict[str, Page]) -> None:
    assert list(broken(site, pages)) == []


def broken(site: Path, pages: dict[str, Page]) -> Iterator[tuple[str, str]]:
    """Addresses and links of them that lead nowhere on the site."""
    for address, page in pages.items():
        for link in page.links:
            target = urlsplit(urljoin(f"http://site{address}", link))
            if target.netloc != "site":
                continue
            there = pages.get(target.path)
            if there is None:
                found = (site / unquote(target.path).lstrip("/")).is_file()
            else:
                found = unquote(target.fragment) in there.ids | {""}
            if not found:
                yield address, link


def test_tables_and_fences_are_no_text(pages: dict[str, Page]) -> None:
    for address, page in pages.items():
        assert not re.findall(r"\| ?:?---|^```|^- ", page.text, re.MULTILINE), address


def test_the_search_is_in_the_browser(site: Path) -> None:
    found = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    assert any(entry["location"].startswith("scoring/") for entry in found["docs"])


@pytest.mark.parametrize(
    "link", ["nowhere.md", "../nowhere.md", "../seal_ir/models/nowhere/README.md", "search.md#nowhere"]
)
def test_a_broken_link_fails_the_build(link: str, tmp_path: Path) -> None:
    for name in ("docs", "mkdocs.yml"):
        source, target = ROOT / name, tmp_path / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    for name in (
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "eval/README.md",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(
        ROOT / "seal_ir" / "models",
        tmp_path / "seal_ir" / "models",
        ignore=shutil.ignore_patterns("*.safetensors"),
    )
    with (tmp_path / "docs" / "limits.md").open("a", encoding="utf-8") as page:
        page.write(f"\nSee [there]({link}).\n")
    result = build(tmp_path / "site", tmp_path / "mkdocs.yml")
    assert result.returncode == 1
    assert "limits.md" in result.stderr
    assert "nowhere" in result.stderr
