"""What a new user does: two commands of docs/install.md, and a look at the page in a real Chromium."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.helpers import pages

PAGE = pages.ROOT / "docs" / "install.md"
QUERY = "which animal lives longest"
START_S = 600  # until the server listens, the weights fetched and converted
STOP_S = 120  # of a busy machine
_TOLD = re.compile(r"serving \S+ at (http://\S+/) ")


_PLACES = ("package", "checkout")  # in the order of the page


def told(place: str) -> tuple[list[str], list[str]]:
    """The commands of the page that install and serve, as words: for a "package" or a "checkout"."""
    block = [block for block in pages.blocks(PAGE) if block.language == "bash"][_PLACES.index(place)]
    install, serve = (shlex.split(line, comments=True) for line in block.code.splitlines())
    return install, serve


@contextmanager
def served(python: Path, words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The address that a server tells, at a port that is free; Ctrl-C ends it, well."""
    command = [python, *words, "--port", "0"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines: list[str] = []
    late = threading.Timer(START_S, process.kill)
    late.start()
    try:
        for line in process.stderr:
            lines.append(line)
            if found := _TOLD.match(line):
                break
        else:
            raise AssertionError((command, lines))
        late.cancel()
        yield found[1]
        process.send_signal(signal.SIGINT)
        assert process.wait(STOP_S) == 0, process.stderr.read()
    finally:
        late.cancel()
        process.kill()
        process.wait()
        process.stderr.close()


def looked_at(url: str) -> str:
    """Search on the page at an address of a server of the demo; a line that says what it marks.

    What it marks of the first document is what the server says that keys took. The page says nothing on its
    console, and asks no other host.
    """
    from playwright.sync_api import expect

    from tests.helpers import browser

    with browser.launched() as chromium, browser.opened(chromium) as (page, watched):
        page.goto(url)
        browser.search(page, QUERY)
        first = page.locator("#results > ol > li").first
        expect(first.locator("mark").first).to_be_visible()
        marked = first.locator("mark").all_text_contents()
    assert watched.faults == []
    assert all(asked.startswith(url) for asked in watched.requests), watched.requests
    candidate = browser.found(url.rstrip("/"), QUERY, "demo")[0]
    assert "".join(marked) == "".join(browser.marks(candidate)).replace("\n", "")
    return f"{candidate['docid']}, with {len(marked)} pieces marked: {', '.join(map(repr, marked[:5]))} ..."
