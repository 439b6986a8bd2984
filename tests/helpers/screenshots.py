"""Images of the page for the docs, on the demo index: `python -m tests.helpers.screenshots FOLDER`."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image

from seal_ir.config import preset
from seal_ir.formats.io.resolve import Places
from seal_ir.server.bm25 import with_bm25
from seal_ir.server.limits import Limits
from seal_ir.server.served import named, opened
from tests.helpers import browser, serving

QUERY = "which animal lives longest"
PRESETS = ("balanced", "fast")
WIDTH, HEIGHT = 900, 760
# By name: what the address asks for, and the size.
SHOTS: dict[str, tuple[dict[str, str], int, int, bool]] = {
    "page-results": ({"hits": "3"}, WIDTH, HEIGHT, False),
    "page-compare": ({"hits": "5", "view": "compare"}, WIDTH, HEIGHT, False),
    "page-document": ({"hits": "2", "view": "document", "docid": "giraffe#0"}, WIDTH, 1000, False),
    "page-decoding": ({"view": "tree"}, WIDTH, HEIGHT, False),
    "page-narrow": ({"hits": "3"}, browser.NARROW, HEIGHT, True),
}


def main(folder: Path) -> None:
    """Write the images."""
    places = Places.from_environment()
    configs = {name: preset(name) for name in PRESETS}
    served = with_bm25(opened(named(["demo"], places), configs), places.cache / "lucene")
    folder.mkdir(parents=True, exist_ok=True)
    with serving.running(*served, limits=Limits(timeout_s=300)) as url, browser.launched() as chromium:
        for name, (asked, width, height, dark) in SHOTS.items():
            with browser.opened(chromium, width=width, height=height, dark=dark) as (page, watched):
                page.goto(f"{url}/?{urlencode({'query': QUERY, **asked})}")
                browser.settled(page)
                _write(page.screenshot(), folder / f"{name}.png")
                if watched.faults:
                    raise SystemExit(f"{name}: {watched.faults}")


def _write(png: bytes, path: Path) -> None:
    """As a palette, which a page of text needs no more than: a third of the bytes."""
    image = Image.open(BytesIO(png)).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
    sys.stdout.write(f"{path}: {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
