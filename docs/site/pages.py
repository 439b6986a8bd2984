"""A hook of MkDocs: the repository's pages as they are, in the places that they have on the site.

Pages link to each other by their paths in the repository, as code hosts want it. Some lie outside of docs,
and docs/index.md is a page about a command, not the site's first page. `MOVED` says where such pages are on
the site. Links to them are rewritten while the site is built; one to a file that is not there is a warning.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
LOG = logging.getLogger("mkdocs.hooks.pages")
MOVED = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "docs/index.md": "indexing.md",
    "eval/README.md": "tables.md",
    **{
        path.relative_to(ROOT).as_posix(): f"card-{path.parent.name}.md"
        for path in sorted((ROOT / "seal_ir" / "models").glob("*/README.md"))
    },
}
IN_REPOSITORY = {place: path for path, place in MOVED.items()}
FENCED = re.compile(r"^( *)(```+)([^\n`]*)\n(.*?)^\1\2 *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def on_files(files: Files, config: Any) -> Files:
    """Puts the pages of `MOVED` into their places."""
    kept = [file for file in files if f"docs/{file.src_uri}" not in MOVED]
    for path, place in MOVED.items():
        content = (ROOT / path).read_text(encoding="utf-8")
        kept.append(File.generated(config, place, content=content))
    return Files(kept)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text with links as the site has them, and fences as its renderer reads them."""
    place = page.file.src_uri
    source = IN_REPOSITORY.get(place, f"docs/{place}")
    pieces, end = [], 0
    for fence in FENCED.finditer(markdown):
        pieces += [prose(markdown[end : fence.start()], source), plain_fence(fence)]
        end = fence.end()
    return "".join([*pieces, prose(markdown[end:], source)])


def plain_fence(fence: re.Match[str]) -> str:
    """A fence with its language alone; what else stands beside it is for tests."""
    indent, ticks, told, code = fence.groups()
    language = (told.split() or [""])[0]
    return f"{indent}{ticks}{language}\n{code}{indent}{ticks}"


def prose(text: str, source: str) -> str:
    """Text outside of fences; in code a table's bars need no backslash here, and would show it.

    What is folded away is text as well, with tables, where code hosts see that without being told.
    """
    text = text.replace("<details>", '<details markdown="1">')
    text = LINK.sub(lambda link: link[1] + site_link(link[2], source) + link[3], text)
    return CODE.sub(lambda code: code[0].replace("\\|", "|"), text)


def site_link(target: str, source: str) -> str:
    """A link of the page `source`, both paths of the repository, as a link on the site."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not parts.path:
        return target
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), parts.path))
    place = MOVED.get(path, path.removeprefix("docs/") if path.startswith("docs/") else None)
    if place is None or not (ROOT / path).is_file():
        LOG.warning("%s links to %s, which is no page or file of the documentation", source, target)
        return target
    return place + (f"#{parts.fragment}" if parts.fragment else "")
